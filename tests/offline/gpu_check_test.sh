#!/usr/bin/env bash
# scripts/gpu_check over stand-ins for cmake, ninja and the programs it builds: what it reports and how it ends.
set -euo pipefail
source_dir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{scripts,fake,build/bin,build/tests}
cp "$source_dir/scripts/gpu_check" "$work/scripts/"

fake() { printf '#!/bin/sh\n%s\n' "$2" >"$1" && chmod +x "$1"; }
fake "$work/fake/cmake" 'exit 0'
fake "$work/fake/ninja" 'echo "ring-bench: phony"'
fake "$work/fake/nvidia-smi" 'exit 1'
fake "$work/build/bin/ring-bench" 'echo "ring-bench: no CUDA device: none here"; exit 1'
for name in $(sed -n '/^device_tests=/,/^benchmarks=/p' "$source_dir/scripts/gpu_check" | grep -oE '[a-z_]+_test'); do
  fake "$work/build/tests/$name" 'echo "[  PASSED  ] 3 tests."'
done

check() { # check EXPECTED-EXIT-CODE PROGRAM
  local status=0
  PATH="$work/fake:$PATH" "$work/scripts/gpu_check" --minutes 5 --build "$work/build" --out "$work/out.json" \
    >"$work/table" || status=$?
  [ $status -eq "$1" ] || { cat "$work/table"; echo "ended with $status, not $1"; exit 1; }
  python3 -c "$2" "$work/out.json"
}

check 0 '
import json, sys
report = json.load(open(sys.argv[1]))
status = {row["name"]: row["status"] for row in report["rows"]}
assert report["device"] == "no device", report
assert status["train_cuda_test"] == status["gemm"] == "no device", status
assert status["comm_test"] == status["kernels_ops_test"] == "passed", status'
grep -q 'no CUDA device: none here' "$work/table"

fake "$work/build/tests/comm_test" 'echo "x.cc:1: Failure \"quoted\""; exit 1'
check 1 '
import json, sys
failed = [row for row in json.load(open(sys.argv[1]))["rows"] if row["status"] == "failed"]
assert [row["name"] for row in failed] == ["comm_test"] and "quoted" in failed[0]["detail"], failed'

fake "$work/build/bin/ring-bench" 'case "$*" in *json*) echo "{\"rows\": []}"; echo "row 1 ms" >&2 ;; esac'
fake "$work/build/tests/comm_test" 'echo "[  PASSED  ] 3 tests."'
check 0 '
import json, sys
rows = {row["name"]: row for row in json.load(open(sys.argv[1]))["rows"]}
assert rows["gemm"]["status"] == "measured" and rows["gemm"]["result"] == {"rows": []}, rows["gemm"]
assert rows["train_cuda_test"]["status"] == "passed", rows'
grep -q 'row 1 ms' "$work/table"
echo passed
