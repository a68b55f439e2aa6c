//===- ModuleRunnerTests.cpp - Whole modules on the CPU -------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "sparseditto/Emulator/ModuleRunner.h"
#include "sparseditto/Target/HostToLLVM.h"
#include "gmock/gmock.h"

using namespace sparseditto;
using ::testing::HasSubstr;

namespace {
class ModuleRunnerTest : public ::testing::Test {
protected:
  ModuleRunnerTest() : context(registry()) {}

  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry registry;
    registerHostDialects(registry);
    return registry;
  }
  llvm::Expected<std::unique_ptr<ModuleRunner>>
  create(const std::string &text, const ModuleRunnerOptions &options = {}) {
    auto module =
        mlir::parseSourceString<mlir::ModuleOp>(text, &context, "m.mlir");
    if (!module)
      return llvm::createStringError("does not parse");
    return ModuleRunner::create(*module, options);
  }
  /// The error of creating and running, "" if there is none.
  std::string errorOf(const std::string &text,
                      llvm::ArrayRef<HostTensor> inputs = {},
                      const ModuleRunnerOptions &options = {}) {
    auto runner = create(text, options);
    if (!runner)
      return llvm::toString(runner.takeError());
    auto results = (*runner)->run(inputs);
    return results ? "" : llvm::toString(results.takeError());
  }

  mlir::MLIRContext context;
};
} // namespace

static HostTensor floats(std::vector<int64_t> shape,
                         std::vector<float> values) {
  HostTensor tensor;
  tensor.type = ElementType::F32;
  tensor.shape = std::move(shape);
  auto *bytes = reinterpret_cast<const uint8_t *>(values.data());
  tensor.bytes.assign(bytes, bytes + 4 * values.size());
  return tensor;
}

static std::vector<float> valuesOf(const HostTensor &tensor) {
  std::vector<float> values;
  for (size_t at = 0; at < tensor.bytes.size(); at += byteSize(tensor.type))
    values.push_back(
        float(loadAsDouble(tensor.type, tensor.bytes.data() + at)));
  return values;
}

/// to[i] = from[i] + 1 for one block of n threads, and how to launch it.
static const std::string kernel = R"mlir(
gpu.module @m {
  gpu.func @k(%from: !llvm.ptr<1>, %to: !llvm.ptr<1>) kernel {
    %t = gpu.thread_id x
    %i = arith.index_cast %t : index to i64
    %p = llvm.getelementptr %from[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %q = llvm.getelementptr %to[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %one = arith.constant 1.0 : f32
    %v = llvm.load %p : !llvm.ptr<1> -> f32
    %w = arith.addf %v, %one : f32
    llvm.store %w, %q : f32, !llvm.ptr<1>
    gpu.return
  }
}
func.func private @launch(%from: memref<?xf32>, %to: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %from, %c0 : memref<?xf32>
  %f = memref.extract_aligned_pointer_as_index %from : memref<?xf32> -> index
  %fa = arith.index_cast %f : index to i64
  %fp = llvm.inttoptr %fa : i64 to !llvm.ptr<1>
  %t = memref.extract_aligned_pointer_as_index %to : memref<?xf32> -> index
  %ta = arith.index_cast %t : index to i64
  %tp = llvm.inttoptr %ta : i64 to !llvm.ptr<1>
  gpu.launch_func @m::@k blocks in (%c1, %c1, %c1) threads in (%n, %c1, %c1)
    args(%fp : !llvm.ptr<1>, %tp : !llvm.ptr<1>)
  return
}
)mlir";

static std::string withKernel(const std::string &functions) {
  return "module attributes {gpu.container_module} {" + kernel + functions +
         "}";
}

TEST_F(ModuleRunnerTest, LaunchesInALoopAndBranchesOnTheHost) {
  auto runner = create(withKernel(R"mlir(
    func.func @f(%x: memref<?xf32>) -> memref<?xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c5 = arith.constant 5 : index
      scf.for %i = %c0 to %c5 step %c1 {
        func.call @launch(%x, %x) : (memref<?xf32>, memref<?xf32>) -> ()
      }
      return %x : memref<?xf32>
    })mlir"));
  ASSERT_TRUE(bool(runner)) << llvm::toString(runner.takeError());
  EXPECT_EQ((*runner)->entry(), "f");
  ASSERT_EQ((*runner)->arguments().size(), 1u);
  EXPECT_EQ((*runner)->arguments()[0].str(), "?xf32");
  for (int run = 1; run <= 2; ++run) {
    auto results = (*runner)->run({floats({3}, {1, 2, 3})});
    ASSERT_TRUE(bool(results)) << llvm::toString(results.takeError());
    EXPECT_EQ(valuesOf(results->front()), (std::vector<float>{6, 7, 8}));
    ASSERT_EQ((*runner)->kernels().size(), 1u);
    EXPECT_EQ((*runner)->kernels()[0].launches, uint64_t(5 * run));
    EXPECT_EQ((*runner)->kernels()[0].sum.threads, uint64_t(15 * run));
  }
}

/// Uploads a constant as convert-sparsepattern-to-gpu does.
static const std::string initFunction = R"mlir(
memref.global "private" constant @host : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>
memref.global "private" @device : memref<1xi64> = uninitialized
func.func @sparsepattern_init() {
  %c0 = arith.constant 0 : index
  %source = memref.get_global @host : memref<4xf32>
  %t0 = gpu.wait async
  %d, %t1 = gpu.alloc async [%t0] () : memref<4xf32>
  %t2 = gpu.memcpy async [%t1] %d, %source : memref<4xf32>, memref<4xf32>
  %p = memref.extract_aligned_pointer_as_index %d : memref<4xf32> -> index
  %a = arith.index_cast %p : index to i64
  %slot = memref.get_global @device : memref<1xi64>
  memref.store %a, %slot[%c0] : memref<1xi64>
  gpu.wait [%t2]
  return
}
)mlir";

TEST_F(ModuleRunnerTest, ConstantsAreUploadedOnceAndReadOnly) {
  const std::string body = initFunction + R"mlir(
    func.func @f(%x: memref<4xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %slot = memref.get_global @device : memref<1xi64>
      %a = memref.load %slot[%c0] : memref<1xi64>
      %wp = llvm.inttoptr %a : i64 to !llvm.ptr<1>
      %i = memref.extract_aligned_pointer_as_index %x : memref<4xf32> -> index
      %b = arith.index_cast %i : index to i64
      %xp = llvm.inttoptr %b : i64 to !llvm.ptr<1>
      gpu.launch_func @m::@k blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1)
        args(%FROM : !llvm.ptr<1>, %TO : !llvm.ptr<1>)
      return
    })mlir";
  auto text = [&](const char *from, const char *to) {
    std::string result = body;
    result.replace(result.find("%FROM"), 5, from);
    result.replace(result.find("%TO"), 3, to);
    return withKernel(result);
  };
  HostTensor x = floats({4}, {0, 0, 0, 0});
  EXPECT_EQ(errorOf(text("%wp", "%xp"), {x}), "");
  EXPECT_THAT(errorOf(text("%xp", "%wp"), {x}),
              ::testing::AllOf(HasSubstr("read-only"),
                               HasSubstr("'device buffer 1'"),
                               HasSubstr("; launched at m.mlir:")));
}

TEST_F(ModuleRunnerTest, HostMemoryIsOutOfTheKernelsReach) {
  const std::string body = R"mlir(
    func.func @f(%x: memref<?xf32>) -> memref<?xf32> {
      %c0 = arith.constant 0 : index
      %n = memref.dim %x, %c0 : memref<?xf32>
      %y = ALLOC (%n) : memref<?xf32>
      func.call @launch(%x, %y) : (memref<?xf32>, memref<?xf32>) -> ()
      return %y : memref<?xf32>
    })mlir";
  auto text = [&](const char *alloc) {
    std::string result = body;
    result.replace(result.find("ALLOC"), 5, alloc);
    return withKernel(result);
  };
  HostTensor x = floats({2}, {1, 2});
  EXPECT_EQ(errorOf(text("gpu.alloc host_shared"), {x}), "");
  EXPECT_THAT(errorOf(text("memref.alloc"), {x}), HasSubstr("out-of-bounds"));
}

TEST_F(ModuleRunnerTest, TellsWhatIsNotFreed) {
  const std::string body = R"mlir(
    func.func @f(%x: memref<?xf32>) -> memref<?xf32> {
      %c0 = arith.constant 0 : index
      %n = memref.dim %x, %c0 : memref<?xf32>
      %t = gpu.alloc host_shared (%n) : memref<?xf32>
      %y = gpu.alloc host_shared (%n) : memref<?xf32>
      func.call @launch(%x, %t) : (memref<?xf32>, memref<?xf32>) -> ()
      func.call @launch(%t, %y) : (memref<?xf32>, memref<?xf32>) -> ()
      FREE
      return %y : memref<?xf32>
    })mlir";
  auto leaked = [&](const char *free) {
    std::string text = body;
    text.replace(text.find("FREE"), 4, free);
    auto runner = llvm::cantFail(create(withKernel(text)));
    auto results = llvm::cantFail(runner->run({floats({3}, {1, 2, 3})}));
    EXPECT_EQ(valuesOf(results[0]), (std::vector<float>{3, 4, 5}));
    return runner->leakedBytes();
  };
  EXPECT_EQ(leaked(""), 12u);
  EXPECT_EQ(leaked("%0 = gpu.wait async\n%1 = gpu.dealloc async [%0] %t : "
                   "memref<?xf32>\ngpu.wait [%1]"),
            0u);
}

TEST_F(ModuleRunnerTest, ComputesWhatIsLeftToTheHost) {
  auto runner = create(R"mlir(
    memref.global "private" constant @w : memref<2x2xf16> = dense<[[1.0, 2.0], [3.0, 4.0]]>
    func.func @f(%x: memref<?x2xf16>, %s: memref<f32>) -> (memref<?x2xf32>, memref<2x?xbf16>) {
      %c0 = arith.constant 0 : index
      %zero = arith.constant 0.0 : f32
      %n = memref.dim %x, %c0 : memref<?x2xf16>
      %w = memref.get_global @w : memref<2x2xf16>
      %y = memref.alloc(%n) : memref<?x2xf32>
      linalg.fill ins(%zero : f32) outs(%y : memref<?x2xf32>)
      linalg.matmul ins(%x, %w : memref<?x2xf16>, memref<2x2xf16>) outs(%y : memref<?x2xf32>)
      %t = memref.alloc(%n) : memref<2x?xbf16>
      %scale = memref.load %s[] : memref<f32>
      linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>],
                      iterator_types = ["parallel", "parallel"]}
        ins(%y : memref<?x2xf32>) outs(%t : memref<2x?xbf16>) {
      ^bb0(%a: f32, %b: bf16):
        %scaled = arith.mulf %a, %scale : f32
        %tanh = math.tanh %scaled : f32
        %r = arith.truncf %tanh : f32 to bf16
        linalg.yield %r : bf16
      }
      return %y, %t : memref<?x2xf32>, memref<2x?xbf16>
    })mlir");
  ASSERT_TRUE(bool(runner)) << llvm::toString(runner.takeError());
  HostTensor x{ElementType::F16, {1, 2}, {0x00, 0x3c, 0x00, 0xc0}}; // 1, -2
  auto results = (*runner)->run({x, floats({}, {0.5f})});
  ASSERT_TRUE(bool(results)) << llvm::toString(results.takeError());
  EXPECT_EQ(valuesOf((*results)[0]), (std::vector<float>{-5, -6}));
  EXPECT_EQ((*results)[1].shape, (std::vector<int64_t>{2, 1}));
  std::vector<float> tanh = valuesOf((*results)[1]);
  EXPECT_NEAR(tanh[0], -0.98661, 0.004);
  EXPECT_NEAR(tanh[1], -0.99505, 0.004);
  EXPECT_EQ((*runner)->leakedBytes(), 0u);
}

TEST_F(ModuleRunnerTest, ChecksShapesAndBoundsOfHostCode) {
  // A product of shapes that do not fit, known only when it runs.
  EXPECT_THAT(
      errorOf(R"mlir(
    func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>) {
      linalg.matmul ins(%x, %x : memref<?x?xf32>, memref<?x?xf32>) outs(%y : memref<?x?xf32>)
      return
    })mlir",
              {floats({1, 2}, {1, 2}), floats({1, 2}, {1, 2})}),
      ::testing::AllOf(HasSubstr("host code: "), HasSubstr("m.mlir\":3:")));
  ModuleRunnerOptions small;
  small.memoryBytes = 1000;
  EXPECT_THAT(errorOf(R"mlir(
    func.func @f() -> memref<300xf32> {
      %y = memref.alloc() : memref<300xf32>
      return %y : memref<300xf32>
    })mlir",
                      {}, small),
              HasSubstr("is over the limit of 1000"));
  // The result is a constant of the module, which is no buffer of its.
  EXPECT_THAT(errorOf(R"mlir(
    memref.global "private" constant @w : memref<2xf32> = dense<1.0>
    func.func @f() -> memref<2xf32> {
      %w = memref.get_global @w : memref<2xf32>
      return %w : memref<2xf32>
    })mlir"),
              HasSubstr("result 0 of 2xf32 does not lie within one live "
                        "buffer"));
}

TEST_F(ModuleRunnerTest, RefusesWhatItCannotLaunch) {
  std::string text = withKernel("func.func @f() { return }");
  using Changes = std::vector<std::pair<std::string, std::string>>;
  auto with = [&](const Changes &changes) {
    std::string changed = text;
    for (const auto &[old, replacement] : changes)
      changed.replace(changed.find(old), old.size(), replacement);
    return errorOf(changed);
  };
  EXPECT_EQ(with({}), "");
  EXPECT_THAT(
      with({{"%to: !llvm.ptr<1>) kernel",
             "%to: !llvm.ptr<1>, %more: vector<2xf32>) kernel"},
            {"  %c0 = ", "  %more = arith.constant dense<0.0> : vector<2xf32>\n"
                         "  %c0 = "},
            {"%tp : !llvm.ptr<1>)",
             "%tp : !llvm.ptr<1>, %more : vector<2xf32>)"}}),
      HasSubstr("operand 2 of the launch is vector<2xf32>, which the emulator "
                "cannot pass"));
  EXPECT_THAT(with({{"blocks in (%c1, %c1, %c1)",
                     "clusters in (%c1, %c1, %c1) blocks in (%c1, %c1, %c1)"}}),
              HasSubstr("an asynchronous launch or one of clusters, which the "
                        "emulator cannot do"));
}
