//===- IsolatedTest.cpp - Compilation in a child process ------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Kernels/Manifest.h"
#include "sparseditto/Target/Compile.h"
#include "gtest/gtest.h"

using namespace sparseditto;

static IsolatedCompile compile(const std::string &text,
                               IsolationLimits limits = {},
                               llvm::StringRef chip = "sm_80") {
  return llvm::cantFail(compileKernelIsolated(
      text, *llvm::cantFail(findChip(chip)), PtxasOptions(), limits));
}

static std::string module(const std::string &body) {
  return "module { gpu.module @m { gpu.func @k(%p: !llvm.ptr<1>, %i: i32) "
         "kernel {\n" +
         body + "\ngpu.return } } }";
}

TEST(Isolated, Compiles) {
  IsolatedCompile result =
      compile(module("llvm.store %i, %p : i32, !llvm.ptr<1>"));
  ASSERT_EQ(result.outcome, CompileOutcome::Compiled) << result.diagnostic;
  EXPECT_EQ(result.diagnostic, "");
  EXPECT_NE(result.kernel.ptx.find(".visible .entry k("), std::string::npos);
  EXPECT_EQ(result.kernel.ptxVersion, 85u);
  if (result.kernel.report.available) {
    EXPECT_TRUE(result.kernel.report.ok());
    EXPECT_EQ(result.kernel.cubin.substr(1, 3), "ELF");
  }
}

TEST(Isolated, TextThatDoesNotParse) {
  IsolatedCompile result = compile("module { gpu.module @m {\n nonsense } }");
  EXPECT_EQ(result.outcome, CompileOutcome::Rejected);
  EXPECT_EQ(result.diagnostic.find("parsing the kernel failed: "), 0u)
      << result.diagnostic;
  EXPECT_NE(result.diagnostic.find("kernel.mlir:2:2: "), std::string::npos)
      << result.diagnostic;
}

TEST(Isolated, WhatThePolicyRefuses) {
  KernelManifest manifest;
  manifest.symbol = "k";
  manifest.strategy.family = "custom";
  manifest.format = "none";
  manifest.problem.m = manifest.problem.k = 64;
  manifest.args = activationArgs(manifest.problem);
  auto compile = [&](const std::string &body) {
    const std::string text =
        "module { gpu.module @m { gpu.func @k(%x: !llvm.ptr<1>, %y: "
        "!llvm.ptr<1>, %n: i32, %ldx: i32, %ldy: i32) kernel {\n" +
        body + "\ngpu.return } } }";
    return llvm::cantFail(
        compileKernelIsolated(text, *llvm::cantFail(findChip("sm_80")),
                              PtxasOptions(), {}, &manifest));
  };
  IsolatedCompile result = compile("llvm.store %n, %y : i32, !llvm.ptr<1>");
  EXPECT_EQ(result.outcome, CompileOutcome::Compiled) << result.diagnostic;
  result = compile("gpu.printf \"x\"");
  EXPECT_EQ(result.outcome, CompileOutcome::Refused);
  EXPECT_EQ(result.diagnostic.find("kernel.mlir:2:1: 'gpu.printf'"), 0u)
      << result.diagnostic;
  manifest.symbol = "other";
  result = compile("");
  EXPECT_EQ(result.outcome, CompileOutcome::Refused);
  EXPECT_NE(result.diagnostic.find("'k' is not the kernel 'other'"),
            std::string::npos)
      << result.diagnostic;
}

TEST(Isolated, WhatTheCompilerRefuses) {
  IsolatedCompile result = compile(module("nvvm.griddepcontrol wait"));
  EXPECT_EQ(result.outcome, CompileOutcome::Rejected);
  EXPECT_NE(result.diagnostic.find("needs sm_90 or newer, got sm_80"),
            std::string::npos)
      << result.diagnostic;
}

TEST(Isolated, PtxasRefusalIsInTheReport) {
  IsolatedCompile result = compile(module(
      "llvm.inline_asm has_side_effects asm_dialect = att \"bad.op;\", \"\" : "
      "() -> ()"));
  ASSERT_EQ(result.outcome, CompileOutcome::Compiled) << result.diagnostic;
  if (result.kernel.report.available) {
    EXPECT_FALSE(result.kernel.report.ok());
    EXPECT_NE(result.kernel.report.firstError(), "");
  }
}

// Two globals that hold each other's address make the NVPTX backend abort.
TEST(Isolated, AbortOfTheCompilerIsAnOutcome) {
  auto holds = [](const std::string &name, const std::string &other) {
    return "llvm.mlir.global external @" + name +
           "() : !llvm.ptr { %0 = llvm.mlir.addressof @" + other +
           " : !llvm.ptr\n llvm.return %0 : !llvm.ptr }\n";
  };
  IsolatedCompile result =
      compile("module { gpu.module @m { " + holds("a", "b") + holds("b", "a") +
              "gpu.func @k() kernel { gpu.return } } }");
  EXPECT_EQ(result.outcome, CompileOutcome::Crashed);
  EXPECT_EQ(result.diagnostic.find("the compiler died of signal 6: "), 0u)
      << result.diagnostic;
  EXPECT_NE(result.diagnostic.find("Circular dependency"), std::string::npos)
      << result.diagnostic;
}

TEST(Isolated, EndlessCompilationTimesOut) {
  // One chain of operations that depend on each other.
  std::string body;
  std::string value = "%i";
  for (int i = 0; i < 150000; ++i) {
    std::string next = "%v" + std::to_string(i);
    body += next + " = llvm.mul " + value + ", " + value + " : i32\n";
    value = next;
  }
  body += "llvm.store " + value + ", %p : i32, !llvm.ptr<1>";
  IsolationLimits limits;
  limits.timeoutSeconds = 1;
  IsolatedCompile result = compile(module(body), limits);
  EXPECT_EQ(result.outcome, CompileOutcome::TimedOut) << result.diagnostic;
  EXPECT_EQ(result.diagnostic, "compilation did not finish in 1 s");
}

TEST(Isolated, ExhaustedMemoryIsAnOutcome) {
  std::string body;
  for (int i = 0; i < 100000; ++i)
    body += "llvm.store volatile %i, %p : i32, !llvm.ptr<1>\n";
  IsolationLimits limits;
  limits.memoryBytes = 16 << 20;
  IsolatedCompile result = compile(module(body), limits);
  EXPECT_EQ(result.outcome, CompileOutcome::Crashed);
  EXPECT_NE(result.diagnostic.find("the compiler died of "), std::string::npos)
      << result.diagnostic;
}
