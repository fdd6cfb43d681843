#!/bin/sh
# check.sh MODEL.pml [SPIN]: checks a model in all interleavings. one_word.pml and queued_jobs.pml must
# have no error; two_atomics.pml, and queued_jobs.pml with FORGETFUL, must have one: a checker that
# finds nothing there would prove nothing elsewhere.
set -eu
folder=$(cd "$(dirname "$0")" && pwd)
model=$1
spin=${2:-spin}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

run() {
  "$spin" "$@" -a "$folder/$model" >spin.log || { cat spin.log; exit 1; }
  "${CC:-cc}" -O2 -DSAFETY -w -o pan pan.c
  ./pan -m100000 >pan.log || true
  cat pan.log
}

holds() { grep -q 'errors: 0' pan.log && ! grep -q 'max search depth too small' pan.log; }
fails() { grep -q 'assertion violated' pan.log; }

run
case $model in
  two_atomics.pml) fails ;;
  queued_jobs.pml)
    holds || exit 1
    run -DFORGETFUL
    fails
    ;;
  *) holds ;;
esac
