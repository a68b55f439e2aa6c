//===- PtxasTest.cpp - Finding and running ptxas --------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Target/Ptxas.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <cstdlib>

using namespace sparseditto;

namespace {
/// A directory with programs that behave like a ptxas in trouble. It is also
/// the temporary directory, so that what is left behind can be seen.
class FakePtxas : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(
        llvm::sys::fs::createUniqueDirectory("sparseditto-test", directory));
    keep("TMPDIR", std::string(directory));
  }
  void TearDown() override {
    for (auto &[name, value] : kept)
      value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
    llvm::sys::fs::remove_directories(directory);
  }

  /// Sets (or, with nothing, unsets) a variable until the end of the test.
  void keep(const std::string &name, std::optional<std::string> value) {
    const char *old = std::getenv(name.c_str());
    kept.emplace_back(name,
                      old ? std::optional<std::string>(old) : std::nullopt);
    value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
  }

  std::string program(llvm::StringRef name, llvm::StringRef script) {
    llvm::SmallString<128> path(directory);
    llvm::sys::path::append(path, name);
    llvm::sys::fs::create_directories(llvm::sys::path::parent_path(path));
    std::error_code error;
    llvm::raw_fd_ostream os(path, error);
    EXPECT_FALSE(error);
    os << "#!/bin/sh\n" << script << "\n";
    os.close();
    llvm::sys::fs::setPermissions(path, llvm::sys::fs::all_all);
    return std::string(path);
  }

  PtxasReport run(const std::string &path, unsigned timeout = 20) {
    PtxasOptions options;
    options.path = path;
    options.timeoutSeconds = timeout;
    return llvm::cantFail(runPtxas(".version 8.5\n", "sm_80", options, &cubin));
  }

  unsigned directoriesLeft() {
    unsigned count = 0;
    std::error_code error;
    for (llvm::sys::fs::directory_iterator it(directory, error), end;
         it != end && !error; it.increment(error))
      count += llvm::sys::fs::is_directory(it->path());
    return count;
  }

  llvm::SmallString<128> directory;
  std::string cubin;

private:
  std::vector<std::pair<std::string, std::optional<std::string>>> kept;
};
} // namespace

static const char copyInput[] = R"(
while [ $# -gt 0 ]; do
  case "$1" in
    -o) out=$2; shift ;;
    *.ptx) in=$1 ;;
  esac
  echo "arg $1"
  shift
done
cp "$in" "$out"
echo "ptxas info    : Compiling entry function 'k' for 'sm_80'"
echo "ptxas info    : Used 9 registers" >&2
)";

TEST_F(FakePtxas, PassesTheTextAndReadsTheCubinAndTheLog) {
  PtxasReport report = run(program("ptxas", copyInput));
  EXPECT_TRUE(report.ok()) << report.log;
  EXPECT_EQ(cubin, ".version 8.5\n");
  ASSERT_NE(report.find("k", "sm_80"), nullptr);
  EXPECT_EQ(report.find("k")->registers, 9u);
  for (const char *arg : {"arg -v\n", "arg -arch=sm_80\n", "arg -O3\n"})
    EXPECT_NE(report.log.find(arg), std::string::npos) << arg;
  EXPECT_EQ(directoriesLeft(), 0u);
}

TEST_F(FakePtxas, ExtraArguments) {
  PtxasOptions options;
  options.path = program("ptxas", copyInput);
  options.optLevel = 1;
  options.extraArgs = {"--maxrregcount=64", "--opt=a b"};
  PtxasReport report = llvm::cantFail(runPtxas("x", "sm_80", options, nullptr));
  EXPECT_TRUE(report.ok());
  for (const char *arg :
       {"arg -O1\n", "arg --maxrregcount=64\n", "arg --opt=a b\n"})
    EXPECT_NE(report.log.find(arg), std::string::npos) << arg;
}

TEST_F(FakePtxas, Hangs) {
  PtxasReport report = run(program("ptxas", "sleep 60 & wait"), /*timeout=*/1);
  EXPECT_TRUE(report.timedOut);
  EXPECT_FALSE(report.ok());
  EXPECT_EQ(report.firstError(), "ptxas did not finish in 1 s and was killed");
  EXPECT_GE(report.seconds, 1.0);
  EXPECT_LT(report.seconds, 10.0);
  EXPECT_EQ(directoriesLeft(), 0u);
}

TEST_F(FakePtxas, Floods) {
  PtxasReport report =
      run(program("ptxas", "while :; do echo 'ptxas error   : no'; done"),
          /*timeout=*/2);
  EXPECT_TRUE(report.timedOut);
  EXPECT_LE(report.log.size(), size_t(4) << 20);
  EXPECT_FALSE(report.messages.empty());
}

TEST_F(FakePtxas, DiesOfASignal) {
  PtxasReport report = run(program("ptxas", "kill -SEGV $$"));
  EXPECT_FALSE(report.ok());
  EXPECT_FALSE(report.timedOut);
  EXPECT_EQ(report.exitCode, 139);
  EXPECT_EQ(report.firstError(), "ptxas died of signal 11");
  EXPECT_EQ(directoriesLeft(), 0u);
}

TEST_F(FakePtxas, FailsAsItDoes) {
  PtxasReport report = run(program(
      "ptxas", "echo \"ptxas $5, line 3; error   : Unknown symbol 'x'\" >&2\n"
               "exit 255"));
  EXPECT_EQ(report.exitCode, 255);
  EXPECT_EQ(report.firstError(), "line 3: Unknown symbol 'x'");
  EXPECT_EQ(cubin, "");
}

TEST_F(FakePtxas, SucceedsWithoutACubin) {
  PtxasReport report = run(program("ptxas", "exit 0"));
  EXPECT_FALSE(report.ok());
  EXPECT_EQ(report.firstError(), "ptxas reported success but wrote no cubin");
}

TEST_F(FakePtxas, CannotBeRun) {
  PtxasOptions options;
  options.path = std::string(directory) + "/nothing";
  auto report = runPtxas("x", "sm_80", options, nullptr);
  ASSERT_FALSE(bool(report));
  EXPECT_EQ(llvm::toString(report.takeError()),
            "cannot run '" + options.path + "': No such file or directory");
  EXPECT_EQ(directoriesLeft(), 0u);
}

TEST_F(FakePtxas, SearchOrder) {
  std::string stated = program("stated", ""),
              home = program("home/bin/ptxas", ""),
              path = program("path/bin/ptxas", ""),
              root = program("root/bin/ptxas", ""),
              onPath = program("search/ptxas", "");
  std::string base(directory);
  keep("SPARSEDITTO_PTXAS", stated);
  keep("CUDA_HOME", base + "/home");
  keep("CUDA_PATH", base + "/path");
  keep("CUDA_ROOT", base + "/root");
  keep("PATH", base + "/search");
  EXPECT_EQ(findPtxas(), stated);
  // What was asked for and is not there is not replaced by another one.
  setenv("SPARSEDITTO_PTXAS", (base + "/missing").c_str(), 1);
  EXPECT_EQ(findPtxas(), "");
  unsetenv("SPARSEDITTO_PTXAS");
  EXPECT_EQ(findPtxas(), home);
  setenv("CUDA_HOME", (base + "/missing").c_str(), 1);
  EXPECT_EQ(findPtxas(), path);
  unsetenv("CUDA_PATH");
  EXPECT_EQ(findPtxas(), root);
  unsetenv("CUDA_ROOT");
  EXPECT_EQ(findPtxas(), onPath);
}

TEST_F(FakePtxas, NotAvailableIsAReport) {
  keep("SPARSEDITTO_PTXAS", std::string(directory) + "/missing");
  PtxasReport report =
      llvm::cantFail(runPtxas("x", "sm_80", PtxasOptions(), &cubin));
  EXPECT_FALSE(report.available);
  EXPECT_FALSE(report.ok());
}

TEST_F(FakePtxas, Version) {
  auto version = [&](llvm::StringRef release) {
    return ptxasVersion(program(
        "ptxas", ("echo 'Cuda compilation tools, " + release + "'").str()));
  };
  PtxasVersion cuda13 = llvm::cantFail(version("release 13.0, V13.0.88"));
  EXPECT_EQ(cuda13.major, 13u);
  EXPECT_EQ(cuda13.minor, 0u);
  EXPECT_EQ(cuda13.maxPtx, 90u);
  EXPECT_EQ(llvm::cantFail(version("release 12.6, V12.6.20")).maxPtx, 85u);
  EXPECT_EQ(llvm::cantFail(version("release 12.4, V12.4.99")).maxPtx, 84u);
  EXPECT_EQ(llvm::cantFail(version("release 11.8, V11.8.89")).maxPtx, 78u);
  for (const char *text : {"version 13.0", "release x", "release 13", ""}) {
    auto bad = version(text);
    ASSERT_FALSE(bool(bad)) << text;
    std::string error = llvm::toString(bad.takeError());
    EXPECT_NE(error.find("expected \"release MAJOR.MINOR\""), std::string::npos)
        << error;
  }
}

// The real one, where there is one.
TEST(RealPtxas, VersionAndLog) {
  std::string path = findPtxas();
  if (path.empty())
    GTEST_SKIP() << "no ptxas";
  PtxasVersion version = llvm::cantFail(ptxasVersion(path));
  EXPECT_GE(version.major, 12u);
  PtxasOptions options;
  options.path = path;
  std::string cubin;
  PtxasReport report =
      llvm::cantFail(runPtxas(".version 7.0\n.target sm_80\n.address_size 64\n"
                              ".visible .entry k() { ret; }\n",
                              "sm_80", options, &cubin));
  EXPECT_TRUE(report.ok()) << report.log;
  EXPECT_EQ(cubin.substr(1, 3), "ELF");
  ASSERT_NE(report.find("k", "sm_80"), nullptr);
  PtxasReport bad =
      llvm::cantFail(runPtxas(".version 7.0\n.target sm_80\n.address_size 64\n"
                              ".visible .entry k() {\n bad; ret; }\n",
                              "sm_80", options, &cubin));
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.firstError().find("line 5: "), 0u) << bad.firstError();
}
