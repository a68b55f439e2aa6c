//===- RewritePackageTest.cpp - A rewritten kernel in a package ----------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeLoop.h"
#include "sparseditto/Agent/Transcript.h"
#include "sparseditto/Runtime/Review.h"
#include "sparseditto/Tuning/Compile.h"
#include "sparseditto/Tuning/Evaluators.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace sparseditto;
using namespace sparseditto::test;
namespace fs = llvm::sys::fs;

namespace {
/// Compiles, and says that rewritten kernels take 4 us, others 5.
class TimedEvaluator : public CompiledEvaluator {
public:
  using CompiledEvaluator::CompiledEvaluator;
  TimeSource times(const Chip &) const override { return TimeSource::Measured; }
  void judge(llvm::MutableArrayRef<Candidate> candidates,
             const Chip &) override {
    for (Candidate &candidate : candidates) {
      candidate.status = CandidateStatus::Verified;
      candidate.microseconds = timeOf(candidate);
      candidate.denseMicroseconds = 20;
      candidate.floorMicroseconds = 1;
    }
  }
  llvm::Expected<Pair> compare(const Candidate &challenger,
                               const Candidate *incumbent,
                               const Chip &) override {
    return Pair{timeOf(challenger), incumbent ? timeOf(*incumbent) : 0, 20};
  }

private:
  static double timeOf(const Candidate &candidate) {
    return candidate.proposal.rewrite ? 4 : 5;
  }
};

struct RewritePackage : ::testing::Test {
  RewritePackage() {
    llvm::SmallString<128> unique;
    EXPECT_FALSE(fs::createUniqueDirectory("sd-rewrite", unique));
    root = std::string(unique);

    product.weight = randomWeight(ElementType::F16, 64, 128, 0.1, 3);
    product.weight.name = "fc";
    product.problem.m = 64;
    product.problem.k = 128;
    proposal.strategy = findFamily("csr")->declaration().defaults();
    KernelCache cache{PtxasOptions()};
    CandidateBuilder builder(product.weight, cache);
    auto base = builder.build(proposal, product.problem, 1, chip);
    EXPECT_EQ(base.candidate.status, CandidateStatus::Compiled)
        << base.candidate.message;
    // Its first load of a vector.
    llvm::StringRef text = base.kernel->mlir;
    size_t at = text.find(" {alignment = 16 : i64} : !llvm.ptr<1> -> vector");
    EXPECT_NE(at, llvm::StringRef::npos) << text.str();
    size_t begin = text.rfind('\n', at) + 1, end = text.find('\n', at);
    edit.before = text.slice(begin, end).str();
    edit.after = edit.before;
    edit.after.insert(edit.after.find("llvm.load") + 9, " volatile");
    proposal.reason = "pins the first load";
    proposal.rewrite.emplace();
    proposal.rewrite->base = proposal.strategy;
    proposal.rewrite->symbol = base.kernel->manifest.symbol;
    proposal.rewrite->edits = {edit};

    options.chips = {&chip};
    options.outputDirectory = root + "/p";
    options.jobs = 1;
    options.choose.ns = {1};
    options.choose.families = {"csr"};
    options.choose.loop.allowRewrites = true;
    options.choose.sources = llvm::cantFail(SourceChain::create(
        "fake",
        [this](llvm::StringRef)
            -> llvm::Expected<std::unique_ptr<ProposalSource>> {
          return std::make_unique<FakeSource>(
              [this](const ProposalState &,
                     unsigned) -> llvm::Expected<std::vector<Proposal>> {
                return asked++ ? std::vector<Proposal>()
                               : std::vector<Proposal>{proposal};
              });
        }));
    options.makeEvaluator = [](const Matrix &, const Problem &problem,
                               CandidateBuilder &builder) {
      return std::make_unique<TimedEvaluator>(problem, builder);
    };
  }
  ~RewritePackage() override { fs::remove_directories(root); }

  std::string file(const std::string &path) {
    auto buffer = llvm::MemoryBuffer::getFile(root + "/" + path);
    EXPECT_TRUE(bool(buffer)) << path;
    return buffer ? (*buffer)->getBuffer().str() : "";
  }

  const Chip &chip = *llvm::cantFail(findChip("sm_80"));
  ModelProduct product;
  Proposal proposal;
  KernelEdit edit;
  CompileOptions options;
  std::string root;
  int asked = 0;
};
} // namespace

TEST_F(RewritePackage, TheWinnerIsKeptAndUnreviewed) {
  auto result = compileProducts(product, options);
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  auto package = readPackage(options.outputDirectory);
  ASSERT_TRUE(bool(package)) << llvm::toString(package.takeError());
  const PackageLayer &layer = package->layers.at(0);
  ASSERT_EQ(layer.kernels.size(), 1u);
  const KernelManifest &kernel = layer.kernels[0];
  EXPECT_EQ(kernel.symbol.find("sd_custom_"), 0u);
  EXPECT_EQ(kernel.strategy.family, "custom");
  ASSERT_TRUE(kernel.custom);
  EXPECT_EQ(kernel.custom->base, proposal.strategy);
  EXPECT_EQ(kernel.custom->reason.find(proposal.reason), 0u)
      << kernel.custom->reason;
  EXPECT_EQ(llvm::cantFail(reviewOf(*package, kernel)), Review::Unreviewed);
  EXPECT_EQ(layer.plan.at(0).symbol, kernel.symbol);
  EXPECT_EQ(layer.plan.at(0).strategy, proposal.strategy);
  // It reads its base's packed copy, and there is no other.
  ASSERT_EQ(layer.packed.size(), 1u);
  EXPECT_EQ(layer.packed[0].format, kernel.format);

  EXPECT_NE(file("p/" + kernel.mlirFile).find(edit.after), std::string::npos);
  const std::string diff = file("p/" + kernel.custom->diffFile);
  EXPECT_NE(diff.find("\n-" + edit.before + "\n+" + edit.after + "\n"),
            std::string::npos)
      << diff;
  // Nothing but the edit and three lines around it: not the kernel's name.
  EXPECT_EQ(llvm::count(diff, '\n'), 9) << diff;
  EXPECT_NE(file("p/plan.mlir")
                .find("// " + kernel.symbol +
                      " for sm_80 is "
                      "rewritten; its base stands here."),
            std::string::npos);
  // Its record has the kernel's id, and no id of its base.
  ASSERT_EQ(result->records.size(), 2u);
  EXPECT_EQ(result->records[0].find("\"id\":\"" + kernel.recordId + "\""),
            std::string::npos);
  EXPECT_NE(result->records[1].find("\"id\":\"" + kernel.recordId + "\""),
            std::string::npos)
      << result->records[1];
  EXPECT_NE(result->records[1].find("\"us\":4"), std::string::npos);
}

TEST_F(RewritePackage, ProductionDoesNotTakeIt) {
  options.production = true;
  auto result = compileProducts(product, options);
  ASSERT_FALSE(bool(result));
  EXPECT_NE(llvm::toString(result.takeError()).find("is unreviewed"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(options.outputDirectory));
}

TEST_F(RewritePackage, AReplayWritesTheSame) {
  auto writer = llvm::cantFail(TranscriptWriter::create(
      root + "/t.jsonl", "test", llvm::json::Object{{"agent", "fake"}}));
  options.choose.events = writer.get();
  ASSERT_TRUE(bool(compileProducts(product, options)));
  llvm::cantFail(writer->finish());

  auto recorded = llvm::cantFail(Transcript::read(root + "/t.jsonl"));
  options.choose.events = nullptr;
  options.choose.sources = nullptr;
  options.choose.replay = &recorded;
  options.makeEvaluator = nullptr; // Nothing is timed any more.
  options.outputDirectory = root + "/r";
  auto result = compileProducts(product, options);
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  EXPECT_EQ(asked, 2);

  auto package = llvm::cantFail(readPackage(root + "/p"));
  const KernelManifest &kernel = package.layers[0].kernels[0];
  ASSERT_TRUE(kernel.custom);
  std::vector<std::string> files = {"manifest.json", "weights.safetensors",
                                    "plan.mlir",     kernel.mlirFile,
                                    kernel.ptxFile,  kernel.custom->diffFile};
  if (!kernel.cubinFile.empty())
    files.push_back(kernel.cubinFile);
  for (const std::string &name : files)
    EXPECT_EQ(file("p/" + name), file("r/" + name)) << name;
}
