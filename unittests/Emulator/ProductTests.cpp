//===- ProductTests.cpp - A whole product ---------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Y = W * X with 1024 x 1024 f16 weights and 64 tokens (token-major), written
// as a plain sm_80 kernel: 64 x 64 tiles, 128 threads, cp.async into padded
// shared memory, ldmatrix, mma.sync.
//
//===----------------------------------------------------------------------===//

#include "TestKernel.h"
#include "sparseditto/Support/ElementType.h"
#include <cmath>
#include <random>

using namespace sparseditto;

namespace {

/// Builds the text; every value gets a fresh name.
class Text {
public:
  std::string out;
  std::string op(const std::string &text) {
    std::string name = "%v" + std::to_string(next++);
    out += "    " + name + " = " + text + "\n";
    return name;
  }
  std::string constant(int value) {
    return op("llvm.mlir.constant(" + std::to_string(value) + " : i32) : i32");
  }
  std::string binary(const char *what, const std::string &a,
                     const std::string &b) {
    return op(std::string("llvm.") + what + " " + a + ", " + b + " : i32");
  }
  std::string binary(const char *what, const std::string &a, int b) {
    return binary(what, a, constant(b));
  }
  std::string shared(const std::string &base, const std::string &bytes) {
    return op("llvm.getelementptr " + base + "[" + bytes +
              "] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8");
  }
  std::string global(const std::string &base, const std::string &bytes) {
    return op("llvm.getelementptr " + base + "[" + bytes +
              "] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8");
  }

private:
  unsigned next = 0;
};

constexpr int M = 1024, K = 1024, N = 64;
constexpr int rowBytes = 80; ///< 32 halves and 8 of padding.

std::string productKernel() {
  Text t;
  std::string tid = t.op("nvvm.read.ptx.sreg.tid.x : i32");
  std::string lane = t.op("nvvm.read.ptx.sreg.laneid : i32");
  std::string block = t.op("nvvm.read.ptx.sreg.ctaid.x : i32");
  std::string warp = t.binary("lshr", tid, 5);
  std::string w = t.op("llvm.mlir.addressof @w : !llvm.ptr<3>");
  std::string x = t.op("llvm.mlir.addressof @x : !llvm.ptr<3>");
  std::string zero = t.op("llvm.mlir.constant(0.0 : f32) : f32");
  std::string start = t.constant(0), end = t.constant(K), step = t.constant(32);
  // Copies: thread t moves 16 bytes of rows t/4 and t/4 + 32.
  std::string row = t.binary("lshr", tid, 2);
  std::string part = t.binary("shl", t.binary("and", tid, 3), 4);
  std::string row0 = t.binary("shl", block, 6);
  // ldmatrix rows: A takes rows lane%16 of the warp's 16, half lane/16; B takes
  // tokens 8*(lane/16) + lane%8, half (lane/8)%2.
  std::string aRow =
      t.binary("add", t.binary("shl", warp, 4), t.binary("and", lane, 15));
  std::string aOffset = t.binary("add", t.binary("mul", aRow, rowBytes),
                                 t.binary("shl", t.binary("lshr", lane, 4), 4));
  std::string bRow =
      t.binary("add", t.binary("shl", t.binary("lshr", lane, 4), 3),
               t.binary("and", lane, 7));
  std::string bOffset = t.binary(
      "add", t.binary("mul", bRow, rowBytes),
      t.binary("shl", t.binary("and", t.binary("lshr", lane, 3), 1), 4));
  std::string types = "i32", inits = start, names;
  for (int i = 0; i < 32; ++i) {
    types += ", f32";
    inits += ", " + zero;
    names += ", %acc" + std::to_string(i) + ": f32";
  }
  t.out += "    llvm.br ^loop(" + inits + " : " + types + ")\n  ^loop(%k: i32" +
           names + "):\n";
  std::string more = t.op("llvm.icmp \"slt\" %k, " + end + " : i32");
  t.out += "    llvm.cond_br " + more + ", ^body, ^done\n  ^body:\n";
  std::string kBytes = t.binary("shl", "%k", 1);
  auto copy = [&](const std::string &to, const std::string &from,
                  const std::string &firstRow) {
    for (int half = 0; half < 2; ++half) {
      std::string r = t.binary("add", row, 32 * half);
      std::string destination =
          t.shared(to, t.binary("add", t.binary("mul", r, rowBytes), part));
      std::string global = t.binary(
          "add",
          t.binary("mul", firstRow.empty() ? r : t.binary("add", firstRow, r),
                   2 * K),
          t.binary("add", kBytes, part));
      t.out += "    nvvm.cp.async.shared.global " + destination + ", " +
               t.global(from, global) +
               ", 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>\n";
    }
  };
  copy(w, "%W", row0);
  copy(x, "%X", "");
  t.out +=
      "    nvvm.cp.async.commit.group\n    nvvm.cp.async.wait.group 0\n    "
      "nvvm.barrier0\n";
  const std::string four = "!llvm.struct<(i32, i32, i32, i32)>",
                    result = "!llvm.struct<(f32, f32, f32, f32)>";
  auto ldmatrix = [&](const std::string &pointer) {
    std::string loaded =
        t.op("nvvm.ldmatrix " + pointer +
             " {num = 4 : i32, layout = #nvvm.mma_layout<row>, shape = "
             "#nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = "
             "#nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> " +
             four);
    std::vector<std::string> registers;
    for (int i = 0; i < 4; ++i) {
      std::string word = t.op("llvm.extractvalue " + loaded + "[" +
                              std::to_string(i) + "] : " + four);
      registers.push_back(
          t.op("llvm.bitcast " + word + " : i32 to vector<2xf16>"));
    }
    return registers;
  };
  std::vector<std::string> accumulators;
  for (int i = 0; i < 32; ++i)
    accumulators.push_back("%acc" + std::to_string(i));
  for (int step16 = 0; step16 < 2; ++step16) {
    auto a = ldmatrix(t.shared(w, t.binary("add", aOffset, 32 * step16)));
    for (int pair = 0; pair < 4; ++pair) {
      auto b = ldmatrix(t.shared(
          x, t.binary("add", bOffset, 32 * step16 + 16 * pair * rowBytes)));
      for (int j = 0; j < 2; ++j) {
        std::string *c = &accumulators[4 * (2 * pair + j)];
        std::string d = t.op(
            "nvvm.mma.sync A[" + a[0] + ", " + a[1] + ", " + a[2] + ", " +
            a[3] + "] B[" + b[2 * j] + ", " + b[2 * j + 1] + "] C[" + c[0] +
            ", " + c[1] + ", " + c[2] + ", " + c[3] +
            "] {layoutA = #nvvm.mma_layout<row>, layoutB = "
            "#nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = "
            "16>} : (vector<2xf16>, vector<2xf16>, f32) -> " +
            result);
        for (int i = 0; i < 4; ++i)
          c[i] = t.op("llvm.extractvalue " + d + "[" + std::to_string(i) +
                      "] : " + result);
      }
    }
  }
  t.out += "    nvvm.barrier0\n";
  std::string next = t.binary("add", "%k", step);
  std::string carried = next;
  for (const std::string &value : accumulators)
    carried += ", " + value;
  t.out += "    llvm.br ^loop(" + carried + " : " + types + ")\n  ^done:\n";
  // Y is N x M: lane 4g+t has rows g and g+8, tokens 8j + 2t and the next.
  std::string g = t.binary("lshr", lane, 2);
  std::string token0 = t.binary("shl", t.binary("and", lane, 3), 1);
  std::string feature =
      t.binary("add", row0, t.binary("add", t.binary("shl", warp, 4), g));
  for (int j = 0; j < 8; ++j)
    for (int i = 0; i < 4; ++i) {
      std::string token = t.binary("add", token0, 8 * j + i % 2);
      std::string index = t.binary("add", t.binary("mul", token, M),
                                   t.binary("add", feature, 8 * (i / 2)));
      t.out += "    llvm.store %acc" + std::to_string(4 * j + i) + ", " +
               t.global("%Y", t.binary("shl", index, 2)) +
               " : f32, !llvm.ptr<1>\n";
    }
  std::string tile = std::to_string(64 * rowBytes);
  return "module {\n"
         "  llvm.mlir.global internal @w() {addr_space = 3 : i32, alignment = "
         "16 : i64} : !llvm.array<" +
         tile +
         " x i8>\n"
         "  llvm.mlir.global internal @x() {addr_space = 3 : i32, alignment = "
         "16 : i64} : !llvm.array<" +
         tile +
         " x i8>\n"
         "  llvm.func @k(%W: !llvm.ptr<1>, %X: !llvm.ptr<1>, %Y: !llvm.ptr<1>) "
         "attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {\n" +
         t.out + "    llvm.return\n  }\n}\n";
}

TEST(Product, IsExact) {
  std::mt19937 random(3);
  auto values = [&](int count) {
    std::vector<uint16_t> v(count);
    for (uint16_t &bits : v)
      bits = floatToHalf((int(random() % 65) - 32) / 16.0f);
    return v;
  };
  std::vector<uint16_t> w = values(M * K), x = values(N * K);
  GuardedBuffer wb = bufferOf("W", w), xb = bufferOf("X", x),
                yb = bufferOf("Y", std::vector<float>(N * M, NAN));
  wb.setReadOnly(true);
  xb.setReadOnly(true);
  auto kernel = compile(productKernel());
  ASSERT_TRUE(kernel);
  LaunchReport report;
  ASSERT_EQ(textOf(kernel->launch(
                {M / 64, 1, 1}, {128, 1, 1}, 0,
                {wb.devicePointer(), xb.devicePointer(), yb.devicePointer()},
                &report)),
            "");
  // 64 products of mma tiles a warp and step, and 5 ldmatrix.
  EXPECT_EQ(report.warpOperations, 16u * 4 * (K / 32) * (16 + 10));
  std::vector<float> y = valuesOf<float>(yb);
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; n += 7) {
      // Multiples of 1/256 below 2^22: exact in f32 in any order.
      float sum = 0;
      for (int k = 0; k < K; ++k)
        sum += halfToFloat(w[m * K + k]) * halfToFloat(x[n * K + k]);
      ASSERT_EQ(y[n * M + m], sum) << m << " " << n;
    }
}

} // namespace
