#!/bin/sh
# Fails on an include that points the wrong way through the rooms.
# Usage: tests/tidy/include_direction.sh SRC STYLE
# The allowed directions are the table in section 2 of STYLE (docs/style.md), and nothing else.
set -eu
[ $# -eq 2 ] || { printf 'usage: %s SRC STYLE\n' "$0" >&2; exit 2; }
cd "$(dirname "$2")"
style=$PWD/$(basename "$2")
cd "$OLDPWD"
cd "$1"

files=$(find . -name '*.h' -o -name '*.cpp' | sed 's|^\./||' | sort)
[ -n "$files" ] || { printf '%s: no sources\n' "$1" >&2; exit 2; }
# shellcheck disable=SC2086  # file names here have no spaces
exec awk -f - "$style" $files <<'AWK'
function fail(message) { print message; failed = 1 }
function folder_of(path) { sub(/\/?[^\/]*$/, "", path); return path }
function room_of(path) { return path ~ /\// ? substr(path, 1, index(path, "/") - 1) : "" }

# | `stream/` | base formats | SSD -> memory | ... |
FILENAME == ARGV[1] {
  if ($0 !~ /^\| *`[a-z_]+\/` *\|/) next
  split($0, cell, "|")
  room = cell[2]
  gsub(/[` \/]/, "", room)
  rooms++
  known[room] = 1
  allowed[room, room] = 1
  if (cell[3] ~ /^ *all *$/) everything[room] = 1
  words = split(cell[3], word, " ")
  for (i = 1; i <= words; i++) allowed[room, word[i]] = 1
  next
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
  target = $0
  sub(/^[^"]*"/, "", target)
  sub(/".*/, "", target)
  where = "src/" FILENAME ":" FNR ": includes \"" target "\""
  from = room_of(FILENAME)
  to = room_of(target)
  if (!(from in known)) fail(where ", but the table of rooms does not list " from "/")
  else if (target ~ /(^|\/)\.\.?\// || !(to in known))
    fail(where ", which is no path from src/ that starts with a room")
  else if (!(from in everything) && !((from, to) in allowed))
    fail(where ", but " from "/ may not include " to "/")
  else {
    # A folder and one inside it: only one of the two may include the other.
    inner = folder_of(FILENAME)
    outer = folder_of(target)
    if (inner != outer && !((inner, outer) in edge)) edge[inner, outer] = where
  }
}

END {
  if (rooms < 5) fail(ARGV[1] ": found " rooms + 0 " rooms in its table, which cannot be right")
  for (pair in edge) {
    split(pair, end, SUBSEP)
    if (index(end[1], end[2] "/") == 1 && ((end[2], end[1]) in edge))
      fail(edge[pair] ", and " end[2] "/ includes " end[1] "/ too")
  }
  exit failed
}
AWK
