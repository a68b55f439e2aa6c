//===- FakeDriverTest.cpp - Tests of the GPU path -------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Runs the GPU path from end to end on a driver made of host memory, with each
// of its calls failing in turn.
//

#include "sparseditto/Runtime/GpuExecutor.h"
#include "sparseditto/Runtime/Measure.h"
#include "sparseditto/Support/SharedLibrary.h"
#include "sparseditto/Verify/Checker.h"
#include "sparseditto/Verify/Inputs.h"
#include "gtest/gtest.h"

using namespace sparseditto;

namespace {
class FakeDriverTest : public testing::Test {
protected:
  void SetUp() override {
    auto opened = SharedLibrary::open({std::string("libcuda.so.1")});
    ASSERT_TRUE(bool(opened)) << llvm::toString(opened.takeError());
    library = std::move(*opened);
    ASSERT_TRUE(library.find("fakeLive", live) &&
                library.find("fakeCalls", calls) &&
                library.find("fakeFailAt", failAt) &&
                library.find("fakeProducts", products) &&
                library.find("fakeSpoilFrom", spoilFrom))
        << library.path().str() << " is not the fake driver";
    failAt(-1, 0);
    spoilFrom(-1, "");
    weight = llvm::cantFail(Matrix::allocate("w", ElementType::F16, 16, 24));
    Random random(3);
    for (int64_t i = 0; i < weight.numElements(); i += 2)
      storeFromDouble(ElementType::F16, random.normal(),
                      weight.mutableData() + 2 * i);
    packed.format = "plain";
    packed.m = 16;
    packed.k = 24;
    packed.buffers.push_back({"values",
                              ElementType::F16,
                              {16, 24},
                              {weight.bytes().begin(), weight.bytes().end()}});
    kernel.symbol = "product_16x24";
    kernel.strategy.family = "plain";
    kernel.format = "plain";
    kernel.problem = {.m = 16, .k = 24};
    kernel.chip = "sm_90a";
    kernel.dynamicSharedBytes = 1024;
    kernel.args.push_back({ArgKind::Packed, "values", ElementType::F16, 256});
    for (KernelArg &arg : activationArgs(kernel.problem))
      kernel.args.push_back(arg);
    options.dense = false;
    options.timing = {
        .replays = 3, .warmUp = 1, .minLaunches = 4, .coldBytes = 4096};
  }

  /// The whole of what a worker does for one kernel.
  llvm::Error work(CheckResult *checked = nullptr,
                   Measurement *measured = nullptr) {
    auto device = Device::open();
    if (!device)
      return device.takeError();
    auto loaded = LoadedKernel::load(*device, kernel,
                                     std::string("\x7f"
                                                 "ELF") +
                                         std::string(100, 'x'),
                                     ".version 8.0");
    if (!loaded)
      return loaded.takeError();
    EXPECT_TRUE(loaded->uses().compiledByDriver);
    auto executor = createGpuExecutor(*device, *loaded, /*seed=*/1);
    if (!executor)
      return executor.takeError();
    CheckOptions check;
    check.n = {3};
    check.onlyGivenN = true;
    auto result = checkKernel(kernel, weight, packed, **executor, check);
    if (!result)
      return result.takeError();
    if (checked)
      *checked = *result;
    if (result->status != CheckStatus::Verified)
      return llvm::createStringError(result->failure->message);
    auto measurement =
        measureKernel(*device, *loaded, weight, packed, 3, options);
    if (!measurement)
      return measurement.takeError();
    if (measured)
      *measured = *measurement;
    return llvm::Error::success();
  }

  SharedLibrary library;
  long (*live)() = nullptr;
  long (*calls)() = nullptr;
  void (*failAt)(long, int) = nullptr;
  long (*products)() = nullptr;
  void (*spoilFrom)(long, const char *) = nullptr;
  Matrix weight;
  PackedWeight packed;
  KernelManifest kernel;
  MeasureOptions options;
};
} // namespace

TEST_F(FakeDriverTest, ChecksAndMeasures) {
  CheckResult checked;
  Measurement measured;
  ASSERT_EQ(llvm::toString(work(&checked, &measured)), "");
  EXPECT_EQ(checked.status, CheckStatus::Verified);
  EXPECT_EQ(checked.columnsProbed, 24);
  EXPECT_EQ(measured.fault, "");
  EXPECT_TRUE(measured.cold);
  EXPECT_GT(measured.kernel.median, 0);
  EXPECT_EQ(measured.kernel.replays, 3u);
  EXPECT_GE(measured.kernel.launches, 4u);
  EXPECT_DOUBLE_EQ(measured.bytes, 2 * (16 * 24 + 3 * 24 + 3 * 16));
  EXPECT_EQ(live(), 0);
}

TEST_F(FakeDriverTest, AuditsWhatIsTimed) {
  // Packed bytes that are not the weight: the check is skipped, the audit of
  // the timed launches must see it.
  auto device = llvm::cantFail(Device::open());
  auto loaded =
      llvm::cantFail(LoadedKernel::load(device, kernel, "", ".version 8.0"));
  PackedWeight other = packed;
  for (size_t i = 0; i < other.buffers[0].bytes.size(); ++i)
    other.buffers[0].bytes[i] = uint8_t(i % 48);
  auto measured =
      llvm::cantFail(measureKernel(device, loaded, weight, other, 3, options));
  EXPECT_EQ(measured.fault.find("a timed launch computed output (row "), 0u)
      << measured.fault;
}

TEST_F(FakeDriverTest, RefusesKernelsThatCheatOnlyWhileTheyAreTimed) {
  auto device = llvm::cantFail(Device::open());
  options.timing.replays = 9;
  for (const char *symbol :
       {"cheat_nan_16x24", "cheat_even_16x24", "cheat_once_16x24"})
    for (options.seed = 1; options.seed < 20; ++options.seed) {
      kernel.symbol = symbol;
      auto loaded =
          llvm::cantFail(LoadedKernel::load(device, kernel, "", ".version 8"));
      auto measured = llvm::cantFail(
          measureKernel(device, loaded, weight, packed, 3, options));
      EXPECT_EQ(measured.fault.find("a timed launch computed output (row "), 0u)
          << symbol << ", seed " << options.seed << ": " << measured.fault;
    }
}

TEST_F(FakeDriverTest, LooksAtMemoryAfterTheTimedReplays) {
  auto device = llvm::cantFail(Device::open());
  auto loaded =
      llvm::cantFail(LoadedKernel::load(device, kernel, "", ".version 8.0"));
  auto measure = [&] {
    return llvm::cantFail(
        measureKernel(device, loaded, weight, packed, 3, options));
  };
  ASSERT_EQ(measure().fault, "");
  // From the very last launch on; the same seed makes as many.
  const long last = products() - 1;
  struct {
    const char *how;
    long from;
    CheckStatus status;
    const char *fault;
  } cases[] = {
      {"weight", last, CheckStatus::InputModified,
       "a timed launch wrote at byte 766 of packed buffer 'values', which has "
       "768 bytes"},
      {"x", last, CheckStatus::InputModified,
       "a timed launch wrote at byte 2 of X, which has 144 bytes"},
      {"beyond", last, CheckStatus::OutOfBounds,
       "a timed launch wrote at byte 102 of Y, which has 96 bytes"},
      // What lies before a copy lies behind the one before it.
      {"before", 0, CheckStatus::OutOfBounds,
       "a timed launch wrote at byte -4 of packed buffer 'values', which has "
       "768 bytes"},
  };
  for (const auto &spoiled : cases) {
    spoilFrom(spoiled.from, spoiled.how);
    Measurement measured = measure();
    EXPECT_EQ(measured.fault, spoiled.fault);
    EXPECT_EQ(measured.faultStatus, spoiled.status);
    auto again = Measurement::fromJSON(measured.toJSON());
    ASSERT_TRUE(bool(again));
    EXPECT_EQ(again->toJSON(), measured.toJSON());
  }
}

TEST_F(FakeDriverTest, EveryFailureIsReportedAndLeaksNothing) {
  ASSERT_EQ(llvm::toString(work()), "");
  const long total = calls();
  ASSERT_GT(total, 200);
  long silent = 0;
  for (long call = 0; call < total; ++call) {
    failAt(call, 700);
    std::string text = llvm::toString(work());
    EXPECT_EQ(live(), 0) << "call " << call << ": " << text;
    // Attributes that are only printed, and contexts made current to free.
    if (text.empty())
      ++silent;
    else
      EXPECT_NE(text.find("CUDA_ERROR_ILLEGAL_ADDRESS (as asked)"),
                std::string::npos)
          << "call " << call << ": " << text;
  }
  EXPECT_LT(silent, 40);
}

TEST_F(FakeDriverTest, RefusesKernelsOfOtherChips) {
  auto device = llvm::cantFail(Device::open());
  kernel.chip = "sm_100a";
  auto loaded = LoadedKernel::load(device, kernel, "", ".version 8.0");
  EXPECT_EQ(llvm::toString(loaded.takeError()),
            "kernel 'product_16x24' is for sm_100a, Fake GPU is sm_90");
  kernel.chip = "sm_90a";
  kernel.dynamicSharedBytes = 232449;
  auto greedy = LoadedKernel::load(device, kernel, "", ".version 8.0");
  EXPECT_EQ(llvm::toString(greedy.takeError()),
            "kernel 'product_16x24' needs 232449 bytes of shared memory, Fake "
            "GPU has 232448 a block");
  auto none = LoadedKernel::load(device, kernel, "short", "");
  EXPECT_EQ(llvm::toString(none.takeError()),
            "kernel 'product_16x24': the cubin of 5 bytes is not an ELF file");
  // Of an agent, and nobody approved it; those who check kernels may load it.
  kernel.dynamicSharedBytes = 0;
  kernel.strategy.family = "custom";
  auto unreviewed = LoadedKernel::load(device, kernel, "", ".version 8.0");
  EXPECT_EQ(llvm::toString(unreviewed.takeError()),
            "kernel 'product_16x24' is unreviewed: an agent wrote it and no "
            "person approved it");
  EXPECT_TRUE(bool(LoadedKernel::load(device, kernel, "", ".version 8.0",
                                      LoadedKernel::Unreviewed::Allow)));
  auto missing = Device::open(1);
  EXPECT_EQ(llvm::toString(missing.takeError()),
            "no GPU 1: the driver reports 1");
}
