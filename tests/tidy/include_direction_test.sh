#!/bin/sh
# The include checker accepts what the table allows, and can fail.
# Usage: include_direction_test.sh
set -eu
checker=$(cd "$(dirname "$0")" && pwd)/include_direction.sh
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/src/base" "$root/src/formats/inner" "$root/src/cli"
cat >"$root/style.md" <<'MD'
| folder | may include | holds |
|---|---|---|
| `base/` | – | what every room needs |
| `formats/` | base | bytes |
| `text/` | base formats | text |
| `model/` | base formats | models |
| `cli/` | all | one binary |
MD

problems=0
# expect pass|fail WHAT: checks the tree as it stands.
expect() {
  if "$checker" "$root/src" "$root/style.md" >"$root/out" 2>&1; then got=pass; else got=fail; fi
  if [ "$got" != "$1" ]; then
    printf '%s: expected %s, got %s\n' "$2" "$1" "$got"
    cat "$root/out"
    problems=1
  fi
}

echo '#include <vector>' >"$root/src/base/a.h"
printf '#include "base/a.h"\n#include "formats/b.h"\n' >"$root/src/formats/b.cpp"
echo '#include "formats/b.h"' >"$root/src/cli/main.cpp"
expect pass "includes along the arrows"

echo '#include "formats/b.h"' >"$root/src/base/a.h"
expect fail "base/ includes formats/"
grep -q 'src/base/a.h:1: .*base/ may not include formats/' "$root/out" || {
  echo "the finding does not name file, line and rooms:"
  cat "$root/out"
  problems=1
}

echo '#include "../formats/b.h"' >"$root/src/base/a.h"
expect fail "a relative include"
echo '#include "a_neighbour.h"' >"$root/src/base/a.h"
expect fail "an include without its room"
echo '#include <vector>' >"$root/src/base/a.h"
expect pass "the mended tree"

echo '#include "formats/inner/c.h"' >"$root/src/formats/b.h"
expect pass "a folder includes one inside it"
echo '#include "formats/b.h"' >"$root/src/formats/inner/c.h"
expect fail "a folder and one inside it include each other"
rm "$root/src/formats/inner/c.h"

mkdir "$root/src/attic"
echo '#include "base/a.h"' >"$root/src/attic/d.h"
expect fail "a room that the table does not list"
rm -r "$root/src/attic"

: >"$root/style.md"
expect fail "a page without the table"
exit $problems
