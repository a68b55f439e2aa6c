//===- Doctor.cpp - What this machine can do ------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Runtime/Doctor.h"
#include "sparseditto/Runtime/CublasLt.h"
#include "sparseditto/Runtime/CudaLibraries.h"
#include "sparseditto/Runtime/Device.h"
#include "sparseditto/Runtime/NcuReport.h"
#include "sparseditto/Runtime/Timing.h"
#include "sparseditto/Runtime/WorkerProcess.h"
#include "sparseditto/Target/ComputeSanitizer.h"
#include "sparseditto/Target/Ptxas.h"
#include "sparseditto/Target/Sass.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <unistd.h>

using namespace sparseditto;
namespace json = llvm::json;

const Finding *Diagnosis::find(llvm::StringRef key) const {
  for (const Finding &finding : findings)
    if (finding.key == key)
      return &finding;
  return nullptr;
}

json::Value Diagnosis::toJSON() const {
  json::Object object{{"schema", 1}};
  for (const Finding &finding : findings) {
    json::Object entry(finding.facts);
    entry["found"] = finding.found;
    entry["detail"] = json::fixUTF8(finding.detail);
    entry["enables"] = finding.enables;
    object[finding.key] = std::move(entry);
  }
  if (floor)
    object["floor"] = floor->toJSON();
  return object;
}

static std::string dotted(unsigned version) {
  return std::to_string(version / 10) + "." + std::to_string(version % 10);
}

static Finding missing(llvm::StringRef key, llvm::StringRef title,
                       llvm::StringRef enables, llvm::Error error) {
  return {key.str(),     title.str(), false, llvm::toString(std::move(error)),
          enables.str(), {}};
}

static void addDriver(Diagnosis &diagnosis) {
  const char *title = "CUDA driver";
  const char *enables = "checking and timing kernels (sd-tune run)";
  llvm::Expected<const Driver *> driver = Driver::get();
  if (!driver) {
    diagnosis.findings.push_back(
        missing("driver", title, enables, driver.takeError()));
    return;
  }
  int version = (*driver)->version();
  unsigned ptx = maxPtxOfDriver(version);
  std::string cuda = std::to_string(version / 1000) + "." +
                     std::to_string(version % 1000 / 10);
  std::string detail = "CUDA " + cuda + ", PTX up to " + dotted(ptx);
  // The kernel module's own number is what release notes are about.
  if (auto text =
          llvm::MemoryBuffer::getFileAsStream("/proc/driver/nvidia/version")) {
    llvm::StringRef line = (*text)->getBuffer().split('\n').first;
    detail += "; " + line.trim().str();
  }
  diagnosis.findings.push_back(
      {"driver", title, true, detail, enables,
       json::Object{{"cuda", cuda}, {"max_ptx", dotted(ptx)}}});
  int count = 0;
  llvm::consumeError(
      (*driver)->check((*driver)->deviceGetCount(&count), "cuDeviceGetCount"));
  for (int i = 0; i < count; ++i) {
    std::string key = i == 0 ? "gpu" : "gpu" + std::to_string(i);
    std::string gpuTitle = "GPU " + std::to_string(i);
    llvm::Expected<DeviceRef> device = Device::open(i);
    if (!device) {
      diagnosis.findings.push_back(
          missing(key, gpuTitle, "kernels for its chip", device.takeError()));
      continue;
    }
    const DeviceInfo &info = (*device)->info();
    std::string chip = "sm_" + std::to_string(info.computeCapability);
    std::string text;
    llvm::raw_string_ostream(text)
        << info.name << ", " << chip << ", " << info.multiprocessors << " SMs, "
        << info.memoryBytes / (1 << 20) << " MiB memory, "
        << info.l2Bytes / (1 << 20) << " MiB L2, " << info.sharedPerBlockOptin
        << " bytes of shared memory a block";
    diagnosis.findings.push_back(
        {key, gpuTitle, true, text, "kernels for " + chip,
         json::Object{{"name", info.name},
                      {"compute_capability", info.computeCapability},
                      {"multiprocessors", info.multiprocessors},
                      {"memory_bytes", int64_t(info.memoryBytes)},
                      {"l2_bytes", int64_t(info.l2Bytes)},
                      {"shared_per_block", info.sharedPerBlockOptin},
                      {"clock_mhz", info.clockMHz},
                      {"memory_clock_mhz", info.memoryClockMHz},
                      {"memory_bus_bits", info.memoryBusBits}}});
  }
}

static Finding ptxasFinding() {
  Finding finding{"ptxas",
                  "ptxas",
                  false,
                  "",
                  "cubins, registers, spills and advisories; without it only "
                  "PTX is written",
                  {}};
  std::string path = findPtxas();
  if (path.empty()) {
    finding.detail = "not found in $SPARSEDITTO_PTXAS, $CUDA_HOME, PATH or "
                     "/usr/local/cuda";
    return finding;
  }
  llvm::Expected<PtxasVersion> version = ptxasVersion(path);
  if (!version) {
    finding.detail = llvm::toString(version.takeError());
    return finding;
  }
  finding.found = true;
  std::string cuda =
      std::to_string(version->major) + "." + std::to_string(version->minor);
  finding.detail = "CUDA " + cuda + ", PTX up to " + dotted(version->maxPtx) +
                   " (" + path + ")";
  finding.facts = json::Object{
      {"path", path}, {"cuda", cuda}, {"max_ptx", dotted(version->maxPtx)}};
  return finding;
}

static Finding disassemblerFinding() {
  Finding finding{"disassembler",
                  "disassembler",
                  false,
                  "",
                  "facts of the machine code: order and width of loads, waits",
                  {}};
  finding.detail = findDisassembler();
  finding.found = !finding.detail.empty();
  if (finding.found)
    finding.facts = json::Object{{"path", finding.detail}};
  else
    finding.detail = "no cuobjdump or nvdisasm where ptxas is looked for; PyPI "
                     "has nvidia-cuda-nvdisasm";
  return finding;
}

static Finding ncuFinding() {
  Finding finding{"ncu",
                  "Nsight Compute",
                  false,
                  "",
                  "counters of a kernel from outside of it",
                  {}};
  finding.detail = findNcu();
  finding.found = !finding.detail.empty();
  if (finding.found)
    finding.facts = json::Object{{"path", finding.detail}};
  else
    finding.detail = "no ncu in $SPARSEDITTO_NCU, $CUDA_HOME, PATH or "
                     "/usr/local/cuda";
  return finding;
}

static Finding sanitizerFinding() {
  Finding finding{"compute_sanitizer",
                  "compute-sanitizer",
                  false,
                  "",
                  "memcheck and racecheck of kernels (sd-tune run --sanitize)",
                  {}};
  std::string path = findComputeSanitizer();
  if (path.empty()) {
    finding.detail = "not found in $SPARSEDITTO_COMPUTE_SANITIZER, $CUDA_HOME, "
                     "PATH or /usr/local/cuda";
    return finding;
  }
  llvm::Expected<std::string> version = computeSanitizerVersion(path);
  if (!version) {
    finding.detail = llvm::toString(version.takeError());
    return finding;
  }
  finding.found = true;
  finding.detail = *version + " (" + path + ")";
  finding.facts = json::Object{{"path", path}, {"version", *version}};
  return finding;
}

static Finding cublasFinding() {
  const char *enables = "times of the dense product beside every kernel, and "
                        "the dense choice of a plan";
  llvm::Expected<const CublasLt *> library = CublasLt::get();
  if (!library)
    return missing("cublaslt", "cuBLASLt", enables, library.takeError());
  std::string version = (*library)->version();
  return {
      "cublaslt",
      "cuBLASLt",
      true,
      version + " (" + (*library)->path().str() + ")",
      enables,
      json::Object{{"version", version}, {"path", (*library)->path().str()}}};
}

/// A CUDA library that tells its version by <prefix>GetProperty(0..2).
static Finding propertyLibrary(llvm::StringRef key, llvm::StringRef title,
                               llvm::StringRef stem, llvm::ArrayRef<int> majors,
                               const char *symbol, llvm::StringRef enables) {
  llvm::Expected<SharedLibrary> library =
      SharedLibrary::open(cudaLibraryNames(stem, majors));
  if (!library)
    return missing(key, title, enables, library.takeError());
  std::string version = "unknown version";
  int (*getProperty)(int, int *) = nullptr;
  int parts[3] = {};
  if (library->find(symbol, getProperty) && getProperty(0, &parts[0]) == 0 &&
      getProperty(1, &parts[1]) == 0 && getProperty(2, &parts[2]) == 0)
    version = std::to_string(parts[0]) + "." + std::to_string(parts[1]) + "." +
              std::to_string(parts[2]);
  return {key.str(),
          title.str(),
          true,
          version + " (" + library->path().str() + ")",
          enables.str(),
          json::Object{{"version", version}, {"path", library->path().str()}}};
}

static Finding countersFinding() {
  const char *enables = "hardware counters of a kernel";
  llvm::Expected<SharedLibrary> library =
      SharedLibrary::open(cudaLibraryNames("cupti", {13, 12}));
  if (!library)
    return missing("counters", "counters (CUPTI)", enables,
                   library.takeError());
  Finding finding{"counters", "counters (CUPTI)", true, "", enables, {}};
  int (*getVersion)(uint32_t *) = nullptr;
  uint32_t version = 0;
  if (library->find("cuptiGetVersion", getVersion))
    getVersion(&version);
  finding.detail =
      "API " + std::to_string(version) + " (" + library->path().str() + ")";
  finding.facts = json::Object{{"api_version", int64_t(version)},
                               {"path", library->path().str()}};
  if (auto text =
          llvm::MemoryBuffer::getFileAsStream("/proc/driver/nvidia/params");
      text && (*text)->getBuffer().contains("RmProfilingAdminOnly: 1") &&
      geteuid() != 0) {
    finding.found = false;
    finding.detail += "; the driver keeps counters for root "
                      "(RmProfilingAdminOnly: 1)";
  }
  return finding;
}

/// The sandbox of a worker, and each of its layers.
static std::vector<Finding> sandboxFindings() {
  Finding sandbox{"sandbox",
                  "sandbox",
                  false,
                  "",
                  "kernels that nobody vouches for, sd-tune run "
                  "--require-sandbox",
                  {}};
  llvm::Expected<SandboxOptions> options =
      workerSandbox("", /*gpu=*/true, /*cpuSeconds=*/0);
  llvm::Expected<SandboxReport> report =
      options ? probeSandbox(*options)
              : llvm::Expected<SandboxReport>(options.takeError());
  if (!report) {
    sandbox.detail = llvm::toString(report.takeError());
    return {sandbox};
  }
  json::Array missing;
  std::string names;
  for (SandboxLayer layer : report->missing()) {
    missing.push_back(name(layer));
    names += (names.empty() ? "without " : ", ") + name(layer).str();
  }
  sandbox.found = missing.empty();
  sandbox.detail = sandbox.found ? "complete" : names;
  sandbox.facts = json::Object{{"missing", std::move(missing)}};
  std::vector<Finding> findings = {std::move(sandbox)};
  for (size_t i = 0; i < numSandboxLayers; ++i) {
    SandboxLayer layer = SandboxLayer(i);
    const SandboxReport::Layer &state = (*report)[layer];
    findings.push_back({("sandbox_" + name(layer)).str(),
                        ("  " + name(layer)).str(),
                        state.inForce,
                        state.detail,
                        purpose(layer).str(),
                        {}});
  }
  return findings;
}

Diagnosis sparseditto::diagnose(bool measureFloor) {
  Diagnosis diagnosis;
  // First: the probe forks, and CUDA starts threads.
  std::vector<Finding> sandbox = sandboxFindings();
  diagnosis.findings.push_back(
      {"llvm", "LLVM", true, LLVM_VERSION_STRING,
       "PTX for every chip that sd-tune compile --target lists",
       json::Object{{"version", LLVM_VERSION_STRING}}});
  diagnosis.findings.push_back(ptxasFinding());
  diagnosis.findings.push_back(disassemblerFinding());
  addDriver(diagnosis);
  if (!diagnosis.find("gpu"))
    diagnosis.findings.push_back(
        {"gpu",
         "GPU",
         false,
         "none",
         "checking and timing on hardware; without one, sd-tune run --emulate "
         "checks on the CPU",
         {}});
  diagnosis.findings.push_back(cublasFinding());
  diagnosis.findings.push_back(
      propertyLibrary("cusparselt", "cuSPARSELt", "cusparseLt", {0},
                      "cusparseLtGetProperty", "the 2:4 peer in benchmarks"));
  diagnosis.findings.push_back(propertyLibrary(
      "cusparse", "cuSPARSE", "cusparse", {12, 13}, "cusparseGetProperty",
      "the CSR and BSR peers in benchmarks"));
  diagnosis.findings.push_back(countersFinding());
  diagnosis.findings.push_back(ncuFinding());
  diagnosis.findings.push_back(sanitizerFinding());
  llvm::append_range(diagnosis.findings, sandbox);
  if (!measureFloor)
    return diagnosis;
  Finding finding{"floor",
                  "memory floor",
                  false,
                  "no GPU to measure",
                  "predictions for this GPU instead of the built-in H200 curve",
                  {}};
  if (diagnosis.find("gpu")->found) {
    llvm::Expected<DeviceRef> device = Device::open(0);
    llvm::Expected<FloorCurve> curve =
        device ? measureFloorCurve(*device)
               : llvm::Expected<FloorCurve>(device.takeError());
    if (curve) {
      finding.found = true;
      finding.detail =
          "measured at " + std::to_string(curve->points().size()) + " sizes";
      diagnosis.floor = std::move(*curve);
    } else {
      finding.detail = llvm::toString(curve.takeError());
    }
  }
  // The JSON has the curve itself under this key.
  if (!diagnosis.floor)
    finding.key = "floor_error";
  diagnosis.findings.push_back(std::move(finding));
  return diagnosis;
}
