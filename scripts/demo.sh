#!/bin/sh
# Builds smoe, shatters the model that comes with the repository, and lets it tell a story.
# Usage: scripts/demo.sh ["Tell me a story about a fox and a king."]
set -eu
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*" >&2; }

scripts/install-packages.sh run

say "building (the first time takes a few minutes)"
mkdir -p build
{ cmake --preset release -DSMOE_TESTS=OFF -DSMOE_BENCH=OFF &&
  cmake --build build/release --target smoe; } >build/demo.log 2>&1 || {
  tail -n 40 build/demo.log >&2
  say "error: the build failed; all of its output is in build/demo.log"
  exit 1
}
smoe=build/release/src/cli/smoe

# A finished model folder is recognised, an interrupted one is resumed.
"$smoe" shatter models/tales build/demo/tales >&2

# Half of the experts fit into this ring: the rest comes from the disk while the story is told.
exec "$smoe" run build/demo/tales "${1:-Tell me a story about a fox and a king.}" \
  --ring-slots 192 --max-tokens 300 --stats
