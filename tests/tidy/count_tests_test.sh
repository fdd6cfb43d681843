#!/bin/sh
# The counting of test results: what passes, fails, crashes or is no GoogleTest program.
# Usage: count_tests_test.sh
set -eu
awk_program=$(cd "$(dirname "$0")/../../scripts" && pwd)/count-tests.awk
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

cat >"$root/log" <<'LOG'
test 1
    Start 1: base_test
1: Test command: base_test
1: [ RUN      ] Units.ReadSizes
1: [       OK ] Units.ReadSizes (0 ms)
1: [ RUN      ] Units.PrintSizes
1: units_test.cpp:7: Failure
1: [  FAILED  ] Units.PrintSizes (1 ms)
1: [  FAILED  ] 1 test, listed below:
1: [  FAILED  ] Units.PrintSizes
1/4 Test #1: base_test ........................***Failed    0.01 sec
2: [ RUN      ] Ring.Works
2: [       OK ] Ring.Works (3 ms)
2/4 Test #2: stream_test ......................   Passed    0.10 sec
3: [ RUN      ] Step.Works
3: [       OK ] Step.Works (0 ms)
3: [ RUN      ] Step.Crashes
3: last words
3/4 Test #3: engine_test ......................***Exception: SegFault  0.20 sec
4: model checked
4/4 Test #4: slot_model .......................   Passed    1.00 sec
LOG
counted=$(awk -f "$awk_program" -v report="$root/report" "$root/log")
[ "$counted" = "4 2" ] || {
  printf 'expected 4 passed and 2 failed, got: %s\n' "$counted"
  exit 1
}
for wanted in 'units_test.cpp:7: Failure' 'last words' 'SegFault'; do
  grep -q "$wanted" "$root/report" || {
    printf 'the report lacks "%s":\n' "$wanted"
    cat "$root/report"
    exit 1
  }
done
if grep -q 'Units.ReadSizes' "$root/report"; then
  echo "the report shows a test that passed"
  exit 1
fi

echo 'No tests were found!!!' >"$root/log"
counted=$(awk -f "$awk_program" -v report="$root/report" "$root/log")
[ "$counted" = "0 1" ] || {
  printf 'no tests at all must count as a failure, got: %s\n' "$counted"
  exit 1
}
