//===- FuzzMLIR.cpp - The dialect on arbitrary text -----------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The input is one attribute or type, or a module of functions, arith, tensor
// and sparsepattern; only the last is instrumented. Beside what the sanitizers
// see, what is accepted must survive being printed and parsed again, in its own
// form, in the generic one and as bytecode.
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "Mutators.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternOps.h"
#include <cmath>

using namespace mlir;
using namespace mlir::sparsepattern;
using namespace sparseditto::fuzz;

namespace {
/// A context, renewed now and then: what it unifies it never frees.
class Session {
public:
  Session() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<SparsePatternDialect, func::FuncDialect,
                        arith::ArithDialect, tensor::TensorDialect>();
    context.getDiagEngine().registerHandler([](Diagnostic &diagnostic) {
      std::string text = diagnostic.str();
      // A constraint of ours, "... (C12)"; others quote as they like.
      llvm::StringRef rest = text;
      if (rest.consume_back(")") && rest.rtrim("0123456789").ends_with("(C"))
        checkMessage(text);
    });
  }
  MLIRContext context;
};
} // namespace

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

template <typename T> static std::string print(T value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  value.print(os);
  return text;
}

static void inspectEncoding(EncodingAttr encoding) {
  check(encoding.getTransposed().getTransposed() == encoding,
        "transposing twice changes nothing");
  MLIRContext *context = encoding.getContext();
  const int64_t big = int64_t(1) << 62;
  for (Type element :
       {Type(Float16Type::get(context)), Type(IntegerType::get(context, 4)),
        Type(IndexType::get(context))})
    for (auto shape : {std::array<int64_t, 2>{1, 1},
                       {16, 64},
                       {0, 7},
                       {big, big},
                       {ShapedType::kDynamic, 8}}) {
      auto emitError = [&] {
        return mlir::emitError(UnknownLoc::get(context));
      };
      bool fits = succeeded(encoding.verifyEncoding(shape, element, emitError));
      if (ShapedType::isDynamicShape(shape) || shape[0] == 0)
        continue;
      double elements = double(shape[0]) * double(shape[1]);
      double capacity = encoding.getCapacity(shape[0], shape[1]);
      check(std::isfinite(capacity) && capacity <= elements * (1 + 1e-9),
            "a pattern holds no more than the weight");
      if (fits)
        check(capacity >= 0, "a pattern that fits holds something");
    }
  check(failed(encoding.verifyEncoding(
            {4}, Float16Type::get(context),
            [&] { return mlir::emitError(UnknownLoc::get(context)); })),
        "a vector has no encoding");
}

static void inspectPlan(PlanAttr plan) {
  auto strategies = plan.getStrategies();
  for (auto [i, bound] : llvm::enumerate(plan.getBounds())) {
    check(plan.lookup(bound) == strategies[i], "a bound is inclusive");
    if (bound < std::numeric_limits<int64_t>::max()) {
      StrategyAttr next = plan.lookup(bound + 1);
      check(next == strategies[i + 1], "the next strategy follows a bound");
    }
  }
  check(plan.lookup(std::numeric_limits<int64_t>::max()) == strategies.back() ||
            plan.getBounds().back() == std::numeric_limits<int64_t>::max(),
        "the last strategy serves the rest");
}

/// Checks an attribute of ours and what it is made of.
static void checkAttribute(Attribute attribute) {
  std::string text = print(attribute);
  check(parseAttribute(text, attribute.getContext()) == attribute,
        "a printed attribute parses to itself");
  if (auto encoding = dyn_cast<EncodingAttr>(attribute))
    inspectEncoding(encoding);
  if (auto plan = dyn_cast<PlanAttr>(attribute))
    inspectPlan(plan);
}

static bool isOurs(Attribute attribute) {
  return isa<SparsePatternDialect>(attribute.getDialect());
}

/// Attributes of ours anywhere in `attribute`.
template <typename T> static void checkWithin(T value) {
  value.walk([](Attribute attribute) {
    if (isOurs(attribute))
      checkAttribute(attribute);
  });
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

static std::string print(ModuleOp module, OpPrintingFlags flags = {}) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os, flags);
  return text;
}

static void checkSame(llvm::StringRef text, llvm::StringRef wanted,
                      MLIRContext *context, const char *property) {
  OwningOpRef<ModuleOp> again = parseSourceString<ModuleOp>(text, context);
  bool same = again && print(*again) == wanted;
  if (!same)
    llvm::errs() << "wanted: " << wanted
                 << "\ngot: " << (again ? print(*again) : "a diagnostic")
                 << "\n";
  check(same, property);
}

static void checkModule(ModuleOp module) {
  module->walk([](Operation *op) {
    for (NamedAttribute attribute : op->getAttrs())
      checkWithin(attribute.getValue());
    for (Type type : op->getResultTypes())
      checkWithin(type);
    if (!isa<SparsePatternDialect>(op->getDialect()))
      return;
    SmallVector<OpFoldResult> folded;
    if (succeeded(op->fold(folded)))
      check(folded.empty() || folded.size() == op->getNumResults(),
            "a fold replaces every result");
    if (auto spmm = dyn_cast<SpmmOp>(op)) {
      check(spmm.getM() > 0 && spmm.getK() > 0, "a product has a weight");
      check(spmm.getTokenDim() < 2, "tokens are one of two dimensions");
      SmallVector<MemoryEffects::EffectInstance> effects;
      spmm.getEffects(effects);
      check(effects.empty() == spmm.hasPureTensorSemantics(),
            "buffers are read or written, tensors are not");
      (void)spmm.getKnownPattern();
      (void)spmm.getSpeculatability();
    }
  });
  const std::string text = print(module);
  MLIRContext *context = module.getContext();
  checkSame(text, text, context, "a printed module parses to itself");
  checkSame(print(module, OpPrintingFlags().printGenericOpForm()), text,
            context, "the generic form parses to the same");
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  check(succeeded(writeBytecodeToFile(module, os)), "a module has bytecode");
  checkSame(bytes, text, context, "bytecode reads back as the same");
}

//===----------------------------------------------------------------------===//
// Entry
//===----------------------------------------------------------------------===//

/// LLVM's allocators poison what they have not given out, but only in code that
/// is instrumented: the other half of MLIR would give it out poisoned.
extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0";
}

static const llvm::StringRef words[] = {"sparsepattern.",
                                        "spmm",
                                        "pack",
                                        "unpack",
                                        "#sparsepattern.encoding<",
                                        "#sparsepattern.strategy<",
                                        "#sparsepattern.plan<",
                                        "#sparsepattern.packing<",
                                        "sparsepattern.encoding",
                                        "sparsepattern.source",
                                        "sparsepattern.plans",
                                        "dense",
                                        "unstructured",
                                        "nm = 2:4",
                                        "block = 16x16",
                                        "channel = rows",
                                        "banded = 1:1",
                                        "hybrid = [",
                                        "along",
                                        "rows",
                                        "cols",
                                        "both",
                                        "density = 0.5",
                                        "kept = 0.5",
                                        "fill = 1.0",
                                        "weight(",
                                        "activations(",
                                        "bias(",
                                        "residual(",
                                        "outs(",
                                        "layout(",
                                        "token_major",
                                        "feature_major",
                                        "activation(",
                                        "none",
                                        "relu",
                                        "gelu",
                                        "silu",
                                        "pattern(",
                                        "packing(",
                                        "plan",
                                        "else",
                                        "n <= 4",
                                        "\"n <= 4\"",
                                        "csr",
                                        "library",
                                        "as",
                                        "format",
                                        "version",
                                        "strategy",
                                        "type",
                                        "buffers",
                                        "attributes",
                                        "tensor<4x8xf16>",
                                        "tensor<?x8xf16>",
                                        "tensor<4xf32>",
                                        "memref<4x8xf16>",
                                        "tensor<*xf16>",
                                        "vector<4xf16>",
                                        "f16",
                                        "bf16",
                                        "f32",
                                        "i8",
                                        "i32",
                                        "i64",
                                        "index",
                                        "none",
                                        "(",
                                        ")",
                                        "<",
                                        ">",
                                        "[",
                                        "]",
                                        "{",
                                        "}",
                                        ",",
                                        ":",
                                        "=",
                                        "->",
                                        "\"",
                                        "\"\\0A\"",
                                        "\"\"",
                                        " ",
                                        "\n",
                                        "0x10",
                                        "0x1",
                                        "-1",
                                        "-0.0",
                                        "1.0e-300",
                                        "1e5",
                                        "0x7FF0000000000000"};

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maxSize, unsigned seed) {
  return mutateTokens(data, size, maxSize, seed, words);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static std::unique_ptr<Session> session;
  static unsigned runs = 0;
  if (runs++ % 512 == 0)
    session = std::make_unique<Session>();
  MLIRContext *context = &session->context;
  const std::string text(reinterpret_cast<const char *>(data), size);
  llvm::StringRef begin = llvm::StringRef(text).ltrim();
  if (begin.starts_with("#sparsepattern.")) {
    if (Attribute attribute = parseAttribute(text, context))
      checkWithin(attribute);
    return 0;
  }
  if (begin.starts_with("tensor<")) {
    if (Type type = parseType(text, context))
      checkWithin(type);
    return 0;
  }
  // MLIR's own parser makes room for as many results as a number behind a '#'
  // says, before it looks whether the operation has them.
  for (llvm::StringRef rest = begin.split('#').second; !rest.empty();
       rest = rest.split('#').second)
    if (rest.take_while(llvm::isDigit).size() > 4)
      return 0;
  if (OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, context))
    checkModule(*module);
  return 0;
}
