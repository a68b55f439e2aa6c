//===- TruthTableTest.cpp - Real weights and what they are ----------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Published matrices whose numbers were computed outside this project. Read
// below $SPARSEDITTO_TEST_DATA; skipped where that is missing.
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Analysis/Analyze.h"
#include "sparseditto/IO/TensorFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cstdlib>
#include <gtest/gtest.h>

using namespace sparseditto;

namespace {

struct Truth {
  const char *file;
  const char *tensor; ///< Empty: the only one.
  int64_t rows, cols, nnz;
  int64_t zeroRows, zeroCols, minRow, maxRow;
  Pattern pattern;
  int first = 0, second = 0; ///< n:m or block.
};

void PrintTo(const Truth &truth, std::ostream *os) {
  *os << truth.file << " " << truth.tensor;
}

constexpr Pattern dense = Pattern::Dense, none = Pattern::Unstructured,
                  nm = Pattern::NM, block = Pattern::Block,
                  channel = Pattern::Channel, banded = Pattern::Banded,
                  zero = Pattern::Zero;

#define MAGNITUDE(LEVEL)                                                       \
  "dlmc/transformer/magnitude_pruning/" LEVEL                                  \
  "/body_decoder_layer_0_encdec_attention_multihead_attention_k_fully_"        \
  "connected.smtx"
#define SQUEEZENET "squeezenet/squeezenet_deep_compression.f32.safetensors"
#define DISTILLER "distiller/checkpoint_trained_ch_regularized_dense.npz"

const Truth truths[] = {
    // Dense.
    {"lyra/lyra_16khz_means.npz", "", 512, 32, 16384, 0, 0, 32, 32, dense},
    {DISTILLER, "module.conv1.weight", 16, 27, 432, 0, 0, 27, 27, dense},
    {DISTILLER, "module.fc.weight", 10, 64, 640, 0, 0, 64, 64, dense},
    // In a folder called 0.5, but dense.
    {"dlmc/rn50/variational_dropout/0.5/initial_conv.smtx", "", 64, 147, 9043,
     0, 0, 122, 147, dense},
    // Unstructured, from half to almost nothing.
    {MAGNITUDE("0.5"), "", 512, 512, 131072, 0, 0, 169, 329, none},
    {MAGNITUDE("0.8"), "", 512, 512, 52428, 0, 0, 37, 157, none},
    {MAGNITUDE("0.9"), "", 512, 512, 26214, 0, 0, 14, 98, none},
    {MAGNITUDE("0.95"), "", 512, 512, 13107, 0, 0, 5, 52, none},
    {MAGNITUDE("0.98"), "", 512, 512, 5242, 0, 1, 1, 24, none},
    {"dlmc/transformer/random_pruning/0.5/"
     "body_decoder_layer_0_encdec_attention_multihead_attention_k_fully_"
     "connected.smtx",
     "", 512, 512, 131072, 0, 0, 228, 287, none},
    {"dlmc/rn50/magnitude_pruning/0.5/initial_conv.smtx", "", 64, 147, 4704, 0,
     0, 1, 128, none},
    {"dlmc/rn50/magnitude_pruning/0.98/initial_conv.smtx", "", 64, 147, 188, 12,
     82, 0, 16, none},
    {"dlmc/rn50/random_pruning/0.5/bottleneck_1_block_group1_1_1.smtx", "", 64,
     256, 8192, 0, 0, 110, 152, none},
    {"dlmc/rn50/magnitude_pruning/0.8/bottleneck_1_block_group1_1_1.smtx", "",
     64, 256, 3276, 0, 15, 21, 95, none},
    {"dlmc/rn50/magnitude_pruning/0.9/bottleneck_2_block_group4_1_1.smtx", "",
     512, 4608, 235929, 0, 0, 246, 752, none},
    {"dlmc/rn50/magnitude_pruning/0.95/final_dense.smtx", "", 1000, 2048,
     102400, 0, 0, 51, 191, none},
    {"dlmc/rn50/extended_magnitude_pruning/0.98/"
     "bottleneck_projection_block_group_projection_block_group4.smtx",
     "", 2048, 1024, 41943, 0, 0, 1, 52, none},
    {"dlmc/transformer/l0_regularization/0.8/body_decoder_layer_0_ffn_conv2."
     "smtx",
     "", 512, 2048, 265406, 0, 0, 312, 1112, none},
    {"dlmc/transformer/magnitude_pruning/0.98/symbol_modality_33288_512_shared_"
     ".smtx",
     "", 33288, 512, 340867, 0, 0, 1, 71, none},
    {"squeezenet/fire9_expand3x3.oihw.f32.npy", "", 256, 576, 44173, 0, 0, 96,
     248, none},
    // Skewed rows, and next to nothing.
    {"dlmc/transformer/variational_dropout/0.9/body_encoder_layer_5_ffn_conv1."
     "smtx",
     "", 2048, 512, 16100, 1802, 5, 0, 135, none},
    {"dlmc/transformer/variational_dropout/0.98/body_encoder_layer_2_ffn_conv1."
     "smtx",
     "", 2048, 512, 159, 2045, 405, 0, 84, none},
    // Nothing.
    {"dlmc/transformer/variational_dropout/0.98/body_encoder_layer_0_ffn_conv1."
     "smtx",
     "", 2048, 512, 0, 2048, 512, 0, 0, zero},
    // Blocks.
    {"lyra/lyra_16khz_conv_to_gates.npz", "", 3072, 1024, 251664, 308, 0, 0,
     1016, block, 4, 4},
    {"lyra/lyra_16khz_conv1d.npz", "", 512, 480, 19664, 4, 160, 0, 92, block, 4,
     4},
    {"lyra/lyra_16khz_conv1d.npy", "", 512, 480, 19664, 4, 160, 0, 92, block, 4,
     4},
    {"lyra/lyra_16khz_transpose_0.npz", "", 1024, 512, 41936, 12, 0, 0, 148,
     block, 4, 4},
    {"lyra/768_512_95_4x4_coarseproj.npz", "", 512, 512, 12976, 4, 200, 0, 64,
     block, 4, 4},
    {"lyra/768_512_95_4x4_fineproj.npz", "", 512, 512, 12432, 44, 336, 0, 60,
     block, 4, 4},
    {"lyra/lyra_16khz_gru_layer.npz", "", 3072, 1024, 196608, 0, 0, 64, 64,
     block, 64, 64},
    // Whole rows of a tall and narrow matrix.
    {"lyra/lyra_16khz_ar_to_gates.npy", "", 3072, 4, 11056, 308, 0, 0, 4,
     channel},
    // Input channels of convolutions.
    {DISTILLER, "module.layer1.0.conv2.weight", 16, 144, 1584, 0, 45, 99, 99,
     channel},
    {DISTILLER, "module.layer1.1.conv2.weight", 16, 144, 1152, 0, 72, 72, 72,
     channel},
    {DISTILLER, "module.layer1.2.conv2.weight", 16, 144, 1152, 0, 72, 72, 72,
     channel},
    {DISTILLER, "module.layer2.0.conv2.weight", 32, 288, 6624, 0, 81, 207, 207,
     channel},
    {DISTILLER, "module.layer2.1.conv2.weight", 32, 288, 5184, 0, 126, 162, 162,
     channel},
    {DISTILLER, "module.layer3.0.conv2.weight", 64, 576, 29376, 0, 117, 459,
     459, channel},
    {DISTILLER, "module.layer3.1.conv2.weight", 64, 576, 29952, 0, 108, 468,
     468, channel},
    // N:M, of which only one is 2:4.
    {"suitesparse/dnn_data/n1024-l1.mtx", "", 1024, 1024, 32768, 0, 0, 32, 32,
     nm, 2, 64},
    {"suitesparse/dnn_data/n1024-l2.mtx", "", 1024, 1024, 32768, 0, 0, 32, 32,
     nm, 2, 64},
    {"suitesparse/dnn_data/n1024-l6.mtx", "", 1024, 1024, 32768, 0, 0, 32, 32,
     nm, 1, 32},
    {"mlir-tensors/ds.mtx", "", 3, 8, 12, 0, 1, 4, 4, nm, 2, 4},
    // Bands.
    {"suitesparse/olm1000.mtx", "", 1000, 1000, 3996, 0, 0, 2, 6, banded},
    {"suitesparse/LFAT5.mtx", "", 14, 14, 46, 0, 0, 2, 5, banded},
    {"suitesparse/bcsstk13.mtx", "", 2003, 2003, 83883, 0, 0, 5, 95, banded},
    // Explicit zeros in the file.
    {"suitesparse/zenios.mtx", "", 2873, 2873, 1314, 2605, 2605, 0, 14, none},
    // One model, four regimes.
    {SQUEEZENET, "conv1", 96, 147, 13902, 0, 0, 138, 147, dense},
    {SQUEEZENET, "fire2_squeeze1x1", 16, 96, 1528, 0, 0, 94, 96, dense},
    {SQUEEZENET, "fire2_expand1x1", 64, 16, 1020, 0, 0, 15, 16, dense},
    {SQUEEZENET, "fire2_expand3x3", 64, 144, 3039, 0, 0, 30, 88, none},
    {SQUEEZENET, "fire3_squeeze1x1", 16, 128, 2038, 0, 0, 126, 128, dense},
    {SQUEEZENET, "fire3_expand1x1", 64, 16, 1023, 0, 0, 15, 16, dense},
    {SQUEEZENET, "fire3_expand3x3", 64, 144, 3039, 0, 0, 29, 97, none},
    {SQUEEZENET, "fire4_squeeze1x1", 32, 128, 4085, 0, 0, 126, 128, dense},
    {SQUEEZENET, "fire4_expand1x1", 128, 32, 4071, 0, 0, 29, 32, dense},
    {SQUEEZENET, "fire4_expand3x3", 128, 288, 12156, 0, 0, 51, 122, none},
    {SQUEEZENET, "fire5_squeeze1x1", 32, 256, 8160, 0, 0, 251, 256, dense},
    {SQUEEZENET, "fire5_expand1x1", 128, 32, 4067, 0, 0, 29, 32, dense},
    {SQUEEZENET, "fire5_expand3x3", 128, 288, 12147, 0, 0, 46, 149, none},
    {SQUEEZENET, "fire6_squeeze1x1", 48, 256, 12161, 0, 0, 250, 256, dense},
    {SQUEEZENET, "fire6_expand1x1", 192, 48, 4602, 0, 0, 11, 33, none},
    {SQUEEZENET, "fire6_expand3x3", 192, 432, 27325, 0, 0, 99, 199, none},
    {SQUEEZENET, "fire7_squeeze1x1", 48, 384, 9205, 0, 0, 92, 235, none},
    {SQUEEZENET, "fire7_expand1x1", 192, 48, 9129, 1, 0, 0, 48, dense},
    {SQUEEZENET, "fire7_expand3x3", 192, 432, 27336, 0, 0, 80, 227, none},
    {SQUEEZENET, "fire8_squeeze1x1", 64, 384, 24388, 0, 1, 352, 383, dense},
    {SQUEEZENET, "fire8_expand1x1", 256, 64, 8187, 0, 0, 5, 46, none},
    {SQUEEZENET, "fire8_expand3x3", 256, 576, 44144, 0, 0, 99, 251, none},
    {SQUEEZENET, "fire9_squeeze1x1", 64, 512, 16370, 0, 0, 159, 315, none},
    {SQUEEZENET, "fire9_expand1x1", 256, 64, 16303, 0, 0, 61, 64, dense},
    {SQUEEZENET, "fire9_expand3x3", 256, 576, 44173, 0, 0, 96, 248, none},
    {SQUEEZENET, "conv10", 1000, 512, 102323, 0, 0, 35, 167, none},
};

std::string dataRoot() {
  if (const char *path = std::getenv("SPARSEDITTO_TEST_DATA"))
    return path;
  return SPARSEDITTO_SOURCE_DIR "/../shared/data";
}

/// The report of one tensor of a real file; fails the test if it cannot be
/// made.
std::optional<PatternReport> analyzeReal(llvm::StringRef file,
                                         llvm::StringRef tensor,
                                         bool transposed = false) {
  std::string path = dataRoot() + "/" + file.str();
  auto failed = [&](llvm::Error error) {
    ADD_FAILURE() << path << ": " << llvm::toString(std::move(error));
    return std::nullopt;
  };
  llvm::Expected<std::unique_ptr<TensorFile>> opened = TensorFile::open(path);
  if (!opened)
    return failed(opened.takeError());
  std::optional<size_t> index = 0;
  if (!tensor.empty())
    index = (*opened)->find(tensor);
  if (!index) {
    ADD_FAILURE() << path << " has no tensor " << tensor.str();
    return std::nullopt;
  }
  llvm::Expected<Matrix> matrix = (*opened)->load(*index);
  if (matrix && transposed)
    matrix = matrix->transposed();
  if (!matrix)
    return failed(matrix.takeError());
  llvm::Expected<PatternReport> report = analyze(*matrix);
  if (!report)
    return failed(report.takeError());
  return std::move(*report);
}

class TruthTable : public testing::Test {
protected:
  void SetUp() override {
    if (!llvm::sys::fs::is_directory(dataRoot()))
      GTEST_SKIP() << "no test data at " << dataRoot();
  }
};

class TruthRow : public testing::TestWithParam<Truth> {
protected:
  void SetUp() override {
    if (!llvm::sys::fs::is_directory(dataRoot()))
      GTEST_SKIP() << "no test data at " << dataRoot();
  }
};

TEST_P(TruthRow, Holds) {
  const Truth &truth = GetParam();
  std::optional<PatternReport> report = analyzeReal(truth.file, truth.tensor);
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->rows, truth.rows);
  EXPECT_EQ(report->cols, truth.cols);
  EXPECT_EQ(report->nnz, truth.nnz);
  EXPECT_EQ(report->rowCounts.zeros, truth.zeroRows);
  EXPECT_EQ(report->colCounts.zeros, truth.zeroCols);
  EXPECT_EQ(report->rowCounts.min, truth.minRow);
  EXPECT_EQ(report->rowCounts.max, truth.maxRow);
  EXPECT_EQ(name(report->pattern), name(truth.pattern)) << report->reason;
  if (truth.pattern == nm) {
    EXPECT_EQ(report->nmN, truth.first);
    EXPECT_EQ(report->nmM, truth.second);
    EXPECT_EQ(report->nmAxis, Axis::Rows);
    const NMStats *stats = report->findNM(truth.second, Axis::Rows);
    EXPECT_EQ(stats->minPerGroup, truth.first);
    EXPECT_EQ(stats->maxPerGroup, truth.first);
  }
  if (truth.pattern == block) {
    EXPECT_EQ(report->blockR, truth.first);
    EXPECT_EQ(report->blockC, truth.second);
    EXPECT_EQ(report->findBlock(truth.first, truth.second)->fill, 1.0);
  }
  // Whole input channels of the 3x3 convolutions.
  if (truth.pattern == channel && truth.zeroCols != 0) {
    EXPECT_EQ(report->channelGroup, 9);
    EXPECT_EQ(report->zeroChannelGroups, truth.zeroCols / 9);
  }
}

std::string rowName(const testing::TestParamInfo<Truth> &info) {
  std::string text =
      llvm::sys::path::stem(info.param.file).str() + "_" + info.param.tensor;
  for (char &c : text)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = '_';
  return text + "_" + std::to_string(info.index);
}

INSTANTIATE_TEST_SUITE_P(RealWeights, TruthRow, testing::ValuesIn(truths),
                         rowName);

TEST_F(TruthTable, HalfPrunedLayersAreAlmostButNotTwoFour) {
  // 68 % of the groups of four hold at most two: as many as chance leaves.
  struct {
    const char *file, *tensor;
    double share;
  } cases[] = {{MAGNITUDE("0.5"), "", 0.684},
               {SQUEEZENET, "fire9_squeeze1x1", 0.680},
               {SQUEEZENET, "fire8_expand1x1", 0.682}};
  for (auto &one : cases) {
    std::optional<PatternReport> report = analyzeReal(one.file, one.tensor);
    ASSERT_TRUE(report.has_value());
    const NMStats *four = report->findNM(4, Axis::Rows);
    EXPECT_NEAR(1 - double(four->violatingGroups) / double(four->groups),
                one.share, 0.0005);
    EXPECT_FALSE(report->satisfies24());
  }
}

TEST_F(TruthTable, FourGroupsOfSixtyFiveThousandBreakTwoFour) {
  std::optional<PatternReport> report = analyzeReal(MAGNITUDE("0.98"), "");
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->findNM(4, Axis::Rows)->violatingGroups, 4);
  EXPECT_EQ(report->findNM(4, Axis::Rows)->groups, 65536);
  EXPECT_FALSE(report->satisfies24());
}

TEST_F(TruthTable, OneOfThirtyTwoSatisfiesTwoFourButIsNotIt) {
  std::optional<PatternReport> report =
      analyzeReal("suitesparse/dnn_data/n1024-l6.mtx", "");
  ASSERT_TRUE(report.has_value());
  EXPECT_TRUE(report->satisfies24());
  EXPECT_EQ(report->findNM(32, Axis::Cols)->minPerGroup, 1);
  EXPECT_EQ(report->findNM(32, Axis::Cols)->maxPerGroup, 1);
}

TEST_F(TruthTable, NegativeZerosArePruned) {
  std::optional<PatternReport> report =
      analyzeReal(DISTILLER, "module.layer2.1.conv2.weight");
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->negativeZeros, 1942);
  report = analyzeReal("lyra/768_512_95_4x4_coarseproj.npz", "");
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->negativeZeros, 124502);
  report = analyzeReal("lyra/768_512_95_4x4_fineproj.npz", "");
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->negativeZeros, 131882);
}

TEST_F(TruthTable, BlockDiagonalLayer) {
  std::optional<PatternReport> report =
      analyzeReal("lyra/lyra_16khz_gru_layer.npz", "");
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->blockDiagonal, 64);
  const BlockStats *stats = report->findBlock(64, 64);
  EXPECT_EQ(stats->blocks, 768);
  EXPECT_EQ(stats->nonZeroBlocks, 48);
  EXPECT_EQ(stats->fullBlocks, 48);
}

TEST_F(TruthTable, BlocksSurviveTransposition) {
  std::optional<PatternReport> report =
      analyzeReal("lyra/lyra_16khz_conv1d.npy", "", /*transposed=*/true);
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->pattern, Pattern::Block);
  EXPECT_EQ(report->blockR, 4);
  EXPECT_EQ(report->blockC, 4);
  EXPECT_LT(report->findBlock(8, 8)->fill, 0.5);
}

TEST_F(TruthTable, LargestValue) {
  std::optional<PatternReport> report =
      analyzeReal("lyra/lyra_16khz_ar_to_gates.npy", "");
  ASSERT_TRUE(report.has_value());
  EXPECT_NEAR(report->maxAbs, 7138, 1);
}

} // namespace
