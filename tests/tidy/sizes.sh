#!/bin/sh
# Prints the largest files and functions, so that growth is seen. Never fails: a size is a hint.
# Usage: tests/tidy/sizes.sh SRC
set -eu
cd "${1:?usage: tests/tidy/sizes.sh SRC}"

printf 'largest files (aim: 400 lines, headers 150):\n'
find . -name '*.h' -o -name '*.cpp' | sed 's|^\./||' | xargs wc -l | awk '$2 != "total"' |
  sort -rn | head -n 6

# As clang-format lays it out, a function opens with a line that ends in "{" and is no statement,
# and closes with "}" at the same indentation.
printf 'largest functions (aim: 30 lines, 70 is a lot):\n'
find . -name '*.h' -o -name '*.cpp' | sed 's|^\./||' | sort | xargs awk '
  function indent_of(line) { match(line, /^ */); return RLENGTH }
  FNR == 1 { open = 0; start = 0 }
  {
    if (!open && $0 ~ /^( |  )?[A-Za-z~\[].*\(/ && $0 !~ /;$/) { start = FNR; name = $0 }
    if (!open && start && $0 ~ /\{$/ && $0 !~ /^ *(namespace|class|struct|enum|extern) /) {
      open = 1
      indent = indent_of(name)
    } else if (!open && ($0 ~ /[;}]$/ || $0 == "")) {
      start = 0
    }
    if (open && $0 ~ /^ *\}/ && indent_of($0) == indent) {
      sub(/^ */, "", name)
      sub(/\(.*/, "", name)
      print FNR - start + 1, FILENAME ":" start, name
      open = start = 0
    }
  }' | sort -rn | head -n 6
