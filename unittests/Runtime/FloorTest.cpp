//===- FloorTest.cpp - Tests of the floor curve ---------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/Floor.h"
#include "gtest/gtest.h"
#include <limits>

using namespace sparseditto;

TEST(Floor, HitsMeasuredPointsAndInterpolates) {
  EXPECT_DOUBLE_EQ(floorMicroseconds(4e6), 2.4);
  EXPECT_DOUBLE_EQ(floorMicroseconds(33.6e6), 9.4);
  EXPECT_NEAR(floorMicroseconds(5e6), 2.75, 1e-9);
  EXPECT_DOUBLE_EQ(floorMicroseconds(0), 1.4);
  EXPECT_DOUBLE_EQ(floorMicroseconds(256e6), 57.0);
  // Beyond the table: the slope of the last segment, 27.6 us for 128 MB.
  EXPECT_NEAR(floorMicroseconds(512e6), 57.0 + 2 * 27.6, 1e-9);
}

TEST(Floor, IsMonotonic) {
  double last = 0;
  for (double bytes = 1e4; bytes < 1e9; bytes *= 1.07) {
    double now = floorMicroseconds(bytes);
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST(Floor, RefusesBadCurves) {
  auto message = [](std::vector<FloorPoint> points) {
    auto curve = FloorCurve::create("x", std::move(points));
    return curve ? std::string() : llvm::toString(curve.takeError());
  };
  EXPECT_EQ(message({{1, 1}}), "floor curve has 1 points, needs at least 2");
  EXPECT_EQ(message({{1, 1}, {1, 2}}), "floor curve point 1 (1 bytes, 2 us) "
                                       "does not follow (1 bytes, 1 us)");
  EXPECT_EQ(message({{1, 2}, {2, 1}}), "floor curve point 1 (2 bytes, 1 us) "
                                       "does not follow (1 bytes, 2 us)");
  EXPECT_EQ(
      message({{0, 2}, {2, 1}}),
      "floor curve point 0 (0 bytes, 2 us) is out of range, expected 1 to "
      "1e+18 bytes and up to 8.64e+10 us");
  // A slope that overflows gave an infinite floor.
  EXPECT_NE(message({{57, 57}, {254, 1e308}}), "");
  EXPECT_NE(message({{1, 1}, {2, std::numeric_limits<double>::infinity()}}),
            "");
}

TEST(Floor, RoundTripsThroughJSON) {
  auto again = FloorCurve::fromJSON(FloorCurve::h200().toJSON());
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(again->device(), "NVIDIA H200");
  ASSERT_EQ(again->points().size(), 17u);
  EXPECT_DOUBLE_EQ(again->microseconds(7e6), floorMicroseconds(7e6));
  auto bad = FloorCurve::fromJSON(llvm::json::Object{{"device", "x"}});
  ASSERT_FALSE(bool(bad));
  EXPECT_EQ(llvm::toString(bad.takeError()), "floor curve has no \"points\"");
}
