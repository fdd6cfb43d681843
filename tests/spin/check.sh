#!/bin/sh
# check.sh MODEL.pml [SPIN]: checks a model in all interleavings. one_word.pml must have no error,
# two_atomics.pml must have one: a checker that finds nothing there would prove nothing elsewhere.
set -eu
folder=$(cd "$(dirname "$0")" && pwd)
model=$1
spin=${2:-spin}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

"$spin" -a "$folder/$model" >spin.log || { cat spin.log; exit 1; }
"${CC:-cc}" -O2 -DSAFETY -w -o pan pan.c
./pan -m100000 >pan.log || true
cat pan.log

case $model in
  two_atomics.pml) grep -q 'assertion violated' pan.log ;;
  *) grep -q 'errors: 0' pan.log && ! grep -q 'max search depth too small' pan.log ;;
esac
