//===- CublasLt.cpp - The dense peer --------------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/CublasLt.h"
#include "sparseditto/Runtime/CudaLibraries.h"

using namespace sparseditto;

static llvm::Error fail(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

// The few numbers of cublasLt.h and library_types.h that we pass.
namespace {
using Status = int;
enum DataType : int { R32F = 0, R16F = 2, R16BF = 14 };
enum : int { Compute32F = 68 };
enum : int { OpN = 0, OpT = 1 };
enum : int { DescTransA = 3, DescTransB = 4 };
enum : int { PreferenceMaxWorkspaceBytes = 1 };

using Handle = struct HandleOpaque *;
using MatmulDesc = struct MatmulDescOpaque *;
using MatrixLayout = struct MatrixLayoutOpaque *;
using Preference = struct PreferenceOpaque *;

struct Algorithm {
  uint64_t data[8];
};
struct HeuristicResult {
  Algorithm algorithm;
  size_t workspaceSize;
  Status state;
  float wavesCount;
  int reserved[4];
};
static_assert(sizeof(HeuristicResult) == 96, "layout of cublasLt.h");
} // namespace

struct CublasLt::Api {
  SharedLibrary library;
  Handle handle = nullptr;

  size_t (*getVersion)() = nullptr;
  const char *(*getStatusName)(Status) = nullptr;
  Status (*create)(Handle *) = nullptr;
  Status (*descCreate)(MatmulDesc *, int, int) = nullptr;
  Status (*descDestroy)(MatmulDesc) = nullptr;
  Status (*descSet)(MatmulDesc, int, const void *, size_t) = nullptr;
  Status (*layoutCreate)(MatrixLayout *, int, uint64_t, uint64_t,
                         int64_t) = nullptr;
  Status (*layoutDestroy)(MatrixLayout) = nullptr;
  Status (*preferenceCreate)(Preference *) = nullptr;
  Status (*preferenceDestroy)(Preference) = nullptr;
  Status (*preferenceSet)(Preference, int, const void *, size_t) = nullptr;
  Status (*heuristic)(Handle, MatmulDesc, MatrixLayout, MatrixLayout,
                      MatrixLayout, MatrixLayout, Preference, int,
                      HeuristicResult *, int *) = nullptr;
  Status (*matmul)(Handle, MatmulDesc, const void *, const void *, MatrixLayout,
                   const void *, MatrixLayout, const void *, const void *,
                   MatrixLayout, void *, MatrixLayout, const Algorithm *,
                   void *, size_t, cuda::StreamHandle) = nullptr;

  llvm::Error check(Status status, const char *what) const {
    if (status == 0)
      return llvm::Error::success();
    const char *name = getStatusName ? getStatusName(status) : nullptr;
    return fail(
        std::string(what) + " failed: " +
        (name ? std::string(name) : "cuBLAS status " + std::to_string(status)));
  }
};

llvm::Error CublasLt::load() {
  table = std::make_shared<Api>();
  auto library = SharedLibrary::open(cudaLibraryNames("cublasLt", {13, 12}));
  if (!library)
    return library.takeError();
  table->library = std::move(*library);
  const SharedLibrary &lib = table->library;
  const char *missing = nullptr;
  auto find = [&](const char *symbol, auto &function) {
    if (!lib.find(symbol, function) && !missing)
      missing = symbol;
  };
  find("cublasLtGetVersion", table->getVersion);
  find("cublasLtGetStatusName", table->getStatusName);
  find("cublasLtCreate", table->create);
  find("cublasLtMatmulDescCreate", table->descCreate);
  find("cublasLtMatmulDescDestroy", table->descDestroy);
  find("cublasLtMatmulDescSetAttribute", table->descSet);
  find("cublasLtMatrixLayoutCreate", table->layoutCreate);
  find("cublasLtMatrixLayoutDestroy", table->layoutDestroy);
  find("cublasLtMatmulPreferenceCreate", table->preferenceCreate);
  find("cublasLtMatmulPreferenceDestroy", table->preferenceDestroy);
  find("cublasLtMatmulPreferenceSetAttribute", table->preferenceSet);
  find("cublasLtMatmulAlgoGetHeuristic", table->heuristic);
  find("cublasLtMatmul", table->matmul);
  if (missing)
    return fail(lib.path() + " has no " + missing);
  return llvm::Error::success();
}

llvm::Expected<const CublasLt *> CublasLt::get() {
  struct Loaded {
    CublasLt library;
    std::string error;
  };
  // Never unloaded: the library keeps state on the device that outlives us.
  static const Loaded *loaded = [] {
    auto *result = new Loaded;
    if (llvm::Error error = result->library.load())
      result->error = llvm::toString(std::move(error));
    return result;
  }();
  if (!loaded->error.empty())
    return fail(loaded->error);
  return &loaded->library;
}

llvm::StringRef CublasLt::path() const { return table->library.path(); }

std::string CublasLt::version() const {
  // Major * 10000 + minor * 100 + patch.
  size_t version = table->getVersion();
  return std::to_string(version / 10000) + "." +
         std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

//===----------------------------------------------------------------------===//
// DenseProduct
//===----------------------------------------------------------------------===//

struct DenseProduct::Impl {
  DeviceRef device;
  const CublasLt::Api *api = nullptr;
  Handle handle = nullptr;
  MatmulDesc desc = nullptr;
  MatrixLayout a = nullptr, b = nullptr, c = nullptr;
  bool weightFirst = true; ///< W is cuBLAS's A, else its B.
  DeviceBuffer workspace;
  std::vector<HeuristicResult> found;

  ~Impl() {
    for (MatrixLayout layout : {a, b, c})
      if (layout)
        api->layoutDestroy(layout);
    if (desc)
      api->descDestroy(desc);
  }
};

DenseProduct::DenseProduct(std::unique_ptr<Impl> impl)
    : impl(std::move(impl)) {}
DenseProduct::DenseProduct(DenseProduct &&) noexcept = default;
DenseProduct::~DenseProduct() = default;

static std::optional<int> dataType(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return R32F;
  case ElementType::F16:
    return R16F;
  case ElementType::BF16:
    return R16BF;
  default:
    return std::nullopt;
  }
}

/// One library handle a process; creating one takes milliseconds and memory.
static llvm::Expected<Handle> sharedHandle(const CublasLt::Api &api) {
  static Handle handle = nullptr;
  static Status status = api.create(&handle);
  if (llvm::Error error = api.check(status, "cublasLtCreate"))
    return error;
  return handle;
}

llvm::Expected<DenseProduct> DenseProduct::create(DeviceRef device,
                                                  const Problem &problem,
                                                  int64_t n,
                                                  int maxAlgorithms) {
  std::optional<int> type = dataType(problem.type);
  std::optional<int> outputType = dataType(problem.outputType);
  if (!type || !outputType)
    return fail("no dense peer for " + name(problem.type) + " to " +
                name(problem.outputType));
  llvm::Expected<const CublasLt *> library = CublasLt::get();
  if (!library)
    return library.takeError();
  if (llvm::Error error = device->makeCurrent())
    return error;
  auto impl = std::make_unique<Impl>();
  impl->device = device;
  impl->api = &(*library)->api();
  const CublasLt::Api &api = *impl->api;
  llvm::Expected<Handle> handle = sharedHandle(api);
  if (!handle)
    return handle.takeError();
  impl->handle = *handle;

  // cuBLAS is column-major: it sees our row-major W (M x K) as K x M.
  // Token-major: Y (N x M) is its M x N = W X, with W transposed back.
  // Feature-major: Y (M x N) is its N x M = X W, nothing transposed.
  const bool tokens = problem.layout == Layout::TokenMajor;
  const uint64_t m = uint64_t(problem.m), k = uint64_t(problem.k);
  const uint64_t tokensN = uint64_t(n);
  impl->weightFirst = tokens;
  auto layout = [&](MatrixLayout &out, int elementType, uint64_t rows,
                    uint64_t cols) {
    return api.check(
        api.layoutCreate(&out, elementType, rows, cols, int64_t(rows)),
        "cublasLtMatrixLayoutCreate");
  };
  if (llvm::Error error =
          api.check(api.descCreate(&impl->desc, Compute32F, R32F),
                    "cublasLtMatmulDescCreate"))
    return error;
  int transA = tokens ? OpT : OpN, transB = OpN;
  if (llvm::Error error = api.check(
          api.descSet(impl->desc, DescTransA, &transA, sizeof(transA)),
          "cublasLtMatmulDescSetAttribute"))
    return error;
  if (llvm::Error error = api.check(
          api.descSet(impl->desc, DescTransB, &transB, sizeof(transB)),
          "cublasLtMatmulDescSetAttribute"))
    return error;
  if (tokens) {
    if (llvm::Error error = layout(impl->a, *type, k, m))
      return error;
    if (llvm::Error error = layout(impl->b, *type, k, tokensN))
      return error;
    if (llvm::Error error = layout(impl->c, *outputType, m, tokensN))
      return error;
  } else {
    if (llvm::Error error = layout(impl->a, *type, tokensN, k))
      return error;
    if (llvm::Error error = layout(impl->b, *type, k, m))
      return error;
    if (llvm::Error error = layout(impl->c, *outputType, tokensN, m))
      return error;
  }

  const size_t workspaceBytes = size_t(64) << 20;
  llvm::Expected<DeviceBuffer> workspace =
      DeviceBuffer::allocate(device, workspaceBytes);
  if (!workspace)
    return workspace.takeError();
  impl->workspace = std::move(*workspace);
  Preference preference = nullptr;
  if (llvm::Error error = api.check(api.preferenceCreate(&preference),
                                    "cublasLtMatmulPreferenceCreate"))
    return error;
  std::vector<HeuristicResult> results(size_t(std::max(1, maxAlgorithms)));
  int count = 0;
  llvm::Error error =
      api.check(api.preferenceSet(preference, PreferenceMaxWorkspaceBytes,
                                  &workspaceBytes, sizeof(workspaceBytes)),
                "cublasLtMatmulPreferenceSetAttribute");
  if (!error)
    error =
        api.check(api.heuristic(impl->handle, impl->desc, impl->a, impl->b,
                                impl->c, impl->c, preference,
                                int(results.size()), results.data(), &count),
                  "cublasLtMatmulAlgoGetHeuristic");
  api.preferenceDestroy(preference);
  if (error)
    return error;
  for (int i = 0; i < count && size_t(i) < results.size(); ++i)
    if (results[size_t(i)].state == 0 &&
        results[size_t(i)].workspaceSize <= workspaceBytes)
      impl->found.push_back(results[size_t(i)]);
  if (impl->found.empty())
    return fail("cuBLASLt has no algorithm for " + llvm::Twine(problem.m) +
                " x " + llvm::Twine(problem.k) + ", N = " + llvm::Twine(n));
  return DenseProduct(std::move(impl));
}

size_t DenseProduct::algorithms() const { return impl->found.size(); }

llvm::Error DenseProduct::run(size_t index, cuda::DevicePtr w,
                              cuda::DevicePtr x, cuda::DevicePtr y,
                              cuda::StreamHandle stream) const {
  if (llvm::Error error = impl->device->makeCurrent())
    return error;
  static const float one = 1, zero = 0;
  const HeuristicResult &choice = impl->found[index];
  const void *first = reinterpret_cast<const void *>(impl->weightFirst ? w : x);
  const void *second =
      reinterpret_cast<const void *>(impl->weightFirst ? x : w);
  void *out = reinterpret_cast<void *>(y);
  return impl->api->check(
      impl->api->matmul(impl->handle, impl->desc, &one, first, impl->a, second,
                        impl->b, &zero, out, impl->c, out, impl->c,
                        &choice.algorithm,
                        reinterpret_cast<void *>(impl->workspace.pointer()),
                        choice.workspaceSize, stream),
      "cublasLtMatmul");
}
