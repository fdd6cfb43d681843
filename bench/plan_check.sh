#!/bin/sh
# What smoe plan predicts against what smoe run then measures, by turns:
#   bench/plan_check.sh SMOE MODEL [ROUNDS] [smoe options, e.g. --memory 4G]
# A line a round: predicted and measured tokens a second, and their ratio. The machine should be idle.
set -eu
smoe=$1
model=$2
rounds=${3:-5}
[ $# -lt 3 ] || shift
shift 2
XDG_STATE_HOME=$(mktemp -d)
export XDG_STATE_HOME
trap 'rm -rf "$XDG_STATE_HOME"' EXIT
number_after() { sed -n "s/.*$1:\([0-9.e+-]*\).*/\1/p"; }
round=0
while [ "$round" -lt "$rounds" ]; do
  round=$((round + 1))
  predicted=$("$smoe" plan "$model" "$@" --ctx 1024 --prompt-tokens 32 --json --quiet |
    number_after '"plan":{[^}]*"tokens_per_second"')
  measured=$("$smoe" run "$model" "$@" --ctx 1024 --raw "Once upon a time" --max-tokens 200 \
    --json --quiet | number_after '"predicted_per_second"')
  echo "$predicted $measured" |
    awk '{ printf "predicted %.1f, measured %.1f tokens/s, ratio %.2f\n", $1, $2, $1 / $2 }'
done
