#!/usr/bin/env bash
# check.sh [--quick]: installs what is missing, builds, and runs every test:
# lit, GoogleTest (numeric tests on the emulator, and on a GPU where there is
# one), the installed package, the documented commands, the static binaries and
# a short fuzz run. The last line is `N passed, N failed, N skipped`; the exit
# status is 0 only if none failed.
#
# --quick leaves out the static binaries and the fuzz run, and so needs no clang.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

quick=0
for argument in "$@"; do
  case $argument in
    --quick) quick=1 ;;
    -h | --help)
      sed -n '2,/^set/{s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    *) sd_die "unknown option '$argument' (check.sh [--quick])" ;;
  esac
done

sd_setup
cd "$SD_ROOT"
results=$SD_ROOT/build/check
rm -rf "$results"
mkdir -p "$results"
lit=/usr/lib/llvm-22/bin/lit

sd_say "building (log: build/build.log)"
sd_build release all
# The compiler cache repeats a file's warnings, so a clean build shows them all.
if grep "warning:" build/build.log; then
  echo "FAIL: build without warnings" > "$results/build.txt"
else
  echo "PASS: build without warnings" > "$results/build.txt"
fi

sd_say "lit and GoogleTest"
"$lit" -sv --xunit-xml-output="$results/lit.xml" test || true

if [ $quick -eq 0 ]; then
  sd_packages clang-22 libclang-rt-22-dev lld-22

  sd_say "static binaries (log: build-static/build.log)"
  sd_build static sd-opt sd-tune
  "$lit" -sv --param build=build-static --xunit-xml-output="$results/static.xml" test/Install/static.test || true

  sd_say "fuzzing each reader for 5 s"
  FUZZ_JOBS=$(sd_jobs) SPARSEDITTO_JOBS=$(sd_jobs) unittests/fuzz/run.sh 5 > "$results/fuzz.log" || true
  cat "$results/fuzz.log"
  sed -n -e 's/^\(fuzz-[a-z-]*: .*nothing found\)$/PASS: \1/p' \
    -e 's/^\(fuzz-[a-z-]*: FOUND .*\)$/FAIL: \1/p' "$results/fuzz.log" > "$results/fuzz.txt"
  [ -s "$results/fuzz.txt" ] || sd_die "the fuzz targets did not run"
fi

/usr/bin/python3 scripts/summary.py "$results"/*.xml "$results"/*.txt
