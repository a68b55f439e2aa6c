//===- FuzzTranscript.cpp - Transcripts of arbitrary bytes ---------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Agent/Transcript.h"
#include <cstdlib>

using namespace sparseditto;

static void check(bool condition) {
  if (!condition)
    std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  llvm::Expected<Transcript> transcript = Transcript::parse(text, "t");
  if (!transcript) {
    check(!llvm::toString(transcript.takeError()).empty());
    return 0;
  }
  // Every event comes from a line of its own, in order, after the header's.
  unsigned last = 1;
  for (const Transcript::Event &event : transcript->events) {
    check(event.line > last);
    check(event.fields.getString("event") == event.type);
    last = event.line;
  }
  check(last <= text.count('\n') + 1);
  return 0;
}
