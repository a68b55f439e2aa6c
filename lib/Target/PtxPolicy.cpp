//===- PtxPolicy.cpp - What a kernel's PTX may be -------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PtxInstructions.h"
#include "PtxText.h"
#include "sparseditto/Target/CandidatePolicy.h"
#include "sparseditto/Target/Chips.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <optional>

using namespace sparseditto;
using llvm::StringRef;

// The largest kernel of ours has under 0.5 MB; ptxas takes minutes for more.
static constexpr size_t maxPtxBytes = size_t(4) << 20;
// A thread's stack. More than this times all resident threads is gigabytes.
static constexpr uint64_t maxLocalBytes = 16384;

namespace {
/// Reads one module, statement by statement.
class ModuleReader {
public:
  ModuleReader(llvm::ArrayRef<PtxToken> tokens, const KernelManifest &manifest)
      : tokens(tokens), manifest(manifest) {}
  llvm::Error run();

private:
  llvm::Error directive();
  llvm::Error version();
  llvm::Error target();
  llvm::Error entry();
  llvm::Error parameters();
  llvm::Error parameter(size_t index, llvm::ArrayRef<PtxToken> text);
  llvm::Error performance();
  llvm::Error variable(llvm::ArrayRef<PtxToken> text, bool isExternal);
  llvm::Error inBody(llvm::ArrayRef<PtxToken> text);
  llvm::Error pragma(llvm::ArrayRef<PtxToken> text);
  llvm::Error resources();

  bool atEnd() const { return next >= tokens.size(); }
  StringRef peek() const { return atEnd() ? "" : tokens[next].text; }
  unsigned line() const {
    return tokens.empty() ? 1 : tokens[std::min(next, tokens.size() - 1)].line;
  }
  PtxToken take() {
    PtxToken token{peek(), line()};
    ++next;
    return token;
  }
  llvm::Error fail(const llvm::Twine &text) const {
    return ptxError(line(), text);
  }
  /// Up to and past the semicolon.
  llvm::Expected<llvm::ArrayRef<PtxToken>> statement();
  /// "256, 1, 1" or less.
  llvm::Expected<std::array<uint64_t, 3>> extents();

  llvm::ArrayRef<PtxToken> tokens;
  const KernelManifest &manifest;
  size_t next = 0;
  bool sawVersion = false, sawTarget = false, sawEntry = false;
  uint64_t sharedBytes = 0, localBytes = 0;
};
} // namespace

llvm::Expected<llvm::ArrayRef<PtxToken>> ModuleReader::statement() {
  size_t begin = next;
  while (!atEnd() && peek() != ";")
    ++next;
  if (atEnd())
    return ptxError(tokens[begin].line, "a statement is not ended");
  ++next;
  return tokens.slice(begin, next - 1 - begin);
}

llvm::Expected<std::array<uint64_t, 3>> ModuleReader::extents() {
  std::array<uint64_t, 3> result = {1, 1, 1};
  for (size_t i = 0; i < 3; ++i) {
    if (peek().getAsInteger(10, result[i]))
      return fail("expected a number, got '" + peek() + "'");
    ++next;
    if (peek() != ",")
      break;
    ++next;
  }
  return result;
}

llvm::Error ModuleReader::run() {
  while (!atEnd())
    if (llvm::Error error = directive())
      return error;
  if (!sawVersion || !sawTarget)
    return fail(".version or .target is missing");
  if (!sawEntry)
    return fail("there is no kernel '" + manifest.symbol + "'");
  return resources();
}

llvm::Error ModuleReader::directive() {
  PtxToken token = take();
  StringRef text = token.text;
  auto refuse = [&](const llvm::Twine &why) {
    return ptxError(token.line, why);
  };
  if (text == ".version")
    return version();
  if (text == ".target")
    return target();
  if (text == ".address_size") {
    PtxToken size = take();
    return size.text == "64"
               ? llvm::Error::success()
               : refuse("address size " + size.text + ", expected 64");
  }
  if (text == ".visible" && (peek() == ".entry" || peek() == ".shared"))
    return llvm::Error::success();
  if (text == ".entry")
    return entry();
  if (text == ".extern" && peek() != ".shared")
    return refuse("external '" + peek() +
                  "': a candidate is complete, only shared memory may be "
                  "external");
  if (text == ".extern" || text == ".shared" || text == ".const" ||
      text == ".global") {
    bool isExternal = text == ".extern";
    if (!isExternal)
      --next;
    llvm::Expected<llvm::ArrayRef<PtxToken>> rest = statement();
    if (!rest)
      return rest.takeError();
    return variable(*rest, isExternal);
  }
  if (text == ".func" || (text == ".visible" && peek() == ".func"))
    return refuse("a function besides the kernel '" + manifest.symbol + "'");
  if (text == ".visible" && peek() == ".global")
    return llvm::Error::success(); // The next directive is the reason.
  return refuse("'" + text + "' is not allowed here");
}

llvm::Error ModuleReader::version() {
  PtxToken token = take();
  auto [major, minor] = token.text.split('.');
  unsigned high = 0, low = 0;
  if (sawVersion || major.getAsInteger(10, high) ||
      minor.getAsInteger(10, low) || high > 99 || low > 9)
    return ptxError(token.line, "'.version " + token.text +
                                    "' is no version or not the first");
  sawVersion = true;
  if (manifest.ptxVersion != 0 && high * 10 + low != manifest.ptxVersion)
    return ptxError(token.line,
                    "PTX version " + token.text + ", the manifest says " +
                        llvm::Twine(manifest.ptxVersion / 10) + "." +
                        llvm::Twine(manifest.ptxVersion % 10));
  return llvm::Error::success();
}

llvm::Error ModuleReader::target() {
  PtxToken token = take();
  if (sawTarget)
    return ptxError(token.line, "a second .target");
  sawTarget = true;
  if (!manifest.chip.empty() && token.text != manifest.chip)
    return ptxError(token.line, "target " + token.text +
                                    ", the manifest says " + manifest.chip);
  if (peek() == ",")
    return fail("target options are not allowed");
  return llvm::Error::success();
}

llvm::Error ModuleReader::entry() {
  PtxToken name = take();
  if (sawEntry)
    return ptxError(name.line, "a second kernel, '" + name.text + "'");
  sawEntry = true;
  if (name.text != manifest.symbol)
    return ptxError(name.line, "kernel '" + name.text +
                                   "', the manifest says '" + manifest.symbol +
                                   "'");
  if (llvm::Error error = parameters())
    return error;
  if (llvm::Error error = performance())
    return error;
  size_t end = 0;
  if (llvm::Error error = checkBody(
          tokens.drop_front(next), end,
          [&](llvm::ArrayRef<PtxToken> text) { return inBody(text); }))
    return error;
  next += end;
  return llvm::Error::success();
}

llvm::Error ModuleReader::parameters() {
  unsigned where = line();
  size_t count = 0;
  if (peek() == "(") {
    ++next;
    while (peek() != ")") {
      size_t begin = next;
      while (!atEnd() && peek() != "," && peek() != ")")
        ++next;
      if (atEnd())
        return fail("the parameters are not closed");
      if (llvm::Error error =
              parameter(count++, tokens.slice(begin, next - begin)))
        return error;
      if (peek() == ",")
        ++next;
    }
    ++next;
  }
  if (count != manifest.args.size())
    return ptxError(where, llvm::Twine(uint64_t(count)) +
                               " parameters, the manifest has " +
                               llvm::Twine(uint64_t(manifest.args.size())));
  return llvm::Error::success();
}

llvm::Error ModuleReader::parameter(size_t index,
                                    llvm::ArrayRef<PtxToken> text) {
  if (index >= manifest.args.size() || text.empty())
    return llvm::Error::success(); // The count says it better.
  const KernelArg &arg = manifest.args[index];
  auto refuse = [&](const llvm::Twine &why) {
    return ptxError(text.front().line, "parameter " +
                                           llvm::Twine(uint64_t(index)) +
                                           " ('" + arg.name + "'): " + why);
  };
  const bool scalar = isScalar(arg.kind);
  bool sawType = false;
  for (size_t i = 0; i < text.size(); ++i) {
    StringRef word = text[i].text;
    if (word == ".param" || word == ".ptr" || word == ".global")
      continue;
    if (word == ".align" && i + 1 < text.size()) {
      unsigned alignment = 0;
      if (text[++i].text.getAsInteger(10, alignment) || scalar ||
          alignment > arg.alignment)
        return refuse("alignment " + text[i].text + ", the manifest promises " +
                      llvm::Twine(arg.alignment));
      continue;
    }
    if (word.front() == '.') {
      unsigned bits = llvm::StringSwitch<unsigned>(word)
                          .Cases({".u32", ".s32", ".b32"}, 32)
                          .Cases({".u64", ".s64", ".b64"}, 64)
                          .Default(0);
      if (bits != (scalar ? 32 : 64) || sawType)
        return refuse("'" + word + "', expected a " +
                      (scalar ? "32-bit integer" : "64-bit pointer"));
      sawType = true;
      continue;
    }
    if (i + 1 != text.size())
      return refuse("it is an array or has text after its name");
  }
  return sawType ? llvm::Error::success() : refuse("it has no type");
}

llvm::Error ModuleReader::performance() {
  const auto &block = manifest.block;
  while (!atEnd() && peek() != "{") {
    PtxToken token = take();
    if (token.text == ".maxntid" || token.text == ".reqntid") {
      llvm::Expected<std::array<uint64_t, 3>> size = extents();
      if (!size)
        return size.takeError();
      bool exact = token.text == ".reqntid";
      uint64_t threads = uint64_t(block[0]) * block[1] * block[2];
      bool fits = exact ? llvm::equal(*size, block)
                        : (*size)[0] <= 1024 && (*size)[1] <= 1024 &&
                              (*size)[2] <= 1024 &&
                              (*size)[0] * (*size)[1] * (*size)[2] >= threads;
      if (!fits)
        return ptxError(token.line, token.text + " does not fit the " +
                                        llvm::Twine(threads) +
                                        " threads of the manifest");
      continue;
    }
    if (token.text == ".minnctapersm" || token.text == ".maxnreg") {
      llvm::Expected<std::array<uint64_t, 3>> size = extents();
      if (!size)
        return size.takeError();
      continue;
    }
    return ptxError(token.line, "'" + token.text + "' is not allowed here");
  }
  if (atEnd())
    return fail("kernel '" + manifest.symbol + "' has no body");
  ++next;
  return llvm::Error::success();
}

/// Bytes of an element of a variable's type, 0 for an unknown one.
static unsigned typeBytes(StringRef type) {
  return llvm::StringSwitch<unsigned>(type)
      .Cases({".b8", ".u8", ".s8"}, 1)
      .Cases({".b16", ".u16", ".s16", ".f16", ".bf16"}, 2)
      .Cases({".b32", ".u32", ".s32", ".f32", ".f16x2"}, 4)
      .Cases({".b64", ".u64", ".s64", ".f64"}, 8)
      .Case(".b128", 16)
      .Default(0);
}

/// ".shared .align 16 .b8 name[1024]", without the semicolon.
llvm::Error ModuleReader::variable(llvm::ArrayRef<PtxToken> text,
                                   bool isExternal) {
  auto refuse = [&](const llvm::Twine &why) {
    return ptxError(text.front().line, why);
  };
  StringRef space = text.front().text;
  uint64_t element = 0, count = 1, alignment = 1;
  StringRef name;
  bool initialized = false;
  for (size_t i = 1; i < text.size() && !initialized; ++i) {
    StringRef word = text[i].text;
    if (word == ".align" && i + 1 < text.size()) {
      if (text[++i].text.getAsInteger(10, alignment) || alignment == 0 ||
          alignment > 1024)
        return refuse("alignment " + text[i].text);
    } else if (word == ".v2" || word == ".v4") {
      count *= word == ".v2" ? 2 : 4;
      if (count > maxPtxBytes)
        return refuse("the size of '" + name + "'");
    } else if (word.front() == '.' && typeBytes(word) != 0) {
      element = typeBytes(word);
    } else if (word == "[") {
      uint64_t length = 0;
      if (i + 1 < text.size() && text[i + 1].text != "]" &&
          (text[i + 1].text.getAsInteger(0, length) || length > maxPtxBytes))
        return refuse("the length of '" + name + "'");
      count *= length;
      // Of several dimensions, before their product overflows.
      if (count > maxPtxBytes)
        return refuse("the size of '" + name + "'");
    } else if (word == "=") {
      initialized = true;
    } else if (word == ",") {
      return refuse("more than one variable in a declaration");
    } else if (text[i].isWord() && name.empty() && word.front() != '.') {
      name = word;
    }
  }
  if (space == ".global")
    return refuse("global variable '" + name +
                  "' would keep its value from one launch to the next");
  if (element == 0 || name.empty())
    return refuse("a variable without a type or a name");
  if (space == ".const")
    return initialized && !isExternal
               ? llvm::Error::success()
               : refuse("constant '" + name + "' has no value");
  uint64_t &sum = space == ".local" ? localBytes : sharedBytes;
  // An external array is the dynamic area, whose size the launch gives.
  if (isExternal && (space != ".shared" || count != 0))
    return refuse("external variable '" + name + "' with a size");
  if (!isExternal && count == 0)
    return refuse("variable '" + name + "' has no size");
  sum = (sum + alignment - 1) / alignment * alignment + element * count;
  if (sum > maxPtxBytes)
    return refuse("variables of " + llvm::Twine(sum) + " bytes");
  return llvm::Error::success();
}

llvm::Error ModuleReader::pragma(llvm::ArrayRef<PtxToken> text) {
  StringRef what = text.size() == 2 ? text[1].text.trim('"') : "";
  if (what == "nounroll" || what.starts_with("used_bytes_mask "))
    return llvm::Error::success();
  return ptxError(text.front().line, "pragma '" + what + "' is not allowed");
}

llvm::Error ModuleReader::inBody(llvm::ArrayRef<PtxToken> text) {
  StringRef what = text.front().text;
  if (what == ".pragma")
    return pragma(text);
  if (what == ".branchtargets")
    return llvm::Error::success();
  if (what == ".shared" || what == ".local")
    return variable(text, false);
  return ptxError(text.front().line,
                  "'" + what + "' is not allowed in a kernel");
}

llvm::Error ModuleReader::resources() {
  if (localBytes > maxLocalBytes)
    return fail(llvm::Twine(localBytes) + " bytes of local memory a thread, " +
                llvm::Twine(maxLocalBytes) + " are allowed");
  if (sharedBytes > manifest.staticSharedBytes)
    return fail(llvm::Twine(sharedBytes) +
                " bytes of shared variables, the manifest says " +
                llvm::Twine(manifest.staticSharedBytes));
  if (manifest.chip.empty())
    return llvm::Error::success();
  llvm::Expected<const Chip *> chip = findChip(manifest.chip);
  if (!chip)
    return chip.takeError();
  uint64_t needed = sharedBytes + manifest.dynamicSharedBytes;
  if (needed > (*chip)->maxSharedPerBlock)
    return fail(llvm::Twine(needed) + " bytes of shared memory, a block of " +
                manifest.chip + " has " +
                llvm::Twine((*chip)->maxSharedPerBlock));
  return llvm::Error::success();
}

llvm::Error sparseditto::checkCandidatePtx(StringRef ptx,
                                           const KernelManifest &manifest) {
  if (llvm::Error error = manifest.verify())
    return error;
  if (ptx.size() > maxPtxBytes)
    return ptxError(1, llvm::Twine(uint64_t(ptx.size())) +
                           " bytes of text, at most " +
                           llvm::Twine(uint64_t(maxPtxBytes)) + " are read");
  llvm::Expected<std::vector<PtxToken>> tokens = tokenizePtx(ptx);
  if (!tokens)
    return tokens.takeError();
  return ModuleReader(*tokens, manifest).run();
}
