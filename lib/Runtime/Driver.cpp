//===- Driver.cpp - The CUDA driver, if there is one ----------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/Driver.h"
#include "sparseditto/Support/SharedLibrary.h"

using namespace sparseditto;

static llvm::Error fail(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

llvm::Error Driver::load() {
  auto library = SharedLibrary::open({std::string("libcuda.so.1")});
  if (!library)
    return fail("no CUDA driver: " + llvm::toString(library.takeError()));
  const char *missing = nullptr;
#define SPARSEDITTO_CUDA_LOAD(field, symbol, parameters)                       \
  if (!library->find(#symbol, field) && !missing)                              \
    missing = #symbol;
  SPARSEDITTO_CUDA_FUNCTIONS(SPARSEDITTO_CUDA_LOAD)
#undef SPARSEDITTO_CUDA_LOAD
  // Driver threads may outlive any owner we could give it.
  static SharedLibrary *kept = new SharedLibrary(std::move(*library));
  if (missing)
    return fail("the CUDA driver " + kept->path() + " has no " + missing +
                "; a driver for CUDA 12.0 or newer is needed");
  if (llvm::Error error = check(init(0), "cuInit"))
    return fail("the CUDA driver has no usable GPU: " +
                llvm::toString(std::move(error)));
  return check(driverGetVersion(&driverVersion), "cuDriverGetVersion");
}

llvm::Expected<const Driver *> Driver::get() {
  struct Loaded {
    Driver driver;
    std::string error;
  };
  static const Loaded *loaded = [] {
    auto *result = new Loaded;
    if (llvm::Error error = result->driver.load())
      result->error = llvm::toString(std::move(error));
    return result;
  }();
  if (!loaded->error.empty())
    return fail(loaded->error);
  return &loaded->driver;
}

std::string Driver::describe(cuda::Result result) const {
  const char *name = nullptr, *text = nullptr;
  std::string description;
  if (getErrorName && getErrorName(result, &name) == 0 && name)
    description = name;
  else
    description = "CUDA error " + std::to_string(result);
  if (getErrorString && getErrorString(result, &text) == 0 && text)
    description += std::string(" (") + text + ")";
  return description;
}

llvm::Error Driver::check(cuda::Result result, const char *what) const {
  if (result == 0)
    return llvm::Error::success();
  return fail(std::string(what) + " failed: " + describe(result));
}

unsigned sparseditto::maxPtxOfDriver(int driverVersion) {
  int major = driverVersion / 1000, minor = driverVersion % 1000 / 10;
  // CUDA 11.n reads PTX 7.n, 12.n reads 8.n; from 13.0 on PTX counts from 9.0.
  return major < 11 ? 0 : unsigned((major - 4) * 10 + minor);
}
