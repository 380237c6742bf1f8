# Of what ctest wrote: the names of the tests that failed, then the log of its last run. Leaves with 0 where each of them failed of nothing but a
# crash of the leak checker itself.
#   awk -f only_leak_checker_crashed.awk LastTestsFailed.log LastTest.log
FNR == NR { failed[substr($0, index($0, ":") + 1)] = 1; next }
sub(/^[0-9]+\/[0-9]+ Testing: /, "") { name = $0; next }
/LeakSanitizer has encountered a fatal error/ { crashed[name] = 1 }
/\[  FAILED  \]|ERROR: |runtime error: |SUMMARY: / { broken[name] = 1 }
END {
  for (name in failed) if (!(name in crashed) || name in broken) exit 1
}
