# The steps of scripts/test and scripts/mac-check: each is run with its output in a log, told in one line and counted. Sourced after lib.sh.

python=python3
passed=0 failed=0 skipped=0
failures=()

# The numbers of tests in a log of `ctest --verbose` or of unittest: "passed failed skipped".
# A ctest entry that is a GoogleTest program counts its cases; one that died without telling counts as one failure.
count_tests() {
  awk '
    { line = $0; key = "-" }
    match(line, /^[0-9]+: /) { key = substr(line, 1, RLENGTH - 2); line = substr(line, RLENGTH + 1) }
    line ~ /^\[  PASSED  \] [0-9]+ test/ { split(line, f, " "); good[key] += f[4] }
    line ~ /^\[  FAILED  \] .*\([0-9]+ ms\)$/ { bad[key]++ }
    line ~ /^\[  SKIPPED \] [0-9]+ test/ { split(line, f, " "); over[key] += f[4] }
    line ~ /^Ran [0-9]+ tests? in / { split(line, f, " "); ran[key] = f[2] }
    line ~ /^(OK|FAILED)( \(.*\))?$/ && (key in ran) {
      n = 0; s = 0
      if (match(line, /failures=[0-9]+/)) n += substr(line, RSTART + 9, RLENGTH - 9)
      if (match(line, /errors=[0-9]+/)) n += substr(line, RSTART + 7, RLENGTH - 7)
      if (match(line, /skipped=[0-9]+/)) s += substr(line, RSTART + 8, RLENGTH - 8)
      if (ran[key] == 0 && n + s == 0) n = 1  # a file without tests is a mistake; one that is skipped as a whole runs none
      if (ran[key] > 0 && s > ran[key] - n) s = ran[key] > n ? ran[key] - n : 0  # each part of a test may be skipped by itself
      bad[key] += n; over[key] += s; good[key] += ran[key] > 0 ? ran[key] - n - s : 0; delete ran[key]
    }
    match(line, /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: /) {
      split(line, f, "#"); split(f[2], g, ":"); entry[g[1]] = line ~ / Passed +[0-9.]+ sec/ ? "good" : "bad"
    }
    END {
      for (k in entry) {
        if (entry[k] == "bad" && bad[k] == 0) bad[k] = 1
        if (entry[k] == "good" && good[k] + bad[k] + over[k] == 0) good[k] = 1
      }
      for (k in good) all_good += good[k]; for (k in bad) all_bad += bad[k]; for (k in over) all_over += over[k]
      print all_good + 0, all_bad + 0, all_over + 0
    }' "$1"
}

# run STEP COMMAND…: runs it with its output in a log and prints one line. Counts the tests that the log tells, else the step as one.
run() {
  local name=$1 log good bad over status; shift
  log="$logs/test-${name// /-}.log"
  step_start=$(now)
  "$@" >"$log" 2>&1; status=$?
  read -r good bad over < <(count_tests "$log")
  if [ $status != 0 ] && [ "$bad" = 0 ]; then bad=1
  elif [ $((good + bad + over)) = 0 ]; then good=1; fi
  passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + over))
  if [ "$bad" = 0 ]; then
    printf '%-12s ok      %5d passed%s  %s\n' "$name" "$good" "$([ "$over" = 0 ] || echo ", $over skipped")" "$(took "$step_start")"
    return 0
  fi
  printf '%-12s FAILED  %5d passed, %d failed  %s\n' "$name" "$good" "$bad" "$(took "$step_start")"
  grep -E '\[  FAILED  \]|^(FAIL|ERROR): |\*\*\*|: error|ERROR: (Address|Leak|Undef)|runtime error:' "$log" | sort -u | head -n 20 | sed 's/^/    /'
  show_log "$log" 30 2>&1
  failures+=("$name")
  return 1
}

# skip STEP WHY: a step that cannot run here; said, and counted as skipped.
skip() { printf '%-12s skipped: %s\n' "$1" "$2"; skipped=$((skipped + 1)); }

finish() {
  [ ${#failures[@]} = 0 ] || printf 'failed: %s\n' "${failures[*]}"
  if [ $skipped = 0 ]; then printf '%d passed, %d failed\n' $passed $failed
  else printf '%d passed, %d failed, %d skipped\n' $passed $failed $skipped; fi
  [ $failed = 0 ] || exit 1
  exit 0
}

run_ctest() { ctest --test-dir "$1" --verbose --timeout 600 -j "$(jobs)" "${@:2}"; }

python_test() { ANEDVD_PROGRAM="$build/bin/anedvd" "$python" -m unittest -v "$1"; }

# Steps are named here, not numbered.
say_step() { printf '%-12s %s\n' "$1" "$2" >&2; }
