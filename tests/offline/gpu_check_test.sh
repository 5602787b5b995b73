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
fake "$work/fake/pkg-config" 'exit 0'
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
assert status["train_cuda_test"] == status["gemm"] == status["prediction"] == "no device", status
assert status["comm_test"] == status["kernels_ops_test"] == "passed", status'
grep -q 'no CUDA device: none here' "$work/table"

fake "$work/build/tests/comm_test" 'echo "x.cc:1: Failure \"quoted\""; exit 1'
check 1 '
import json, sys
failed = [row for row in json.load(open(sys.argv[1]))["rows"] if row["status"] == "failed"]
assert [row["name"] for row in failed] == ["comm_test"] and "quoted" in failed[0]["detail"], failed'

fake "$work/build/bin/ring-bench" 'case "$*" in
  device*json) for last; do :; done; echo "{}" >"$last"; echo "measured: it" ;;
  *json*) echo "{\"rows\": []}"; echo "row 1 ms" >&2 ;;
esac'
fake "$work/build/bin/ringmaster" 'echo "step 10/10  loss 2.5"'
fake "$work/build/bin/ring-train" 'case "$*" in
  *dry-run*) echo "  step          1.8 s, 18263 tok/s" ;;
  *) dir=$(sed -n "s/.*\"run_dir\": \"\([^\"]*\)\".*/\1/p" "$1"); mkdir -p "$dir"
     for s in 9 2 3 2; do echo "{\"loss\":1,\"phase_seconds\":{\"offload_exposed\":0.1},\"seconds\":$s.0}"; done >"$dir/metrics.jsonl" ;;
esac'
fake "$work/build/tests/comm_test" 'echo "[  PASSED  ] 3 tests."'
check 0 '
import json, sys
rows = {row["name"]: row for row in json.load(open(sys.argv[1]))["rows"]}
assert rows["gemm"]["status"] == "measured" and rows["gemm"]["result"] == {"rows": []}, rows["gemm"]
assert rows["train_cuda_test"]["status"] == "passed", rows
assert rows["cluster"]["detail"] == "step 10/10  loss 2.5", rows["cluster"]
assert rows["profile"]["detail"] == "measured: it", rows["profile"]
assert rows["offload"]["detail"] == "step 2.0 s on the device, 2.0 s with offload, 0.1 s of it waiting", rows["offload"]
assert rows["prediction"]["detail"] == "predicted 1.8 s, measured 2.0 s", rows["prediction"]'
grep -q 'row 1 ms' "$work/table"
echo passed
