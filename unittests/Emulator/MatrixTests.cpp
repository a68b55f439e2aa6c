//===- MatrixTests.cpp - Matrix instructions against a scalar product -----===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operands are matrices of random multiples of 1/64, so every sum is exact
// in f64 and the results must agree bit for bit. Fragment positions are the
// per-shape formulas of the PTX ISA, not the emulator's general rule.
//
//===----------------------------------------------------------------------===//

#include "TestKernel.h"
#include "sparseditto/Support/ElementType.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <functional>
#include <optional>
#include <random>

using namespace sparseditto;

namespace {

struct Position {
  int row, column;
};
using Fragment = std::function<Position(int g, int t, int i)>;

struct Shape {
  std::string intrinsic; ///< After "llvm.nvvm.".
  ElementType type;
  bool tf32 = false;
  int k, aElements, bElements;
  Fragment a, b;
  const char *operandType, *accumulatorType;
  ElementType accumulator = ElementType::F32;
  int selectors = 0;      ///< 0: dense.
  int metadataGroups = 0; ///< Groups a row, for sparse shapes.
  std::optional<ElementType> bType = std::nullopt; ///< If not that of A.

  bool ordered() const {
    return llvm::StringRef(intrinsic).contains("ordered");
  }
  bool saturates() const {
    return llvm::StringRef(intrinsic).contains("satfinite");
  }
  /// Metadata nibbles that PTX allows: two positions, ascending if ordered,
  /// the lower bits first; for tf32 one of two elements.
  std::vector<unsigned> nibbles() const {
    if (tf32)
      return {0b0100, 0b1110};
    std::vector<unsigned> legal;
    for (unsigned first = 0; first < 4; ++first)
      for (unsigned second = 0; second < 4; ++second)
        if (ordered() ? first < second : first != second)
          legal.push_back(second << 2 | first);
    return legal;
  }
};

Position a16k16(int g, int t, int i) {
  return {i < 2 || (i >= 4 && i < 6) ? g : g + 8,
          t * 2 + (i & 1) + (i < 4 ? 0 : 8)};
}
Position b16k16(int g, int t, int i) {
  return {t * 2 + (i & 1) + (i < 2 ? 0 : 8), g};
}
Position a16k8(int g, int t, int i) {
  return {i < 2 ? g : g + 8, t * 2 + (i & 1)};
}
Position b16k8(int g, int t, int i) { return {t * 2 + i, g}; }
Position aTf32k8(int g, int t, int i) {
  return {i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4};
}
Position bTf32k8(int g, int t, int i) { return {i == 0 ? t : t + 4, g}; }
Position aTf32k4(int g, int t, int i) { return {i == 0 ? g : g + 8, t}; }
Position bTf32k4(int g, int t, int) { return {t, g}; }
Position a8k32(int g, int t, int i) {
  return {i < 4 || (i >= 8 && i < 12) ? g : g + 8,
          t * 4 + (i & 3) + (i < 8 ? 0 : 16)};
}
Position b8k32(int g, int t, int i) {
  return {t * 4 + (i & 3) + (i < 4 ? 0 : 16), g};
}
Position a8k16(int g, int t, int i) {
  return {i < 4 ? g : g + 8, t * 4 + (i & 3)};
}
Position b8k16(int g, int t, int i) { return {t * 4 + i, g}; }
Position b16k32(int g, int t, int i) {
  return {t * 2 + (i & 1) + 8 * (i / 2), g};
}
Position bTf32k16(int g, int t, int i) { return {t + 4 * i, g}; }
Position cPosition(int g, int t, int i) {
  return {i < 2 ? g : g + 8, t * 2 + (i & 1)};
}

/// Every dense shape and type of the emulator.
std::vector<Shape> denseShapes() {
  using E = ElementType;
  std::vector<Shape> shapes = {
      {"mma.m16n8k16.row.col.f32.f32", E::F16, false, 16, 8, 4, a16k16, b16k16,
       "vector<2xf16>", "f32"},
      {"mma.m16n8k16.row.col.f16.f16", E::F16, false, 16, 8, 4, a16k16, b16k16,
       "vector<2xf16>", "vector<2xf16>", E::F16},
      {"mma.m16n8k8.row.col.f32.f32", E::F16, false, 8, 4, 2, a16k8, b16k8,
       "vector<2xf16>", "f32"},
      {"mma.m16n8k8.row.col.f16.f16", E::F16, false, 8, 4, 2, a16k8, b16k8,
       "vector<2xf16>", "vector<2xf16>", E::F16},
      {"mma.m16n8k16.row.col.bf16", E::BF16, false, 16, 8, 4, a16k16, b16k16,
       "i32", "f32"},
      {"mma.m16n8k8.row.col.bf16", E::BF16, false, 8, 4, 2, a16k8, b16k8, "i32",
       "f32"},
      {"mma.m16n8k8.row.col.tf32", E::F32, true, 8, 4, 2, aTf32k8, bTf32k8,
       "i32", "f32"},
      {"mma.m16n8k4.row.col.tf32", E::F32, true, 4, 2, 1, aTf32k4, bTf32k4,
       "i32", "f32"},
  };
  auto addBytes = [&](std::string types, E a, E b, E accumulator) {
    const char *word = accumulator == E::I32 ? "i32" : "f32";
    shapes.push_back({"mma.m16n8k32.row.col." + types, a, false, 32, 16, 8,
                      a8k32, b8k32, "i32", word, accumulator, 0, 0, b});
    shapes.push_back({"mma.m16n8k16.row.col." + types, a, false, 16, 8, 4,
                      a8k16, b8k16, "i32", word, accumulator, 0, 0, b});
  };
  for (const char *mode : {"", "satfinite."}) {
    addBytes(std::string(mode) + "s8", E::I8, E::I8, E::I32);
    addBytes(std::string(mode) + "s8.u8", E::I8, E::U8, E::I32);
    addBytes(std::string(mode) + "u8.s8", E::U8, E::I8, E::I32);
    addBytes(std::string(mode) + "u8", E::U8, E::U8, E::I32);
  }
  addBytes("f32.e4m3.e4m3.f32", E::F8E4M3, E::F8E4M3, E::F32);
  addBytes("f32.e4m3.e5m2.f32", E::F8E4M3, E::F8E5M2, E::F32);
  addBytes("f32.e5m2.e4m3.f32", E::F8E5M2, E::F8E4M3, E::F32);
  addBytes("f32.e5m2.e5m2.f32", E::F8E5M2, E::F8E5M2, E::F32);
  return shapes;
}

/// Every sparse shape and type of the emulator.
std::vector<Shape> sparseShapes() {
  using E = ElementType;
  std::vector<Shape> shapes;
  for (const char *mode : {"mma.sp.", "mma.sp.ordered.metadata."}) {
    auto name = [&](const char *rest) { return std::string(mode) + rest; };
    shapes.push_back({name("m16n8k32.row.col.f32.f32"), E::F16, false, 32, 8, 8,
                      a16k16, b16k32, "vector<2xf16>", "f32", E::F32, 2, 8});
    shapes.push_back({name("m16n8k32.row.col.f16.f16"), E::F16, false, 32, 8, 8,
                      a16k16, b16k32, "vector<2xf16>", "vector<2xf16>", E::F16,
                      2, 8});
    shapes.push_back({name("m16n8k16.row.col.f32.f32"), E::F16, false, 16, 4, 4,
                      a16k8, b16k16, "vector<2xf16>", "f32", E::F32, 4, 4});
    shapes.push_back({name("m16n8k16.row.col.f16.f16"), E::F16, false, 16, 4, 4,
                      a16k8, b16k16, "vector<2xf16>", "vector<2xf16>", E::F16,
                      4, 4});
    shapes.push_back({name("m16n8k32.row.col.bf16"), E::BF16, false, 32, 8, 8,
                      a16k16, b16k32, "i32", "f32", E::F32, 2, 8});
    shapes.push_back({name("m16n8k16.row.col.bf16"), E::BF16, false, 16, 4, 4,
                      a16k8, b16k16, "i32", "f32", E::F32, 4, 4});
    shapes.push_back({name("m16n8k16.row.col.tf32"), E::F32, true, 16, 4, 4,
                      aTf32k8, bTf32k16, "i32", "f32", E::F32, 2, 8});
    shapes.push_back({name("m16n8k8.row.col.tf32"), E::F32, true, 8, 2, 2,
                      aTf32k4, bTf32k8, "i32", "f32", E::F32, 4, 4});
  }
  return shapes;
}

/// The kernel: registers of lane l at word l * count of each buffer.
std::string kernelText(const Shape &shape, int aRegs, int bRegs, int cRegs,
                       int selector) {
  std::string text = R"mlir(
module {
  llvm.func @k(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %c: !llvm.ptr<1>, %e: !llvm.ptr<1>, %d: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %lane = nvvm.read.ptx.sreg.laneid : i32
)mlir";
  std::string operands, types;
  auto load = [&](const std::string &buffer, int count,
                  const std::string &type) {
    text += "%" + buffer + "n = llvm.mlir.constant(" + std::to_string(count) +
            " : i32) : i32\n%" + buffer + "o = llvm.mul %lane, %" + buffer +
            "n : i32\n%" + buffer + "p = llvm.getelementptr %" + buffer + "[%" +
            buffer + "o] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32\n";
    for (int i = 0; i < count; ++i) {
      std::string r = buffer + std::to_string(i);
      text += "%" + r + "p = llvm.getelementptr %" + buffer + "p[" +
              std::to_string(i) + "] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32\n%" +
              r + " = llvm.load %" + r + "p : !llvm.ptr<1> -> " + type + "\n";
      operands += (operands.empty() ? "%" : ", %") + r;
      types += (types.empty() ? "" : ", ") + type;
    }
  };
  load("a", aRegs, shape.operandType);
  load("b", bRegs, shape.operandType);
  load("c", cRegs, shape.accumulatorType);
  if (shape.selectors) {
    load("e", 1, "i32");
    text += "%sel = llvm.mlir.constant(" + std::to_string(selector) +
            " : i32) : i32\n";
    operands += ", %sel";
    types += ", i32";
  }
  std::string result = "!llvm.struct<(";
  for (int i = 0; i < cRegs; ++i)
    result += (i ? ", " : "") + std::string(shape.accumulatorType);
  result += ")>";
  text += "%r = llvm.call_intrinsic \"llvm.nvvm." + shape.intrinsic + "\"(" +
          operands + ") : (" + types + ") -> " + result + "\n";
  text += "%do = llvm.mul %lane, %cn : i32\n%dp = llvm.getelementptr %d[%do] : "
          "(!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32\n";
  for (int i = 0; i < cRegs; ++i) {
    std::string n = std::to_string(i);
    text += "%r" + n + " = llvm.extractvalue %r[" + n + "] : " + result +
            "\n%q" + n + " = llvm.getelementptr %dp[" + n +
            "] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32\nllvm.store %r" + n +
            ", %q" + n + " : " + shape.accumulatorType + ", !llvm.ptr<1>\n";
  }
  return text + "llvm.return\n}\n}\n";
}

/// Writes element `i` of lane `lane`; elements are consecutive in registers.
void put(std::vector<uint32_t> &registers, int perLane, int lane, int i,
         ElementType type, double value) {
  int size = byteSize(type);
  auto *bytes = reinterpret_cast<uint8_t *>(registers.data());
  storeFromDouble(type, value, bytes + (lane * perLane + i) * size);
}

/// The largest multiple of 1/64 (of 1 for integers) to draw, in those units:
/// few enough bits for every type, and for exact sums.
int rangeOf(const Shape &shape, ElementType type) {
  if (shape.accumulator == ElementType::F16)
    return 31;
  switch (type) {
  case ElementType::U8:
    return 255;
  case ElementType::I8:
  case ElementType::BF16:
    return 127;
  case ElementType::F16:
    return 512;
  case ElementType::F32:
    return 1000;
  case ElementType::F8E4M3:
    return 15;
  default: // e5m2 has three bits.
    return 7;
  }
}

double draw(const Shape &shape, ElementType type, std::mt19937 &random) {
  int range = rangeOf(shape, type);
  std::uniform_int_distribution<int> any(type == ElementType::U8 ? 0 : -range,
                                         range);
  return shape.accumulator == ElementType::I32 ? double(any(random))
                                               : any(random) / 64.0;
}

/// What `sum` becomes in the accumulator: rounded; clamped or wrapped.
double accumulated(const Shape &shape, double sum) {
  if (shape.accumulator == ElementType::I32) {
    if (shape.saturates())
      return std::clamp<double>(sum, INT32_MIN, INT32_MAX);
    return int32_t(uint32_t(int64_t(sum)));
  }
  uint8_t rounded[8];
  storeFromDouble(shape.accumulator, sum, rounded);
  return loadAsDouble(shape.accumulator, rounded);
}

/// One instruction of random operands, in `kernel` compiled for `selector`.
/// Group g of row r has legal nibble r + g + `turn`, so that each group meets
/// each nibble in as many turns as there are nibbles.
void check(const Shape &shape, int selector, EmulatedKernel &kernel,
           unsigned turn, std::mt19937 &random) {
  SCOPED_TRACE(shape.intrinsic + " selector " + std::to_string(selector));
  const ElementType bType = shape.bType.value_or(shape.type);
  int elementSize = byteSize(shape.type);
  int aRegs = shape.aElements * elementSize / 4;
  int bRegs = shape.bElements * elementSize / 4;
  int cRegs = shape.accumulator == ElementType::F16 ? 2 : 4;
  auto value = [&] { return draw(shape, shape.type, random); };

  std::vector<std::vector<double>> a(16, std::vector<double>(shape.k, 0.0)),
      b(shape.k, std::vector<double>(8)), c(16, std::vector<double>(8));
  for (auto &row : b)
    for (double &v : row)
      v = draw(shape, bType, random);
  for (auto &row : c)
    for (double &v : row) {
      v = draw(shape, shape.type, random);
      // Near both ends, where sums wrap or clamp.
      if (shape.accumulator == ElementType::I32 && random() % 2)
        v = random() % 2 ? INT32_MAX - std::fabs(v) : INT32_MIN + std::fabs(v);
    }

  std::vector<uint32_t> aRegisters(32 * aRegs), bRegisters(32 * bRegs),
      cRegisters(32 * cRegs), metadata(32);
  for (uint32_t &word : metadata)
    word = random();
  int storedK = shape.selectors ? shape.k / 2 : shape.k;
  std::vector<std::vector<double>> stored(16, std::vector<double>(storedK));
  for (int row = 0; row < 16; ++row) {
    if (!shape.selectors) {
      for (int k = 0; k < shape.k; ++k)
        stored[row][k] = a[row][k] = value();
      continue;
    }
    for (int group = 0; group < shape.metadataGroups; ++group) {
      const std::vector<unsigned> legal = shape.nibbles();
      unsigned nibble = legal[(row + group + turn) % legal.size()];
      if (shape.tf32) {
        stored[row][group] = a[row][2 * group + (nibble == 0b1110)] = value();
      } else {
        stored[row][2 * group] = a[row][4 * group + (nibble & 3)] = value();
        stored[row][2 * group + 1] = a[row][4 * group + (nibble >> 2)] =
            value();
      }
      // Who holds it: see the metadata figures of mma.sp in the PTX ISA.
      int lane = (row % 8) * 4;
      if (shape.metadataGroups == 4)
        lane += selector;
      else
        lane += 2 * selector + (group < 4 ? 0 : 1);
      int shift = (row < 8 ? 0 : 16) + 4 * (group % 4);
      metadata[lane] = (metadata[lane] & ~(15u << shift)) | nibble << shift;
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    int g = lane >> 2, t = lane & 3;
    for (int i = 0; i < shape.aElements; ++i) {
      Position p = shape.a(g, t, i);
      put(aRegisters, shape.aElements, lane, i, shape.type,
          stored[p.row][p.column]);
    }
    for (int i = 0; i < shape.bElements; ++i) {
      Position p = shape.b(g, t, i);
      put(bRegisters, shape.bElements, lane, i, bType, b[p.row][p.column]);
    }
    for (int i = 0; i < 4; ++i) {
      Position p = cPosition(g, t, i);
      put(cRegisters, 4, lane, i, shape.accumulator, c[p.row][p.column]);
    }
  }
  // What hardware ignores in a tf32 operand.
  if (shape.tf32)
    for (uint32_t &word : aRegisters)
      word |= random() & 0x1fff;

  GuardedBuffer ab = bufferOf("a", aRegisters), bb = bufferOf("b", bRegisters),
                cb = bufferOf("c", cRegisters), eb = bufferOf("e", metadata),
                db = bufferOf("d", std::vector<uint32_t>(32 * cRegs, ~0u));
  ASSERT_EQ(textOf(kernel.launch({1, 1, 1}, {32, 1, 1}, 0,
                                 {ab.devicePointer(), bb.devicePointer(),
                                  cb.devicePointer(), eb.devicePointer(),
                                  db.devicePointer()})),
            "");
  std::vector<uint32_t> dRegisters = valuesOf<uint32_t>(db);
  auto *bytes = reinterpret_cast<const uint8_t *>(dRegisters.data());
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      Position p = cPosition(lane >> 2, lane & 3, i);
      double sum = c[p.row][p.column];
      for (int k = 0; k < shape.k; ++k)
        sum += a[p.row][k] * b[k][p.column];
      double expected = accumulated(shape, sum);
      double got =
          loadAsDouble(shape.accumulator,
                       bytes + (lane * 4 + i) * byteSize(shape.accumulator));
      ASSERT_EQ(got, expected) << "row " << p.row << " column " << p.column;
    }
}

std::string shapeText(const Shape &shape, int selector) {
  int elementSize = byteSize(shape.type);
  return kernelText(shape, shape.aElements * elementSize / 4,
                    shape.bElements * elementSize / 4,
                    shape.accumulator == ElementType::F16 ? 2 : 4, selector);
}

TEST(Matrix, DenseAgainstScalar) {
  std::mt19937 random(1);
  for (const Shape &shape : denseShapes()) {
    auto kernel = compile(shapeText(shape, 0));
    ASSERT_TRUE(kernel) << shape.intrinsic;
    for (unsigned turn = 0; turn < 4; ++turn)
      check(shape, 0, *kernel, turn, random);
  }
}

TEST(Matrix, SparseAgainstScalarForEverySelectorAndNibble) {
  std::mt19937 random(2);
  for (const Shape &shape : sparseShapes())
    for (int selector = 0; selector < shape.selectors; ++selector) {
      auto kernel = compile(shapeText(shape, selector));
      ASSERT_TRUE(kernel) << shape.intrinsic;
      for (unsigned turn = 0; turn < shape.nibbles().size(); ++turn)
        check(shape, selector, *kernel, turn, random);
    }
}

/// As ptxas refuses it: the lanes that it names hold no metadata. LLVM knows
/// the ranges too, and says so first.
TEST(Matrix, SelectorsBeyondTheMetadataAreRefused) {
  for (const Shape &shape : sparseShapes())
    for (int selector : {shape.selectors, 255}) {
      auto kernel = compileText(shapeText(shape, selector));
      EXPECT_FALSE(bool(kernel)) << shape.intrinsic << " " << selector;
      llvm::consumeError(kernel.takeError());
    }
}

/// Metadata that names one element twice, or in descending order.
TEST(Matrix, IllegalMetadataIsAFault) {
  for (const Shape &shape : sparseShapes()) {
    int elementSize = byteSize(shape.type);
    int aRegs = shape.aElements * elementSize / 4;
    int bRegs = shape.bElements * elementSize / 4;
    int cRegs = shape.accumulator == ElementType::F16 ? 2 : 4;
    auto kernel = compile(kernelText(shape, aRegs, bRegs, cRegs, 0));
    ASSERT_TRUE(kernel);
    for (uint32_t nibble = 0; nibble < 16; ++nibble) {
      bool legal = llvm::is_contained(shape.nibbles(), nibble);
      // Legal everywhere but in one nibble of the last row's lane.
      std::vector<uint32_t> metadata(32, 0x44444444);
      metadata[28] = (metadata[28] & ~(15u << 20)) | nibble << 20;
      GuardedBuffer ab = bufferOf("a", std::vector<uint32_t>(32 * aRegs)),
                    bb = bufferOf("b", std::vector<uint32_t>(32 * bRegs)),
                    cb = bufferOf("c", std::vector<uint32_t>(32 * cRegs)),
                    eb = bufferOf("e", metadata),
                    db = bufferOf("d", std::vector<uint32_t>(32 * cRegs));
      llvm::Error error = kernel->launch(
          {1, 1, 1}, {32, 1, 1}, 0,
          {ab.devicePointer(), bb.devicePointer(), cb.devicePointer(),
           eb.devicePointer(), db.devicePointer()});
      if (legal) {
        EXPECT_EQ(textOf(std::move(error)), "") << shape.intrinsic << nibble;
        continue;
      }
      EmulatorFault fault = faultOf(std::move(error));
      EXPECT_EQ(fault.kind, FaultKind::InvalidOperand);
      EXPECT_EQ(fault.thread[0], 28u);
      EXPECT_NE(fault.message.find("row 15, group 1"), std::string::npos)
          << fault.message;
    }
  }
}

/// ldmatrix of rows that every thread writes itself: element (r, c) of matrix j
/// is 1000 * j + 10 * r + c.
TEST(Matrix, LoadMatrix) {
  for (int count : {1, 2, 4})
    for (bool transpose : {false, true}) {
      SCOPED_TRACE(count);
      std::string n = std::to_string(count);
      std::string result = count == 1   ? "i32"
                           : count == 2 ? "!llvm.struct<(i32, i32)>"
                                        : "!llvm.struct<(i32, i32, i32, i32)>";
      std::string text =
          R"mlir(
module {
  llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<512 x i8>
  llvm.func @k(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %c16 = llvm.mlir.constant(16 : i32) : i32
    %o = llvm.mul %lane, %c16 : i32
    %base = llvm.mlir.addressof @tile : !llvm.ptr<3>
    %s = llvm.getelementptr %base[%o] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    %xp = llvm.getelementptr %x[%o] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
    %row = llvm.load %xp {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    llvm.store %row, %s {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
    nvvm.barrier0
    %r = nvvm.ldmatrix %s {num = )mlir" +
          n + " : i32, layout = #nvvm.mma_layout<" +
          (transpose ? "col" : "row") +
          R"mlir(>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> )mlir" +
          result + "\n";
      for (int i = 0; i < count; ++i) {
        std::string k = std::to_string(i);
        std::string value = "%r";
        if (count > 1) {
          text += "%r" + k + " = llvm.extractvalue %r[" + k + "] : " + result +
                  "\n";
          value += k;
        }
        text += "%o" + k + " = llvm.mlir.constant(" + std::to_string(32 * i) +
                " : i32) : i32\n%i" + k + " = llvm.add %lane, %o" + k +
                " : i32\n%y" + k + " = llvm.getelementptr %y[%i" + k +
                "] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32\nllvm.store " +
                value + ", %y" + k + " : i32, !llvm.ptr<1>\n";
      }
      text += "llvm.return\n}\n}\n";
      auto kernel = compile(text);
      ASSERT_TRUE(kernel);
      std::vector<uint16_t> x(256);
      for (int j = 0; j < 4; ++j)
        for (int r = 0; r < 8; ++r)
          for (int c = 0; c < 8; ++c)
            x[(j * 8 + r) * 8 + c] = 1000 * j + 10 * r + c;
      GuardedBuffer in = bufferOf("x", x),
                    out = bufferOf("y", std::vector<uint32_t>(32 * count));
      ASSERT_EQ(
          textOf(kernel->launch({1, 1, 1}, {32, 1, 1}, 0,
                                {in.devicePointer(), out.devicePointer()})),
          "");
      std::vector<uint32_t> y = valuesOf<uint32_t>(out);
      for (int j = 0; j < count; ++j)
        for (int lane = 0; lane < 32; ++lane)
          for (int e = 0; e < 2; ++e) {
            int r = lane / 4, c = 2 * (lane % 4) + e;
            if (transpose)
              std::swap(r, c);
            ASSERT_EQ(y[32 * j + lane] >> (16 * e) & 0xffff,
                      unsigned(1000 * j + 10 * r + c));
          }
    }
}

} // namespace
