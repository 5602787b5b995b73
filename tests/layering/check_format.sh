#!/usr/bin/env bash
# Checks that clang-format 14 leaves every C++ source unchanged. Skipped (exit 77) where that version is absent.
set -uo pipefail
cd "$1"
tool=$(command -v clang-format-14 || command -v clang-format) || { echo "no clang-format"; exit 77; }
"$tool" --version | grep -q 'version 14\.' || { echo "$("$tool" --version): version 14 is needed"; exit 77; }
find base spec topology options kernels engine planner service controller worker cli bench tests \
  \( -name '*.h' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
  xargs -0 "$tool" --dry-run --Werror
