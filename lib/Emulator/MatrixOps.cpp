//===- MatrixOps.cpp - Arithmetic of mma.sync and mma.sp.sync -------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fragments. With E elements a register, lane 4g+t holds in register r, element
// e: of A, row g + 8*(r%2) and column t*E + e + 4*E*(r/2); of B, row
// t*E + e + 4*E*r and column g; of C and D (f32), register r, row g + 8*(r/2)
// and column 2*t + r%2. A sparse A is stored without its zeros in the same
// layout.
//
// Metadata. A row's groups (four columns, two for tf32) have a nibble each.
// Four nibbles are the low half (rows g) or the high half (rows g+8) of one
// lane's word: with four groups a row the lane 4g + selector, with eight the
// lanes 4g + 2*selector (groups 0-3) and the next (groups 4-7).
//
//===----------------------------------------------------------------------===//

#include "MatrixOps.h"
#include "sparseditto/Support/ElementType.h"
#include <algorithm>
#include <array>
#include <cstring>

using namespace sparseditto;
using namespace sparseditto::emulator;

unsigned MatrixOp::elementsPerRegister() const {
  switch (a) {
  case MatrixElement::TF32:
    return 1;
  case MatrixElement::F16:
  case MatrixElement::BF16:
    return 2;
  default:
    return 4;
  }
}

namespace {

constexpr unsigned maxK = 64;

/// Halves decode by table: the conversion is the hot spot of an mma.
const float *halfTable() {
  static const std::vector<float> table = [] {
    std::vector<float> t(1 << 16);
    for (unsigned i = 0; i < t.size(); ++i)
      t[i] = halfToFloat(static_cast<uint16_t>(i));
    return t;
  }();
  return table.data();
}

/// Element `e` of a register.
double decode(MatrixElement type, uint32_t word, unsigned e) {
  switch (type) {
  case MatrixElement::F16:
    return halfTable()[word >> (16 * e) & 0xffff];
  case MatrixElement::BF16:
    return bfloat16ToFloat(static_cast<uint16_t>(word >> (16 * e)));
  case MatrixElement::TF32: {
    // The hardware reads the upper 19 bits.
    uint32_t bits = word & 0xffffe000u;
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  }
  case MatrixElement::S8:
    return static_cast<int8_t>(word >> (8 * e));
  case MatrixElement::U8:
    return static_cast<uint8_t>(word >> (8 * e));
  case MatrixElement::E4M3:
  case MatrixElement::E5M2: {
    uint8_t byte = static_cast<uint8_t>(word >> (8 * e));
    return loadAsDouble(type == MatrixElement::E4M3 ? ElementType::F8E4M3
                                                    : ElementType::F8E5M2,
                        &byte);
  }
  }
  return 0;
}

struct Operands {
  double a[16][maxK];       ///< As stored.
  uint8_t column[16][maxK]; ///< Row of B that each stored element meets.
  double b[maxK][8];
};

/// Nibble of group `group` in row `row`, and the lane that gave it.
struct Nibble {
  unsigned value, lane;
};
Nibble metadataNibble(const MatrixOp &op, const uint64_t *const args[32],
                      unsigned slot, unsigned row, unsigned group) {
  unsigned lane =
      4 * (row % 8) +
      (op.groups() == 4 ? op.selector : 2 * op.selector + group / 4);
  uint32_t word = static_cast<uint32_t>(args[lane][slot]);
  return {word >> (16 * (row / 8) + 4 * (group % 4)) & 15, lane};
}

/// Fills operands.column; a problem for metadata that means nothing.
MatrixProblem decodeMetadata(const MatrixOp &op, const uint64_t *const args[32],
                             unsigned slot, Operands &operands) {
  bool pairs = op.a != MatrixElement::TF32;
  for (unsigned row = 0; row < 16; ++row) {
    for (unsigned group = 0; group < op.groups(); ++group) {
      Nibble nibble = metadataNibble(op, args, slot, row, group);
      unsigned first = nibble.value & 3, second = nibble.value >> 2;
      bool legal;
      if (pairs) {
        legal = op.ordered ? first < second : first != second;
        operands.column[row][2 * group] = 4 * group + first;
        operands.column[row][2 * group + 1] = 4 * group + second;
      } else {
        // One element of two: 0b0100 is the first, 0b1110 the second.
        legal = nibble.value == 4 || nibble.value == 14;
        operands.column[row][group] = 2 * group + (nibble.value == 14);
      }
      if (!legal)
        return {nibble.lane,
                "metadata 0x" +
                    std::string(1, "0123456789abcdef"[nibble.value]) +
                    " of row " + std::to_string(row) + ", group " +
                    std::to_string(group) +
                    " names no two elements in ascending order"};
    }
  }
  return {};
}

void storeFloat(const MatrixOp &op, const double d[16][8],
                uint64_t *const results[32]) {
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned g = lane / 4, t = lane % 4;
    for (unsigned half = 0; half < 2; ++half) {
      const double *pair = &d[g + 8 * half][2 * t];
      if (op.accumulator == Accumulator::F16) {
        uint16_t bits[2];
        storeFromDouble(ElementType::F16, pair[0], &bits[0]);
        storeFromDouble(ElementType::F16, pair[1], &bits[1]);
        results[lane][half] = bits[0] | uint32_t(bits[1]) << 16;
        continue;
      }
      for (unsigned i = 0; i < 2; ++i) {
        float value = static_cast<float>(pair[i]);
        uint32_t bits;
        std::memcpy(&bits, &value, 4);
        results[lane][2 * half + i] = bits;
      }
    }
  }
}

void loadC(const MatrixOp &op, const uint64_t *const args[32], unsigned slot,
           double c[16][8]) {
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned g = lane / 4, t = lane % 4;
    for (unsigned i = 0; i < 4; ++i) {
      double &out = c[g + 8 * (i / 2)][2 * t + i % 2];
      if (op.accumulator == Accumulator::F16) {
        uint32_t word = static_cast<uint32_t>(args[lane][slot + i / 2]);
        out = halfTable()[word >> (16 * (i % 2)) & 0xffff];
      } else if (op.accumulator == Accumulator::F32) {
        uint32_t word = static_cast<uint32_t>(args[lane][slot + i]);
        float value;
        std::memcpy(&value, &word, 4);
        out = value;
      } else {
        out = static_cast<int32_t>(args[lane][slot + i]);
      }
    }
  }
}

void storeInteger(const MatrixOp &op, const double d[16][8],
                  uint64_t *const results[32]) {
  // 64 products of bytes plus an i32 are exact in f64.
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned g = lane / 4, t = lane % 4;
    for (unsigned i = 0; i < 4; ++i) {
      int64_t value = static_cast<int64_t>(d[g + 8 * (i / 2)][2 * t + i % 2]);
      if (op.saturate)
        value = std::clamp<int64_t>(value, INT32_MIN, INT32_MAX);
      results[lane][i] = static_cast<uint32_t>(value);
    }
  }
}

} // namespace

MatrixProblem emulator::computeMatrixOp(const MatrixOp &op,
                                        const uint64_t *const args[32],
                                        uint64_t *const results[32]) {
  Operands operands;
  unsigned perRegister = op.elementsPerRegister();
  unsigned aRegisters = op.aRegisters(), bRegisters = op.bRegisters();
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned g = lane / 4, t = lane % 4;
    for (unsigned r = 0; r < aRegisters; ++r) {
      uint32_t word = static_cast<uint32_t>(args[lane][r]);
      unsigned row = g + 8 * (r % 2);
      unsigned column = t * perRegister + 4 * perRegister * (r / 2);
      for (unsigned e = 0; e < perRegister; ++e)
        operands.a[row][column + e] = decode(op.a, word, e);
    }
    for (unsigned r = 0; r < bRegisters; ++r) {
      uint32_t word = static_cast<uint32_t>(args[lane][aRegisters + r]);
      unsigned row = t * perRegister + 4 * perRegister * r;
      for (unsigned e = 0; e < perRegister; ++e)
        operands.b[row + e][g] = decode(op.b, word, e);
    }
  }
  unsigned cSlot = aRegisters + bRegisters;
  if (op.sparse) {
    MatrixProblem problem =
        decodeMetadata(op, args, cSlot + op.cRegisters(), operands);
    if (problem.lane)
      return problem;
  } else {
    for (unsigned row = 0; row < 16; ++row)
      for (unsigned k = 0; k < op.k; ++k)
        operands.column[row][k] = k;
  }
  double d[16][8];
  loadC(op, args, cSlot, d);
  for (unsigned row = 0; row < 16; ++row) {
    double sum[8];
    std::copy_n(d[row], 8, sum);
    for (unsigned i = 0, n = op.storedK(); i < n; ++i) {
      double a = operands.a[row][i];
      const double *b = operands.b[operands.column[row][i]];
      for (unsigned column = 0; column < 8; ++column)
        sum[column] += a * b[column];
    }
    std::copy_n(sum, 8, d[row]);
  }
  if (op.accumulator == Accumulator::S32)
    storeInteger(op, d, results);
  else
    storeFloat(op, d, results);
  return {};
}
