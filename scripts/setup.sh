#!/usr/bin/env bash
# setup.sh: what demo.sh and check.sh share. Sourced, it defines functions; run
# on its own, it installs what is missing.
#
# It asks the package database first, so a run with nothing missing takes no
# network and about a second. Read from the environment:
#   CUDA_HOME                       where ptxas is taken from (bin/ptxas)
#   SPARSEDITTO_PTXAS               a ptxas to use, before any other
#   SPARSEDITTO_IGNORE_SYSTEM_CUDA  =1: use the PyPI wheel even if CUDA is here
#   SPARSEDITTO_JOBS                build jobs, else by cores and memory

# NVIDIA's wheel of ptxas that is fetched when the machine has none.
SD_PTXAS_WHEEL=nvidia-cuda-nvcc==13.0.88

SD_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

sd_say() { echo "== $*" >&2; }
sd_die() {
  echo "error: $*" >&2
  exit 1
}

# sd_packages PACKAGE...: installs those of the Debian packages that are missing.
sd_packages() {
  command -v dpkg-query > /dev/null ||
    sd_die "this machine has no dpkg; install by hand what Debian calls: $*"
  local missing=() package
  for package in "$@"; do
    # The "ok installed" state, not just a row: a removed package keeps one.
    dpkg-query -W -f='${Status}' "$package" 2> /dev/null |
      grep -q "ok installed" || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo > /dev/null ||
      sd_die "not root and no sudo; as root, run: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  sd_say "installing Debian packages: ${missing[*]}"
  "${as_root[@]}" apt-get update -q > /dev/null ||
    sd_die "apt-get update failed; is the network reachable?"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends "${missing[@]}" > /dev/null ||
    sd_die "apt-get could not install: ${missing[*]} (LLVM 22 needs Debian 12 with bookworm-security, or newer)"
}

# Sets and exports SPARSEDITTO_PTXAS: stated, CUDA_HOME, PATH, the usual place,
# else NVIDIA's wheel below .local/.
sd_ptxas() {
  local candidates=() candidate
  if [ -n "${SPARSEDITTO_PTXAS:-}" ]; then
    "$SPARSEDITTO_PTXAS" --version > /dev/null 2>&1 ||
      sd_die "SPARSEDITTO_PTXAS=$SPARSEDITTO_PTXAS does not run (tried --version)"
    export SPARSEDITTO_PTXAS
    return
  fi
  if [ "${SPARSEDITTO_IGNORE_SYSTEM_CUDA:-0}" != 1 ]; then
    candidates=("${CUDA_HOME:-/nonexistent}/bin/ptxas" "$(command -v ptxas || true)"
      /usr/local/cuda/bin/ptxas)
  fi
  candidates+=("$SD_ROOT/.local/cuda/bin/ptxas")
  for candidate in "${candidates[@]}"; do
    # Run it: what PATH holds may be a wrapper around a toolkit that is gone.
    if [ -n "$candidate" ] && "$candidate" --version > /dev/null 2>&1; then
      export SPARSEDITTO_PTXAS=$candidate
      return
    fi
  done
  sd_packages python3-venv
  sd_say "fetching ptxas from PyPI ($SD_PTXAS_WHEEL) into .local/cuda"
  local work=$SD_ROOT/.local/fetch
  rm -rf "$work"
  mkdir -p "$work" "$SD_ROOT/.local/cuda/bin"
  /usr/bin/python3 -m venv "$work/venv"
  "$work/venv/bin/pip" install -q --disable-pip-version-check --no-deps \
    --target "$work/wheel" "$SD_PTXAS_WHEEL" ||
    sd_die "could not fetch $SD_PTXAS_WHEEL from PyPI; set CUDA_HOME or SPARSEDITTO_PTXAS instead"
  candidate=$(find "$work/wheel" -path '*/bin/ptxas' -print -quit)
  [ -n "$candidate" ] || sd_die "$SD_PTXAS_WHEEL has no bin/ptxas"
  chmod +x "$candidate"
  mv "$candidate" "$SD_ROOT/.local/cuda/bin/ptxas"
  rm -rf "$work"
  export SPARSEDITTO_PTXAS=$SD_ROOT/.local/cuda/bin/ptxas
}

# Everything that building and running needs.
sd_setup() {
  sd_packages g++ cmake ninja-build ccache python3 \
    libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools \
    zlib1g-dev libzstd-dev libgtest-dev libgmock-dev libboost-context-dev \
    libcurl4-openssl-dev nlohmann-json3-dev
  sd_ptxas
  # The same source in another folder then still hits the compiler cache.
  export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$SD_ROOT}
}

# Build jobs: one a core, and 2 GiB of memory each, which MLIR's headers need.
sd_jobs() {
  local memory
  memory=$(awk '/MemAvailable/ { print int($2 / 2097152) }' /proc/meminfo)
  local jobs=${SPARSEDITTO_JOBS:-$(nproc)}
  [ -n "${SPARSEDITTO_JOBS:-}" ] || [ "$jobs" -le "$memory" ] || jobs=$memory
  [ "$jobs" -ge 1 ] || jobs=1
  echo "$jobs"
}

# sd_build PRESET TARGET...: configures the preset once and builds the targets.
sd_build() {
  local preset=$1 folder=$SD_ROOT/build log
  shift
  [ "$preset" = release ] || folder=$SD_ROOT/build-$preset
  log=$folder/configure.log
  mkdir -p "$folder"
  (cd "$SD_ROOT" && cmake --preset "$preset") > "$log" 2>&1 || {
    tail -n 30 "$log" >&2
    sd_die "cmake --preset $preset failed (see $log)"
  }
  cmake --build "$folder" -j "$(sd_jobs)" --target "$@" > "$folder/build.log" 2>&1 || {
    tail -n 60 "$folder/build.log" >&2
    sd_die "the build failed (preset $preset; see $folder/build.log)"
  }
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  set -euo pipefail
  sd_setup
  echo "ready; ptxas is $SPARSEDITTO_PTXAS"
fi
