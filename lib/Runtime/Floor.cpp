//===- Floor.cpp - What one memory-bound launch can reach -----------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/Floor.h"
#include "sparseditto/Support/JSONFields.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace sparseditto;

const FloorCurve &FloorCurve::h200() {
  static const FloorCurve curve = [] {
    FloorCurve result;
    result.deviceName = "NVIDIA H200";
    result.curve = {{0.25e6, 1.4}, {1e6, 1.6},    {2e6, 1.9},   {4e6, 2.4},
                    {6e6, 3.1},    {8e6, 3.5},    {9.4e6, 3.6}, {12e6, 4.4},
                    {16e6, 5.3},   {18.9e6, 5.6}, {24e6, 6.9},  {33.6e6, 9.4},
                    {48e6, 12.2},  {64e6, 15.6},  {90e6, 21.1}, {128e6, 29.4},
                    {256e6, 57.0}};
    return result;
  }();
  return curve;
}

/// A launch takes no more than a day and no memory holds more than an exabyte:
/// beyond that, or with parts of a byte, slopes could overflow.
static constexpr double maxMicroseconds = 8.64e10, maxBytes = 1e18;

llvm::Expected<FloorCurve> FloorCurve::create(llvm::StringRef device,
                                              std::vector<FloorPoint> points) {
  auto fail = [](const char *format, auto... values) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), format,
                                   values...);
  };
  if (points.size() < 2)
    return fail("floor curve has %zu points, needs at least 2", points.size());
  for (size_t i = 0; i < points.size(); ++i) {
    const FloorPoint &point = points[i];
    if (!(point.bytes >= 1 && point.bytes <= maxBytes &&
          point.microseconds > 0 && point.microseconds <= maxMicroseconds))
      return fail("floor curve point %zu (%g bytes, %g us) is out of range, "
                  "expected 1 to %g bytes and up to %g us",
                  i, point.bytes, point.microseconds, maxBytes,
                  maxMicroseconds);
    if (i > 0 && (point.bytes <= points[i - 1].bytes ||
                  point.microseconds < points[i - 1].microseconds))
      return fail("floor curve point %zu (%g bytes, %g us) does not follow "
                  "(%g bytes, %g us)",
                  i, point.bytes, point.microseconds, points[i - 1].bytes,
                  points[i - 1].microseconds);
  }
  FloorCurve result;
  result.deviceName = device.str();
  result.curve = std::move(points);
  return result;
}

double FloorCurve::microseconds(double bytes) const {
  if (!(bytes > curve.front().bytes))
    return curve.front().microseconds;
  auto upper = llvm::upper_bound(curve, bytes,
                                 [](double value, const FloorPoint &point) {
                                   return value < point.bytes;
                                 });
  if (upper == curve.end())
    --upper;
  const FloorPoint &high = *upper, &low = *std::prev(upper);
  double slope =
      (high.microseconds - low.microseconds) / (high.bytes - low.bytes);
  return low.microseconds + slope * (bytes - low.bytes);
}

llvm::json::Value FloorCurve::toJSON() const {
  llvm::json::Array points;
  for (const FloorPoint &point : curve)
    points.push_back(llvm::json::Object{{"bytes", point.bytes},
                                        {"microseconds", point.microseconds}});
  return llvm::json::Object{{"device", deviceName},
                            {"points", std::move(points)}};
}

llvm::Expected<FloorCurve>
FloorCurve::fromJSON(const llvm::json::Value &value) {
  std::string device;
  std::vector<FloorPoint> points;
  JSONFields fields(value, "floor curve");
  fields.string("device", device);
  if (const llvm::json::Array *items = fields.array("points", 2, 4096))
    for (const llvm::json::Value &item : *items) {
      FloorPoint point;
      JSONFields field(item, "point");
      field.number("bytes", point.bytes);
      field.number("microseconds", point.microseconds);
      fields.take(field.finish());
      points.push_back(point);
    }
  if (llvm::Error error = fields.finish())
    return error;
  return create(device, std::move(points));
}
