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

# A file is looked at again only when it, a header or the settings have changed.
say "check: clang-tidy"
clean=build/clang-tidy
mkdir -p "$clean"
# Without the precompiled headers: the checks would walk through all of them for every file.
sed -E 's/-Winvalid-pch//; s/-Xclang -include-pch -Xclang [^ ]+//; s/-Xclang -include -Xclang [^ ]+//' \
  build/asan/compile_commands.json >"$clean/compile_commands.json"
common=$(find src -name '*.h' -exec cat {} + | cat - .clang-tidy | sha256sum)
todo=""
for source in $(find src -name '*.cpp' | sort); do
  # Only what this machine builds is in the compile database.
  grep -qF "/$source\"" build/asan/compile_commands.json || continue
  key=$(printf '%s' "$source" | tr '/' '+')
  mark=$(echo "$common" | cat - "$source" | sha256sum)
  [ "$(cat "$clean/$key" 2>/dev/null)" = "$mark" ] || todo="$todo $source"
done
tidy_one='
  source=$1 clean=$2 common=$3
  key=$(printf "%s" "$source" | tr "/" "+")
  if clang-tidy-14 --quiet -p "$clean" "$source" >"$clean/$key.log" 2>&1; then
    echo "$common" | cat - "$source" | sha256sum >"$clean/$key"
    rm -f "$clean/$key.log"
  else
    grep -vE "^[0-9]+ warnings? (generated|treated)" "$clean/$key.log"
    exit 1
  fi'
if [ -n "$todo" ]; then
  # shellcheck disable=SC2086
  printf '%s\n' $todo | xargs -P "$jobs" -I{} sh -c "$tidy_one" tidy {} "$clean" "$common" >&2 ||
    finding "clang-tidy has findings"
fi

exit $failed
