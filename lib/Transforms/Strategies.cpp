//===- Strategies.cpp - Strategies as attributes --------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Transforms/Strategies.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectRegistry.h"
#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternDialect.h"
#include "sparseditto/Dialect/SparsePattern/IR/StrategyVerifier.h"
#include "sparseditto/Kernels/Family.h"
#include "sparseditto/Support/Error.h"
#include "sparseditto/Support/Printable.h"
#include "llvm/ADT/StringExtras.h"

using namespace sparseditto;
using namespace mlir;
using sparsepattern::StrategyAttr;

/// How a user writes the legal values of a knob.
static std::string spellValues(const KnobDeclaration &knob) {
  if (!knob.valueNames.empty())
    return llvm::join(knob.valueNames, ", ");
  return llvm::join(
      llvm::map_range(knob.values,
                      [](int64_t value) { return std::to_string(value); }),
      ", ");
}

/// The integer of a written value; none if it is not legal.
static std::optional<int64_t> legalValue(const KnobDeclaration &knob,
                                         Attribute written) {
  if (auto integer = dyn_cast<IntegerAttr>(written)) {
    if (llvm::is_contained(knob.values, integer.getInt()))
      return integer.getInt();
    return std::nullopt;
  }
  StringRef word = cast<StringAttr>(written).getValue();
  for (size_t i = 0; i < knob.valueNames.size(); ++i)
    if (word == knob.valueNames[i])
      return knob.values[i];
  return std::nullopt;
}

/// Shared by the verifier and the conversion.
static llvm::Expected<Strategy> resolve(StringRef familyName,
                                        DictionaryAttr knobs) {
  if (familyName == libraryStrategy) {
    if (!knobs.empty())
      return makeError("{0} has no knobs, got '{1}' (C13)", libraryStrategy,
                       printable(knobs.begin()->getName()));
    Strategy strategy;
    strategy.family = libraryStrategy.str();
    return strategy;
  }
  const KernelFamily *family = findFamily(familyName);
  if (!family) {
    std::string known = llvm::join(
        llvm::map_range(allFamilies(),
                        [](const KernelFamily *f) { return f->name().str(); }),
        ", ");
    return makeError("unknown kernel family '{0}', expected one of {1}, {2} "
                     "(C12)",
                     printable(familyName), known, libraryStrategy);
  }
  const FamilyDeclaration &declaration = family->declaration();
  Strategy strategy = declaration.defaults();
  for (NamedAttribute knob : knobs) {
    const KnobDeclaration *declared = declaration.find(knob.getName());
    if (!declared) {
      std::string known = llvm::join(
          llvm::map_range(declaration.knobs,
                          [](const KnobDeclaration &k) { return k.name; }),
          ", ");
      return makeError("family {0} has no knob '{1}', expected one of {2} "
                       "(C13)",
                       familyName, printable(knob.getName()), known);
    }
    std::optional<int64_t> value = legalValue(*declared, knob.getValue());
    if (!value) {
      std::string got;
      llvm::raw_string_ostream stream(got);
      if (auto integer = dyn_cast<IntegerAttr>(knob.getValue()))
        stream << integer.getInt();
      else
        stream << "'" << printable(cast<StringAttr>(knob.getValue())) << "'";
      return makeError("family {0}: knob '{1}' got {2}, expected one of {3} "
                       "(C14)",
                       familyName, declared->name, got, spellValues(*declared));
    }
    strategy.set(declared->name, *value);
  }
  return strategy;
}

namespace {

class FamilyVerifier : public sparsepattern::StrategyVerifierInterface {
public:
  using StrategyVerifierInterface::StrategyVerifierInterface;

  LogicalResult
  verifyStrategy(StringRef family, DictionaryAttr knobs,
                 function_ref<InFlightDiagnostic()> emitError) const override {
    llvm::Expected<Strategy> strategy = resolve(family, knobs);
    if (strategy)
      return success();
    return emitError() << llvm::toString(strategy.takeError());
  }
};

} // namespace

void sparseditto::registerStrategyVerifier(DialectRegistry &registry) {
  registry.addExtension(
      +[](MLIRContext *, sparsepattern::SparsePatternDialect *dialect) {
        dialect->addInterfaces<FamilyVerifier>();
      });
}

llvm::Expected<Strategy> sparseditto::toStrategy(StrategyAttr attr) {
  return resolve(attr.getFamily(), attr.getKnobs());
}

StrategyAttr sparseditto::toStrategyAttr(MLIRContext *context,
                                         const Strategy &strategy) {
  Builder builder(context);
  const KernelFamily *family = findFamily(strategy.family);
  NamedAttrList knobs;
  for (const auto &[name, value] : strategy.knobs) {
    const KnobDeclaration *declared =
        family ? family->declaration().find(name) : nullptr;
    Attribute written = builder.getI64IntegerAttr(value);
    if (declared)
      for (size_t i = 0; i < declared->valueNames.size(); ++i)
        if (declared->values[i] == value)
          written = builder.getStringAttr(declared->valueNames[i]);
    knobs.set(name, written);
  }
  return StrategyAttr::get(context, strategy.family,
                           knobs.getDictionary(context));
}
