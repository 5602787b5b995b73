#!/usr/bin/env bash
# Proves that the archive of scripts/pack_offline builds and checks itself on a machine with a compiler, cmake, ninja
# and the CUDA toolkit alone: unpacks it in a mount namespace where no other Debian development package is left, and
# runs gpu_check there, first with two minutes, then with many. Needs root (or user namespaces) and overlay mounts;
# takes as long as a build. Not part of scripts/test.
#   tests/offline/check.sh [MINUTES]   default: 60
set -euo pipefail
cd "$(dirname "$0")/../.."
minutes=${1:-60}

if [ "${RM_OFFLINE_STAGE:-}" = '' ]; then
  archive=$(mktemp --suffix=.tar.gz)
  trap 'rm -f "$archive"' EXIT
  scripts/pack_offline "$archive"
  flags=(-m --propagation private)
  [ "$(id -u)" = 0 ] || flags+=(-Ur)
  RM_OFFLINE_STAGE=inside RM_OFFLINE_ARCHIVE=$archive unshare "${flags[@]}" "$0" "$minutes"
  exit
fi

# ---- inside the namespace: everything as it is, less the development packages

base=/dev/shm/ringmaster-offline
mkdir -p "$base"
mount -t tmpfs none "$base"
mkdir "$base"/{changed,work,root}
mount -t overlay overlay -o "lowerdir=/,upperdir=$base/changed,workdir=$base/work" "$base/root"
root=$base/root

# The compiler's own. The rest comes with `apt install g++ cmake ninja-build` and the CUDA toolkit.
keep='^(libc6-dev|libc-dev-bin|linux-libc-dev|libstdc\+\+-[0-9]+-dev|libgcc-[0-9]+-dev|libcrypt-dev|libnsl-dev|libtirpc-dev|libobjc-.*|dpkg-dev|binutils-dev)$'
packages=$(dpkg-query -W -f '${Package} ${db:Status-Abbrev}\n' | sed -n 's/ ii *$//p' |
  grep -E -- '-dev$|^googletest$|^nlohmann|^googlemock$' | grep -vE "$keep" || true)
# Directories stay, empty; what lies under /lib is listed there and found under /usr.
# shellcheck disable=SC2086  # packages are words
dpkg -L $packages | sed -n 's,^/lib/,/usr/lib/,; /^\/usr\/./p' | sort -u | sed "s,^,$root," |
  xargs -d '\n' rm -f 2>/dev/null || true
echo "hidden: $(wc -w <<<"$packages") development packages"
for header in nlohmann/json.hpp xxhash.h gtest/gtest.h boost/version.hpp grpcpp/grpcpp.h oneapi/dnnl/dnnl.hpp pcre2.h; do
  [ ! -e "$root/usr/include/$header" ] || { echo "still there: $header"; exit 1; }
done

mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
mkdir -p "$root/tmp/offline"
tar -C "$root/tmp/offline" --strip-components=1 -xzf "$RM_OFFLINE_ARCHIVE"

check() { # check MINUTES: gpu_check in the new root; its JSON and time are looked at
  local begin status json
  begin=$(date +%s)
  status=0
  chroot "$root" env -i HOME=/root PATH=/usr/local/cuda/bin:/usr/bin:/bin CCACHE_DISABLE=1 \
    /tmp/offline/scripts/gpu_check --minutes "$1" --arch 89 --build "/tmp/offline/build/$1" --out "/tmp/offline/$1.json" || status=$?
  json=$root/tmp/offline/$1.json
  [ $status -eq 0 ] || { echo "FAILED: gpu_check --minutes $1 ended with $status"; exit 1; }
  [ $(($(date +%s) - begin)) -le $(($1 * 60)) ] || { echo "FAILED: it took longer than $1 minutes"; exit 1; }
  python3 - "$json" "$1" <<'PYTHON'
import json, sys
report = json.load(open(sys.argv[1]))
by_status = {}
for row in report["rows"]:
    by_status.setdefault(row["status"], []).append(row["name"])
print({status: len(names) for status, names in by_status.items()})
short = int(sys.argv[2]) <= 2
assert "failed" not in by_status, by_status["failed"]
if short:
    assert by_status.get("left out"), "two minutes were enough?"
else:
    assert report["device"] == "no device" and "left out" not in by_status, by_status.get("left out")
    benchmarks = [row for row in report["rows"] if row["kind"] == "benchmark"]
    assert benchmarks and all(row["status"] == "no device" for row in benchmarks)
    assert sum(row["kind"] == "test" and row["status"] == "passed" for row in report["rows"]) >= 10
PYTHON
}

check 2
check "$minutes"
echo "the archive builds and checks itself without development packages"
