# Reads the output of `ctest -V`, prints "PASSED FAILED", and writes the output of every failed test
# to the file `report`. GoogleTest programs count once a test, other programs once; a program that
# crashes or hangs counts its last test as failed.

function add(test, line) { output[test] = output[test] line "\n" }

BEGIN { printf "" > report }

/^[0-9]+: / {
  test = $0
  sub(/:.*/, "", test)
  line = substr($0, length(test) + 3)
  if (line ~ /^\[ RUN      \]/) output[test] = ""
  add(test, line)
  if (line ~ /^\[       OK \]/) { ok[test]++; output[test] = "" }
  if (line ~ /^\[  SKIPPED \].*\([0-9]+ ms\)$/) print line > report
  if (line ~ /^\[  FAILED  \].*\([0-9]+ ms\)$/) {
    bad[test]++
    printf "%s", output[test] > report
    output[test] = ""
  }
  next
}

/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / {
  test = $0
  sub(/^[^#]*#/, "", test)
  sub(/:.*/, "", test)
  if ($0 ~ / Passed +[0-9.]+ sec$/) {
    passed += ok[test] ? ok[test] : 1
  } else {
    passed += ok[test]
    failed += bad[test] ? bad[test] : 1
    if (!bad[test]) printf "%s", output[test] > report
    print > report
  }
}

/^No tests were found/ { failed++; print > report }

END { print passed + 0, failed + 0 }
