#!/usr/bin/env bash
# Checks the dashboards of dashboards/grafana, whose packages it installs into a build folder.
#   run_checks.sh ROOT FOLDER             generates them again, compares, and checks them
#   run_checks.sh ROOT FOLDER --self-test plants faults and expects each found
# Skipped (exit 77) where Node.js 18 or newer, npm or the packages cannot be had.
set -euo pipefail
root=$1 folder=$2 mode=${3:-}

skip() { echo "skipped: $*"; exit 77; }
command -v node >/dev/null || skip "no node (Debian package nodejs)"
command -v npm >/dev/null || skip "no npm"
[ "$(node -p 'parseInt(process.versions.node)')" -ge 18 ] || skip "node $(node -v): 18 or newer is needed"

product=$root/dashboards/grafana
mkdir -p "$folder"
# Installs once per lock file; two tests share the folder.
exec 9>"$folder/lock"
flock 9
if ! cmp -s "$product/package-lock.json" "$folder/installed"; then
  cp "$product/package.json" "$product/package-lock.json" "$folder/"
  (cd "$folder" && timeout 240 npm ci --no-audit --no-fund >npm.log 2>&1) || skip "npm ci: $(tail -1 "$folder/npm.log")"
  cp "$product/package-lock.json" "$folder/installed"
fi

cd "$folder"
rm -rf source checks out typed
cp -r "$product/source" "$product/tsconfig.json" .
cp -r "$root/tests/dashboards/checks" .
npx --no-install tsc
if [ "$mode" = --self-test ]; then
  node out/checks/main.js "$root" --self-test
  exit
fi
node out/checks/type_check.js "$root" typed
echo '{"extends": "../tsconfig.json", "compilerOptions": {"noEmit": true, "rootDir": ".."}, "include": ["."]}' >typed/tsconfig.json
npx --no-install tsc -p typed
echo "every dashboard is a Dashboard of @grafana/schema"
node out/checks/main.js "$root"
