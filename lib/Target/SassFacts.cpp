//===- SassFacts.cpp - What the machine code says to an author ------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Target/SassFacts.h"
#include "SassText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <array>
#include <map>

using namespace sparseditto;

namespace {
/// A load from global memory into registers or shared memory.
struct Load {
  size_t index; ///< Of the instruction.
  unsigned bits;
  int argument; ///< Of the manifest; -1 if it cannot be told.
  bool readOnly, intoShared;
};

/// One function's instructions with what the facts are made of.
struct Code {
  llvm::StringRef chip;
  std::vector<SassInstruction> instructions;
  std::vector<bool> inLoop;
  std::vector<Load> loads;
};
} // namespace

static llvm::StringRef base(llvm::StringRef opcode) {
  return opcode.split('.').first;
}

static bool hasModifier(llvm::StringRef opcode, llvm::StringRef modifier) {
  for (llvm::StringRef rest = opcode.split('.').second; !rest.empty();) {
    auto [first, others] = rest.split('.');
    if (first == modifier)
      return true;
    rest = others;
  }
  return false;
}

/// Bits that a memory instruction moves a thread.
static unsigned bitsOf(llvm::StringRef opcode) {
  for (auto [modifier, bits] : {std::pair("256", 256),
                                {"128", 128},
                                {"64", 64},
                                {"U16", 16},
                                {"S16", 16},
                                {"U8", 8},
                                {"S8", 8}})
    if (hasModifier(opcode, modifier))
      return bits;
  return 32;
}

static std::optional<Code> codeOf(llvm::StringRef text,
                                  llvm::StringRef symbol) {
  Code code;
  llvm::StringRef chip;
  bool isInside = false, isFound = false;
  llvm::StringMap<unsigned> labels; // The instruction that follows.
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    if (auto instruction = parseSassInstruction(line)) {
      if (isInside && base(instruction->opcode) != "NOP")
        code.instructions.push_back(*instruction);
      continue;
    }
    SassHeading heading = parseSassHeading(line);
    if (heading.chip)
      chip = *heading.chip;
    if (heading.function) {
      isInside = *heading.function == symbol && !isFound;
      if (isInside) {
        isFound = true;
        code.chip = chip;
      }
    }
    if (heading.label && isInside)
      labels[*heading.label] = code.instructions.size();
  }
  if (!isFound || code.instructions.empty())
    return std::nullopt;
  // A branch back makes a loop of what is between.
  code.inLoop.resize(code.instructions.size());
  for (auto [i, instruction] : llvm::enumerate(code.instructions)) {
    if (base(instruction.opcode) != "BRA")
      continue;
    size_t target = i;
    llvm::StringRef operand = instruction.operands.rsplit(' ').second;
    if (operand.empty())
      operand = instruction.operands;
    unsigned address = 0;
    if (operand.consume_front("`(") && operand.consume_back(")")) {
      if (auto it = labels.find(operand); it != labels.end())
        target = it->second;
    } else if (operand.consume_front("0x") &&
               !operand.getAsInteger(16, address)) {
      target = llvm::lower_bound(code.instructions, address,
                                 [](const SassInstruction &a, unsigned value) {
                                   return a.address < value;
                                 }) -
               code.instructions.begin();
    }
    for (size_t j = target; j <= i && target < i; ++j)
      code.inLoop[j] = true;
  }
  return code;
}

//===----------------------------------------------------------------------===//
// Which argument an address comes from
//===----------------------------------------------------------------------===//

namespace {
/// Follows pointers from the constant bank through registers.
class Pointers {
public:
  Pointers(llvm::StringRef chip, const KernelManifest &manifest) {
    registers.fill(-1);
    uniform.fill(-1);
    unsigned number = 0;
    chip.consume_front("sm_");
    if (chip.take_while(llvm::isDigit).getAsInteger(10, number))
      number = 90;
    parameterBase = number >= 100 ? 0x380 : number >= 90 ? 0x210 : 0x160;
    for (const KernelArg &argument : manifest.args)
      pointers += !isScalar(argument.kind);
  }

  /// The argument of the address in a load's operands; -1 if unknown.
  int ofAddress(llvm::StringRef operands) const {
    // "[R34], desc[UR12][R22.64+UR4+0x10]": the last brackets.
    size_t open = operands.rfind('[');
    if (open == llvm::StringRef::npos)
      return -1;
    return ofText(operands.drop_front(open));
  }

  void step(const SassInstruction &instruction) {
    auto [destination, sources] = instruction.operands.split(',');
    int *slot = find(destination.trim());
    if (!slot)
      return;
    static constexpr llvm::StringLiteral carriers[] = {
        "IADD3", "IADD",   "IADD32I", "IMAD",   "LEA",    "MOV",
        "SEL",   "LDC",    "ULDC",    "LDCU",   "VIADD",  "R2UR",
        "UMOV",  "UIADD3", "ULEA",    "UIMAD",  "USEL",   "LOP3",
        "SHF",   "R2R",    "UR2UR",   "IADD64", "UIADD64"};
    llvm::StringRef op = base(instruction.opcode);
    int argument = llvm::is_contained(carriers, op) ? ofText(sources) : -1;
    // What is written under a predicate may be what was there.
    if (argument < 0 && !instruction.predicate.empty())
      return;
    unsigned width = 1;
    if (hasModifier(instruction.opcode, "WIDE") || op == "CS2R" ||
        hasModifier(instruction.opcode, "64"))
      width = 2;
    if (hasModifier(instruction.opcode, "128") || op.ends_with("MMA"))
      width = 4;
    // A carry-in adds the high half: the same pointer.
    for (unsigned i = 0; i < width && contains(slot + i); ++i)
      slot[i] = argument;
  }

private:
  bool contains(const int *slot) const {
    return (slot >= registers.begin() && slot < registers.end()) ||
           (slot >= uniform.begin() && slot < uniform.end());
  }
  int *find(llvm::StringRef name) {
    bool isUniform = name.consume_front("UR");
    if (!isUniform && !name.consume_front("R"))
      return nullptr;
    unsigned number;
    if (name.take_while(llvm::isDigit).getAsInteger(10, number))
      return nullptr;
    if (isUniform)
      return number < uniform.size() ? &uniform[number] : nullptr;
    return number < registers.size() ? &registers[number] : nullptr;
  }
  /// The first pointer among the registers and constants in `text`.
  int ofText(llvm::StringRef text) const {
    for (size_t i = 0; i < text.size(); ++i) {
      llvm::StringRef rest = text.drop_front(i);
      if (rest.consume_front("c[0x0][0x")) {
        unsigned offset;
        if (!rest.take_while(llvm::isHexDigit).getAsInteger(16, offset) &&
            offset >= parameterBase && offset < parameterBase + 8 * pointers)
          return int(offset - parameterBase) / 8;
        continue;
      }
      if (i > 0 && (llvm::isAlnum(text[i - 1]) || text[i - 1] == '_'))
        continue;
      if (int *slot = const_cast<Pointers *>(this)->find(rest);
          slot && *slot >= 0)
        return *slot;
    }
    return -1;
  }

  std::array<int, 256> registers;
  std::array<int, 256> uniform;
  unsigned parameterBase, pointers = 0;
};
} // namespace

static void findLoads(Code &code, const KernelManifest &manifest) {
  Pointers pointers(code.chip, manifest);
  for (auto [i, instruction] : llvm::enumerate(code.instructions)) {
    llvm::StringRef op = base(instruction.opcode);
    if (op == "LDG" || op == "LDGSTS") {
      // LDGSTS may have a predicate behind the address.
      llvm::StringRef operands = instruction.operands;
      int argument = pointers.ofAddress(operands);
      code.loads.push_back({i, bitsOf(instruction.opcode), argument,
                            hasModifier(instruction.opcode, "CONSTANT"),
                            op == "LDGSTS"});
      if (op == "LDGSTS")
        continue;
    }
    pointers.step(instruction);
  }
}

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

static std::string plural(size_t count, const char *what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// Where the weights are requested: before anything is waited for, or late.
static void addOrder(const Code &code, llvm::ArrayRef<Load> weights,
                     std::vector<std::string> &faults,
                     std::vector<std::string> &facts) {
  if (weights.empty())
    return;
  auto first = [&](auto matches) {
    return size_t(llvm::find_if(code.instructions, matches) -
                  code.instructions.begin());
  };
  const size_t end = code.instructions.size();
  const size_t barrier = first([](const SassInstruction &i) {
    return base(i.opcode) == "BAR" && !i.opcode.contains("ARV");
  });
  const size_t wait = first(
      [](const SassInstruction &i) { return base(i.opcode) == "ACQBULK"; });
  // cp.async: DEPBAR.LE SB0, 0x0; bulk copies: a try_wait on an mbarrier.
  const size_t copies = first([](const SassInstruction &i) {
    return (base(i.opcode) == "DEPBAR" && i.operands.starts_with("SB0")) ||
           (base(i.opcode) == "SYNCS" && i.opcode.contains("TRYWAIT"));
  });
  auto before = [&](size_t place) {
    return llvm::count_if(weights,
                          [&](const Load &load) { return load.index < place; });
  };
  auto tell = [&](size_t place, const char *what, const char *why) {
    if (place == end)
      return;
    const int64_t early = before(place);
    if (early == 0)
      faults.push_back(llvm::formatv("fault: all {0} stand behind {1}: {2}",
                                     plural(weights.size(), "weight load"),
                                     what, why));
    else
      facts.push_back(llvm::formatv("{0} of {1} stand before {2}", early,
                                    plural(weights.size(), "weight load"),
                                    what));
  };
  tell(wait, "the wait for the launch before (ACQBULK)",
       "nothing is prefetched");
  tell(barrier, "the first barrier",
       "no weight is on its way while the block waits");
  // Loads that wait for X's copies although nothing makes them.
  if (copies < barrier && barrier != end) {
    const int64_t late = before(barrier) - before(copies);
    if (late > 0)
      faults.push_back(llvm::formatv(
          "fault: {0} of {1} stand between the wait for asynchronous copies "
          "and the first barrier: issue them before that wait",
          late, plural(weights.size(), "weight load")));
  }
}

static void addMatrix(const Code &code, std::vector<std::string> &faults,
                      std::vector<std::string> &facts) {
  size_t products = 0, sparse = 0, chained = 0, wide = 0, waited = 0;
  llvm::StringRef lastResult;
  bool isOpen = false; // A wgmma that has not been waited for.
  for (const SassInstruction &instruction : code.instructions) {
    llvm::StringRef op = base(instruction.opcode);
    if (op == "WARPGROUP" && instruction.opcode.contains("DEPBAR") &&
        instruction.operands.ends_with("0x0")) {
      waited += isOpen;
      isOpen = false;
      continue;
    }
    // HFMA2.MMA is no matrix product.
    if (!op.ends_with("MMA"))
      continue;
    ++products;
    sparse += hasModifier(instruction.opcode, "SP");
    if (op.ends_with("GMMA")) {
      ++wide;
      isOpen = true;
      continue;
    }
    llvm::SmallVector<llvm::StringRef, 6> operands;
    instruction.operands.split(operands, ',');
    auto name = [](llvm::StringRef operand) {
      return operand.trim().split('.').first;
    };
    if (operands.size() >= 4) {
      chained += !lastResult.empty() && name(operands[3]) == lastResult;
      lastResult = name(operands[0]);
    }
  }
  if (products == 0)
    return;
  facts.push_back(plural(products, "matrix instruction") +
                  (sparse ? ", " + std::to_string(sparse) + " of them sparse"
                          : std::string()) +
                  (wide ? ", " + std::to_string(wide) + " of a warp group"
                        : std::string()));
  if (wide > 1 && waited * 2 > wide)
    faults.push_back(llvm::formatv("fault: {0} of {1} warp-group products are "
                                   "waited for one by one",
                                   waited, wide));
  const size_t narrow = products - wide;
  if (narrow >= 4 && chained * 2 > narrow)
    faults.push_back(
        llvm::formatv("fault: {0} of {1} matrix instructions add to the result "
                      "of the one just before and wait for it: use more "
                      "accumulators in turn",
                      chained, narrow));
}

/// "weights: 16 of 128 bits, 4 of 32 bits".
static std::string widths(const char *what, llvm::ArrayRef<Load> loads) {
  std::map<unsigned, unsigned, std::greater<>> count;
  size_t readOnly = 0, intoShared = 0;
  for (const Load &load : loads) {
    ++count[load.bits];
    readOnly += load.readOnly;
    intoShared += load.intoShared;
  }
  std::string text;
  for (auto [bits, number] : count)
    text += (text.empty() ? "" : ", ") + std::to_string(number) + " of " +
            std::to_string(bits) + " bits";
  text = std::string("loads of ") + what + ": " + text;
  if (readOnly)
    text += ", " + std::to_string(readOnly) + " through the read-only path";
  if (intoShared)
    text += ", " + std::to_string(intoShared) + " straight to shared memory";
  return text;
}

static std::string mix(const Code &code) {
  struct Count {
    size_t all = 0, global = 0, shared = 0, matrix = 0, floating = 0;
  };
  auto count = [&](bool loopsOnly) {
    Count c;
    for (auto [i, instruction] : llvm::enumerate(code.instructions)) {
      if (loopsOnly && !code.inLoop[i])
        continue;
      llvm::StringRef op = base(instruction.opcode);
      ++c.all;
      c.global += op == "LDG" || op == "STG" || op == "LDGSTS";
      c.shared += op == "LDS" || op == "STS" || op == "LDSM" || op == "STSM";
      c.matrix += op.ends_with("MMA");
      c.floating += op == "FFMA" || op == "FADD" || op == "FMUL" ||
                    op == "HFMA2" || op == "HADD2" || op == "HMUL2";
    }
    return c;
  };
  auto text = [](const Count &c) {
    return llvm::formatv("{0} instructions: {1} global memory, {2} shared "
                         "memory, {3} matrix, {4} floating point, {5} others",
                         c.all, c.global, c.shared, c.matrix, c.floating,
                         c.all - c.global - c.shared - c.matrix - c.floating)
        .str();
  };
  Count loops = count(/*loopsOnly=*/true);
  std::string result = text(count(/*loopsOnly=*/false));
  if (loops.all > 0)
    result += "; in loops " + text(loops);
  return result;
}

std::vector<std::string>
sparseditto::sassFacts(llvm::StringRef sass, const KernelManifest &manifest) {
  std::optional<Code> code = codeOf(sass, manifest.symbol);
  if (!code)
    return {};
  findLoads(*code, manifest);
  std::vector<Load> weights, activations, others, unknown;
  for (const Load &load : code->loads) {
    if (load.argument < 0 || size_t(load.argument) >= manifest.args.size())
      unknown.push_back(load);
    else if (manifest.args[load.argument].kind == ArgKind::Packed)
      weights.push_back(load);
    else if (manifest.args[load.argument].kind == ArgKind::X)
      activations.push_back(load);
    else
      others.push_back(load);
  }
  std::vector<std::string> faults, facts;
  size_t local = 0;
  for (const SassInstruction &instruction : code->instructions)
    local +=
        base(instruction.opcode) == "LDL" || base(instruction.opcode) == "STL";
  if (local > 0)
    faults.push_back("fault: " + plural(local, "access") +
                     " to local memory: spills, or an array with run-time "
                     "indices");
  addOrder(*code, weights, faults, facts);
  if (!weights.empty())
    facts.push_back(widths("weights", weights));
  if (!activations.empty())
    facts.push_back(widths("X", activations));
  if (!unknown.empty())
    facts.push_back(widths("what could not be told", unknown));
  addMatrix(*code, faults, facts);
  const double positions = double(manifest.problem.m) * manifest.problem.k;
  if (manifest.weightBytes > 0 && positions > 0)
    facts.push_back(
        llvm::formatv("{0:F2} packed bytes a position of W, dense {1}",
                      double(manifest.weightBytes) / positions,
                      byteSize(manifest.problem.type)));
  facts.push_back(mix(*code));
  llvm::append_range(faults, facts);
  return faults;
}

llvm::Expected<std::vector<std::string>>
sparseditto::sassFactsOfCubin(llvm::StringRef cubin,
                              const KernelManifest &manifest,
                              unsigned timeoutSeconds) {
  llvm::Expected<std::optional<std::string>> text =
      disassembleText(cubin, timeoutSeconds);
  if (!text)
    return text.takeError();
  if (!*text)
    return std::vector<std::string>();
  return sassFacts(**text, manifest);
}
