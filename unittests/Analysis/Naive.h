//===- Naive.h - Counting by definition -------------------------*- C++ -*-===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every count of a PatternReport from loops over elements, written from the
// definitions and sharing no code with the library.
//
//===----------------------------------------------------------------------===//

#ifndef SPARSEDITTO_UNITTESTS_ANALYSIS_NAIVE_H
#define SPARSEDITTO_UNITTESTS_ANALYSIS_NAIVE_H

#include "sparseditto/Analysis/PatternReport.h"
#include "sparseditto/IO/Matrix.h"
#include <gtest/gtest.h>

/// Fails the current test at every count that differs from the definition.
void expectCountsByDefinition(const sparseditto::Matrix &matrix,
                              const sparseditto::PatternReport &report);

#endif // SPARSEDITTO_UNITTESTS_ANALYSIS_NAIVE_H
