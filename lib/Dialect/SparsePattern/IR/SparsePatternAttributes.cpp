//===- SparsePatternAttributes.cpp - Attributes of sparsepattern ----------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternAttributes.h"
#include "PlanSyntax.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "sparseditto/Dialect/SparsePattern/IR/StrategyVerifier.h"
#include "sparseditto/Support/Printable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include <charconv>
#include <cmath>

using namespace mlir;
using namespace mlir::sparsepattern;
using sparseditto::printable;

#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternAttributes.cpp.inc"

void SparsePatternDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "sparseditto/Dialect/SparsePattern/IR/SparsePatternAttributes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// StrategyAttr
//===----------------------------------------------------------------------===//

using EmitError = function_ref<InFlightDiagnostic()>;

LogicalResult StrategyAttr::verify(EmitError emitError, StringRef family,
                                   DictionaryAttr knobs) {
  if (family.empty())
    return emitError() << "a strategy needs the name of a family (C12)";
  for (NamedAttribute knob : knobs) {
    auto integer = dyn_cast<IntegerAttr>(knob.getValue());
    if (!isa<StringAttr>(knob.getValue()) &&
        !(integer && integer.getType().isSignlessInteger(64)))
      return emitError() << "knob '" << printable(knob.getName())
                         << "' must be an i64 or a word, got "
                         << knob.getValue() << " (C14)";
  }
  auto *dialect = knobs.getContext()->getLoadedDialect<SparsePatternDialect>();
  if (auto *verifier =
          dialect->getRegisteredInterface<StrategyVerifierInterface>())
    return verifier->verifyStrategy(family, knobs, emitError);
  return success();
}

Attribute StrategyAttr::parse(AsmParser &parser, Type) {
  Builder builder(parser.getContext());
  SMLoc location = parser.getCurrentLocation();
  std::string family;
  if (parser.parseLess() || parser.parseKeywordOrString(&family))
    return {};
  NamedAttrList knobs;
  auto parseKnob = [&]() -> ParseResult {
    SMLoc knobLocation = parser.getCurrentLocation();
    std::string name;
    if (parser.parseKeywordOrString(&name) || parser.parseEqual())
      return failure();
    if (knobs.get(name))
      return parser.emitError(knobLocation, "repeated knob '")
             << printable(name) << "' (C13)";
    int64_t integer;
    OptionalParseResult isInteger = parser.parseOptionalInteger(integer);
    if (isInteger.has_value()) {
      if (failed(*isInteger))
        return failure();
      knobs.set(name, builder.getI64IntegerAttr(integer));
      return success();
    }
    std::string word;
    if (parser.parseKeywordOrString(&word))
      return failure();
    knobs.set(name, builder.getStringAttr(word));
    return success();
  };
  if (succeeded(parser.parseOptionalComma()) &&
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, parseKnob))
    return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<StrategyAttr>(
      location, parser.getContext(), family,
      knobs.getDictionary(parser.getContext()));
}

void StrategyAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printKeywordOrString(getFamily());
  if (!getKnobs().empty()) {
    printer << ", {";
    llvm::interleaveComma(getKnobs(), printer, [&](NamedAttribute knob) {
      printer.printKeywordOrString(knob.getName());
      printer << " = ";
      if (auto word = dyn_cast<StringAttr>(knob.getValue()))
        printer.printKeywordOrString(word);
      else
        printer << cast<IntegerAttr>(knob.getValue()).getInt();
    });
    printer << "}";
  }
  printer << ">";
}

//===----------------------------------------------------------------------===//
// PlanAttr
//===----------------------------------------------------------------------===//

StrategyAttr PlanAttr::lookup(int64_t n) const {
  for (auto [bound, strategy] : llvm::zip_first(getBounds(), getStrategies()))
    if (n <= bound)
      return strategy;
  return getStrategies().back();
}

LogicalResult PlanAttr::verify(EmitError emitError, ArrayRef<int64_t> bounds,
                               ArrayRef<StrategyAttr> strategies) {
  if (strategies.size() != bounds.size() + 1)
    return emitError() << "a plan has one strategy a bound and one for the "
                          "rest, got "
                       << strategies.size() << " strategies for "
                       << bounds.size() << " bounds (C15)";
  int64_t previous = 0;
  for (int64_t bound : bounds) {
    if (bound <= previous)
      return emitError() << "bounds of a plan must be positive and ascending, "
                            "got "
                         << bound << " after " << previous << " (C16)";
    previous = bound;
  }
  return success();
}

/// `n` `<=` integer, bare or in quotes, or `else`. Sets `bound` to none for
/// `else`.
static ParseResult parsePlanGuard(AsmParser &parser,
                                  std::optional<int64_t> &bound) {
  SMLoc location = parser.getCurrentLocation();
  bound.reset();
  if (succeeded(parser.parseOptionalKeyword("else")))
    return success();
  std::string quoted;
  if (succeeded(parser.parseOptionalString(&quoted))) {
    StringRef text = StringRef(quoted).trim();
    int64_t value;
    if (text.consume_front("n") && (text = text.ltrim()).consume_front("<=") &&
        !text.trim().getAsInteger(10, value)) {
      bound = value;
      return success();
    }
    return parser.emitError(location,
                            "expected \"n <= INTEGER\" or else, got \"")
           << printable(quoted) << "\"";
  }
  int64_t value;
  if (parser.parseKeyword("n") || parser.parseLess() || parser.parseEqual() ||
      parser.parseInteger(value))
    return failure();
  bound = value;
  return success();
}

Attribute sparsepattern::detail::parsePlanBody(AsmParser &parser) {
  SMLoc location = parser.getCurrentLocation();
  SmallVector<int64_t> bounds;
  SmallVector<StrategyAttr> strategies;
  bool closed = false;
  auto parseEntry = [&]() -> ParseResult {
    if (closed)
      return parser.emitError(parser.getCurrentLocation(),
                              "'else' must be the last entry of a plan (C15)");
    std::optional<int64_t> bound;
    if (parsePlanGuard(parser, bound) || parser.parseColon())
      return failure();
    closed = !bound;
    if (bound)
      bounds.push_back(*bound);
    // Both the short form <family, ...> and the full attribute are accepted.
    StrategyAttr strategy;
    if (parser.parseCustomAttributeWithFallback(strategy))
      return failure();
    strategies.push_back(strategy);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseEntry))
    return {};
  return parser.getChecked<PlanAttr>(location, parser.getContext(), bounds,
                                     strategies);
}

void sparsepattern::detail::printPlanBody(AsmPrinter &printer, PlanAttr plan,
                                          StringRef quote) {
  printer << "[";
  for (auto [bound, strategy] :
       llvm::zip_first(plan.getBounds(), plan.getStrategies())) {
    printer << quote << "n <= " << bound << quote << " : ";
    strategy.print(printer);
    printer << ", ";
  }
  printer << "else : ";
  plan.getStrategies().back().print(printer);
  printer << "]";
}

Attribute PlanAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  Attribute plan = detail::parsePlanBody(parser);
  if (!plan || parser.parseGreater())
    return {};
  return plan;
}

void PlanAttr::print(AsmPrinter &printer) const {
  printer << "<";
  sparsepattern::detail::printPlanBody(printer, *this, "\"");
  printer << ">";
}

//===----------------------------------------------------------------------===//
// PackingAttr
//===----------------------------------------------------------------------===//

LogicalResult PackingAttr::verify(EmitError emitError, StringRef format,
                                  int64_t version, StrategyAttr strategy,
                                  int64_t rows, int64_t cols, Type type,
                                  ArrayAttr buffers,
                                  DictionaryAttr attributes) {
  if (format.empty() || version < 1)
    return emitError() << "a packing needs a format name and a version of at "
                          "least 1, got '"
                       << printable(format) << "' version " << version
                       << " (C17)";
  if (rows < 1 || cols < 1)
    return emitError() << "a packing needs a non-empty weight, got " << rows
                       << "x" << cols << " (C18)";
  if (!type.isIntOrFloat())
    return emitError() << "a packing needs an integer or float element type, "
                          "got "
                       << type << " (C18)";
  if (buffers.empty())
    return emitError() << "a packing needs at least one buffer (C19)";
  llvm::StringSet<> names;
  for (Attribute buffer : buffers) {
    auto name = dyn_cast<StringAttr>(buffer);
    if (!name || name.empty() || !names.insert(name.getValue()).second)
      return emitError()
             << "buffers of a packing must have distinct names, got " << buffers
             << " (C19)";
  }
  if (attributes)
    for (NamedAttribute attribute : attributes) {
      auto integer = dyn_cast<IntegerAttr>(attribute.getValue());
      if (!integer || !integer.getType().isSignlessInteger(64))
        return emitError() << "attribute '" << printable(attribute.getName())
                           << "' of a packing must be an i64, got "
                           << attribute.getValue() << " (C19)";
    }
  return success();
}
