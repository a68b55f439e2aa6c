#!/usr/bin/env bash
# pack.sh DIRECTORY: the fuzz targets that run.sh built, for a machine without a
# compiler: stripped, and all of them in DIRECTORY/fuzzers.tar.gz. There:
#
#   tar -xzf DIRECTORY/fuzzers.tar.gz -C DIRECTORY
#   SPARSEDITTO_FUZZ_BIN=DIRECTORY FUZZ_JOBS=16 unittests/fuzz/run.sh 1800
#
#   SPARSEDITTO_FUZZ_BUILD  build directory        (default build-fuzz)
set -euo pipefail

directory=${1:?usage: pack.sh DIRECTORY}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${SPARSEDITTO_FUZZ_BUILD:-$root/build-fuzz}
mkdir -p "$directory"
stripped=$(mktemp -d)
trap 'rm -rf "$stripped"' EXIT
for file in "$build"/fuzz/fuzz-*; do
  [ ! -x "$file" ] || [ -d "$file" ] || strip -o "$stripped/$(basename "$file")" "$file"
done
tar -C "$stripped" -czf "$directory/fuzzers.tar.gz" .
du -h "$directory/fuzzers.tar.gz"
