#!/bin/sh
# Format, include directions, clang-tidy, and warnings as errors with gcc and with clang.
# Prints findings only; exits 1 when there are any.
set -u
cd "$(dirname "$0")/.." || exit 1

failed=0
jobs=$(nproc)
say() { printf '%s\n' "$*" >&2; }
finding() {
  say "check: $1"
  failed=1
}

sources=$(find src tests bench -name node_modules -prune -o \
  \( -name '*.h' -o -name '*.cpp' \) -print | sort)

say "check: format"
# shellcheck disable=SC2086  # file names here have no spaces
clang-format-14 --dry-run -Werror $sources >&2 ||
  finding "the files named above are not formatted; run clang-format-14 -i on them"

say "check: include directions"
tests/tidy/include_direction.sh src docs/style.md >&2 || finding "an include points the wrong way"
tests/tidy/sizes.sh src >&2

say "check: shell scripts"
for script in scripts/*.sh tests/tidy/*.sh .ci/run; do
  sh -n "$script" || finding "$script has a syntax error"
done

# The two builds of scripts/test.sh: gcc is `release`, clang is `asan`. Warnings are errors there.
for preset in release asan; do
  say "check: warnings ($preset)"
  log=build/check-$preset.log
  mkdir -p build
  { cmake --preset "$preset" -DSMOE_TESTS=ON && cmake --build "build/$preset"; } >"$log" 2>&1 || {
    grep -E 'error|warning|FAILED' "$log" | head -n 40 >&2
    finding "the $preset build fails; see $log"
  }
done

# What is looked at is what the asan build compiles, and mostly that is a room's sources in one unit:
# the headers are walked through once for all of them. A unit is looked at again only when one of its
# sources, a header or the settings have changed.
say "check: clang-tidy"
clean=build/clang-tidy
mkdir -p "$clean"
# Without the precompiled headers: the checks would walk through all of them for every unit.
sed -E 's/-Winvalid-pch//; s/-Xclang -include-pch -Xclang [^ ]+//; s/-Xclang -include -Xclang [^ ]+//' \
  build/asan/compile_commands.json >"$clean/compile_commands.json"
common=$(find src -name '*.h' -exec cat {} + | cat - .clang-tidy | sha256sum)
# The sources of a unit: those that it includes, or itself.
sources_of='
  case $1 in
    */Unity/*) sed -n "s/^#include \"\(.*\)\"/\1/p" "$1" ;;
    *) echo "$1" ;;
  esac'
mark_of='{ echo "$3"; cat $(sh -c "$4" sources "$1"); } | sha256sum'
tidy_one='
  unit=$1 clean=$2
  key=$(printf "%s" "${unit#"$PWD/"}" | tr "/" "+")
  mark=$(sh -c "$5" mark "$@")
  [ "$(cat "$clean/$key" 2>/dev/null)" != "$mark" ] || exit 0
  if clang-tidy-14 --quiet -p "$clean" --checks=-bugprone-suspicious-include \
    --header-filter="$PWD/src/.*" "$unit" >"$clean/$key.log" 2>&1; then
    echo "$mark" >"$clean/$key"
    rm -f "$clean/$key.log"
  else
    grep -vE "^[0-9]+ warnings? (generated|treated)" "$clean/$key.log"
    exit 1
  fi'
sed -n 's/^ *"file": "\(.*\)",*$/\1/p' "$clean/compile_commands.json" |
  grep -E "^$PWD/(src/|build/asan/src/)" |
  xargs -P "$jobs" -I{} sh -c "$tidy_one" tidy {} "$clean" "$common" "$sources_of" "$mark_of" >&2 ||
  finding "clang-tidy has findings"

exit $failed
