#!/usr/bin/env bash
# format.sh [--fix] [BASE]: clang-format (LLVM style) of the C++ files that differ
# from BASE (default: all files of the project). Without --fix, prints what would
# change and exits with 1.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
fix=0
if [ "${1:-}" = --fix ]; then
  fix=1
  shift
fi
formatter=$(command -v clang-format-22 || echo /usr/lib/llvm-22/bin/clang-format)
[ -x "$formatter" ] || {
  echo "error: clang-format 22 was not found (Debian: clang-format-22)" >&2
  exit 2
}
if [ $# -gt 0 ]; then
  mapfile -t files < <(git diff --name-only --diff-filter=d "$1" -- '*.h' '*.cpp')
else
  mapfile -t files < <(git ls-files -- '*.h' '*.cpp')
fi
[ ${#files[@]} -gt 0 ] || exit 0
if [ $fix -eq 1 ]; then
  exec "$formatter" -i "${files[@]}"
fi
exec "$formatter" --dry-run --Werror "${files[@]}"
