#!/bin/sh
# Installs what the tests need, builds, and runs all of them. The last line is `N passed, N failed`.
#
#   scripts/test.sh          everything that a change must pass
#   scripts/test.sh --long   also hours of fuzzing, the long form of tests that have one, and a build
#                            of every source by itself
#   scripts/test.sh --gpu    instead of all that, the GPU's tests on the first real GPU of this machine
#   scripts/test.sh --arm64  instead of all that, the kernels' and the reference models' tests built
#                            for 64-bit ARM and run by qemu; unpacks ARM libraries into build/
#
# Three builds: `release` with gcc (all tests), `asan` with clang under AddressSanitizer and UBSan
# (all tests, and each fuzz target for a moment), `tsan` with gcc (the rooms with threads).
set -u
cd "$(dirname "$0")/.." || exit 1

fuzz_seconds=15
arm64=
gpu=
case "${1:-}" in
  "") ;;
  --arm64) arm64=1 ;;
  --gpu) gpu=1 ;;
  --long)
    fuzz_seconds=${SMOE_FUZZ_SECONDS:-3600}
    export SMOE_TEST_LONG=1
    ;;
  *)
    printf 'usage: %s [--long | --gpu | --arm64]\n' "$0" >&2
    exit 2
    ;;
esac

threaded="base devices engine shatter stream server_scheduler"
jobs=$(nproc)
logs=build/logs
passed=0
failed=0
mkdir -p "$logs"

started=$(date +%s)
step() { printf '[%4d s] %s\n' $(($(date +%s) - started)) "$*"; }
count() {
  passed=$((passed + $1))
  failed=$((failed + $2))
}
finish() {
  printf '%d passed, %d failed\n' "$passed" "$failed"
  [ "$failed" -eq 0 ] || exit 1
  exit 0
}
stop() {
  printf 'error: %s\n' "$*"
  count 0 1
  finish
}

# build PRESET [cmake --build arguments]
build() {
  preset=$1
  shift
  step "building $preset"
  if { cmake --preset "$preset" -DSMOE_TESTS=ON &&
    cmake --build "build/$preset" "$@" -- -k 0; } >"$logs/build-$preset.log" 2>&1; then
    return
  fi
  grep -E 'FAILED|error|Error' "$logs/build-$preset.log" | head -n 40
  printf 'error: the %s build failed; see %s\n' "$preset" "$logs/build-$preset.log"
  count 0 1
}

# run_tests PRESET [PATTERN]: runs the programs whose names match, prints what failed, and counts.
run_tests() {
  preset=$1
  log="$logs/test-$preset.log"
  step "testing $preset"
  ctest --test-dir "build/$preset" -V -j "$jobs" --timeout 1800 -R "${2:-.}" >"$log" 2>&1
  numbers=$(awk -f scripts/count-tests.awk -v report="$logs/failures-$preset.txt" "$log")
  [ ! -s "$logs/failures-$preset.txt" ] || cat "$logs/failures-$preset.txt"
  # shellcheck disable=SC2086  # two numbers
  count $numbers
  step "$preset: ${numbers% *} passed, ${numbers#* } failed"
}

# Every fuzz target of the asan build, from its corpus on; what it finds is left in build/fuzz.
fuzz() {
  mkdir -p build/fuzz
  targets=$(find build/asan/tests/fuzz -maxdepth 1 -type f -name '*_fuzz' -perm -u+x 2>/dev/null |
    sort)
  [ -n "$targets" ] || return
  step "fuzzing for $fuzz_seconds s each"
  fuzz_one='
    name=$(basename "$1")
    corpus=tests/fuzz/corpus/$name
    [ -d "$corpus" ] || corpus=
    mkdir -p "build/fuzz/$name"
    "$1" -max_total_time="$2" -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 \
      -artifact_prefix="build/fuzz/$name-" "build/fuzz/$name" $corpus \
      >"build/fuzz/$name.log" 2>&1
    echo $? >"build/fuzz/$name.status"'
  printf '%s\n' "$targets" | xargs -P "$jobs" -I{} sh -c "$fuzz_one" fuzz {} "$fuzz_seconds"
  for target in $targets; do
    name=$(basename "$target")
    if [ "$(cat "build/fuzz/$name.status")" = 0 ]; then
      count 1 0
    else
      tail -n 40 "build/fuzz/$name.log"
      printf 'FAILED: %s; its input is build/fuzz/%s-*\n' "$name" "$name"
      count 0 1
    fi
  done
}

# Nothing is installed for ARM: its libraries lie in a folder of their own.
test_arm64() {
  step "installing packages"
  scripts/install-packages.sh arm64 || stop "packages are missing"
  root=build/arm64-root
  if [ ! -d "$root" ]; then
    step "unpacking the libraries for ARM"
    rm -rf "$root.part"
    mmdebstrap --variant=extract --architectures=arm64 --include="$(scripts/install-packages.sh arm64-libraries)" \
      bookworm "$root.part" >"$logs/arm64-root.log" 2>&1 && mv "$root.part" "$root" || {
      cat "$logs/arm64-root.log"
      stop "the libraries for ARM could not be unpacked"
    }
  fi
  build arm64 --target devices_test engine_test
  run_tests arm64 '^devices_(test|symbols_neon_test)$'
  # The rest takes too long under emulation.
  GTEST_FILTER='*Golden*:Tales.*' run_tests arm64 '^engine_test$'
  finish
}
[ -z "$arm64" ] || test_arm64

# Elsewhere a software Vulkan runs these tests; its validation layers are not for every driver.
test_gpu() {
  step "installing packages"
  scripts/install-packages.sh test || stop "packages are missing"
  build release --target vulkan_test smoe
  SMOE_TEST_GPU=$(build/release/src/cli/smoe devices --json | python3 -c '
import json, sys
real = [d["name"] for d in json.load(sys.stdin)["devices"]
        if d.get("usable") and d.get("kind", "").endswith("GPU")]
print(real[0].split(":")[1] if real else "")')
  [ -n "$SMOE_TEST_GPU" ] || stop "smoe devices knows of no GPU here that can be used"
  export SMOE_TEST_GPU
  step "testing gpu:$SMOE_TEST_GPU"
  GTEST_FILTER='-GpuValidation.*' run_tests release '^vulkan_test$'
  finish
}
[ -z "$gpu" ] || test_gpu

step "installing packages"
scripts/install-packages.sh test || stop "packages are missing"
# The reference tokenizers, the server's clients, the browser's driver, and what the page is built from.
for folder in tests/oracles tests/clients tests/web web; do
  [ ! "$folder/node_modules/.package-lock.json" -nt "$folder/package-lock.json" ] || continue
  step "installing the node packages of $folder"
  npm ci --prefix "$folder" --ignore-scripts --no-audit --no-fund >"$logs/npm.log" 2>&1 || {
    cat "$logs/npm.log"
    stop "npm ci failed in $folder"
  }
done

build release
run_tests release

build asan
run_tests asan
fuzz

targets=""
for room in $threaded; do targets="$targets ${room}_test"; done
# shellcheck disable=SC2086
build tsan --target $targets
run_tests tsan "^($(echo $threaded | tr ' ' '|'))_test\$"

[ -z "${SMOE_TEST_LONG:-}" ] || build separate

step "checking"
if scripts/check.sh 2>&1; then count 1 0; else count 0 1; fi

step "done"
finish
