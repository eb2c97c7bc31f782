#!/usr/bin/env bash
# Runs every test; the last line is "N passed, N failed". An entry of CTest or a fuzzer is one test.
# Before that line come the skipped cases with their reasons, and the failed tests with the lines
# that show the cause. Cases that are skipped because a Python package is missing which
# install-deps.sh installs count as a failed test.
#
# Tests with real processes and deadlines run beside each other and beside a compiler. If few of them
# fail, these run once more, alone; a test that then passes counts as passed and is listed as
# unsteady.
#
#   scripts/test.sh [--times] [SECONDS [LABELS]]   SECONDS per fuzzer (default 2); LABELS of CTest, a
#                                                  regular expression; --times prints durations, too
set -uo pipefail
cd "$(dirname "$0")/.."
times=
[ "${1:-}" != --times ] || { times=$(mktemp); shift; }
fuzz_seconds=${1:-2}
labels=${2:-^ci$}
jobs=$(nproc)
unsteady_max=6  # more failures than this are not chance
counts=$(mktemp)  # a line per phase: passed, failed
failures=$(mktemp)
unsteady=$(mktemp)
skipped=$(mktemp)
builder=
fuzzers=
clean() {
  [ -z "$builder" ] || kill -- "-$builder" 2> /dev/null
  [ -z "$fuzzers" ] || kill -- "-$fuzzers" 2> /dev/null
  rm -f "$counts" "$failures" "$unsteady" "$skipped" "$times"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# The sanitizers' symbolizer: llvm-symbolizer may be missing.
symbolizer=external_symbolizer_path=$(command -v addr2line)
export ASAN_OPTIONS=$symbolizer UBSAN_OPTIONS=$symbolizer:print_stacktrace=1 TSAN_OPTIONS=$symbolizer

# Sanitized in every run: bytes from elsewhere, threads, memory that is mapped or shared, and all
# parsers, by the fuzzers. The other rooms take too long to build, and are sanitized at night.
export tsan_targets="test_base test_wire test_tracer test_checkpoint"
export asan_targets="test_base test_wire test_tracer test_checkpoint test_bootstrap test_loader
  fuzzers"
case $labels in *nightly*)
  tsan_targets+=" test_agent test_supervisor"
  asan_targets+=" test_agent test_supervisor test_cli test_topo test_sim test_simulator"
  asan_targets+=" test_launcher test_probe" ;;
esac

phase() {  # name, command…; the command's time goes to the table of --times
  local name=$1 began=$SECONDS status
  shift
  "$@"
  status=$?
  [ -z "$times" ] || printf '%6d s  %s\n' $((SECONDS - began)) "$name" >> "$times"
  return $status
}

slowest() {  # a folder of CTest; prints its slowest entries
  sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) .* ([0-9]+)\.[0-9]+ sec.*/\2 \1/p' "$1/ctest.log" |
    sort -rn | head -n 20 | while read -r took name; do printf '%6d s    %s\n' "$took" "$name"; done
}

costliest() {  # a folder of CTest; prints the entries of tests/timed that took most processor time
  awk '/ Testing: / { name = $3 } /^processor time: / { print $3 + $4, name }' \
    "$1/Testing/Temporary/LastTest.log" | sort -rn | head -n 30 |
    while read -r took name; do printf '%6d s    %s\n' "$took" "$name"; done
}

tell_times() {
  [ -n "$times" ] || return 0
  echo "Where the time went (the sanitizers are built while tests run, several tests at once):"
  cat "$times"
  echo "The slowest entries of CTest, beside others:"
  slowest build
  echo "Those that took most of the processors:"
  costliest build
}

count() {  # passed, failed
  echo "$1 $2" >> "$counts"
}

build() {  # folder, targets…; a build that fails is one failed test
  cmake --build "$@" && return
  echo "cannot build $*" | tee -a "$failures" >&2
  count 0 1
  return 1
}

# Builds the sanitized tests while other tests run, with the lowest priority: in a session of its own,
# since kernels with sched_autogroup_enabled apply nice only within a session.
build_meanwhile() {
  setsid nice -n 19 bash -c 'echo 19 > /proc/self/autogroup
    cmake --preset asan > /dev/null && cmake --build build/asan -j "$1" --target $asan_targets
    cmake --preset tsan > /dev/null && cmake --build build/tsan -j "$1" --target $tsan_targets
    ' bash "$jobs" > build/sanitized.log 2>&1 &
  builder=$!
}

built() {  # waits for the build in the background; the next build shows its errors again
  [ -z "$builder" ] || wait "$builder"
  builder=
}

tell() {  # verdict, name; a failed test's output on stdin; prints the lines that show the cause
  echo "$1: $2"
  grep -E '^E  |^FAILED|ERROR|rror: |\*\*\*(Timeout|Exception|Not Run)' | cut -c 1-140 |
    awk 'NR <= 3 { print "    " $0 } NR > 3 { before = last; last = $0 }
         END { if (before) print "    " before; if (last) print "    " last }'
  return 0
}

failed_in() {  # a log of ctest; prints the names of failed tests
  sed -nE 's|^ *[0-9]+/[0-9]+ Test +#[0-9]+: ([^ ]+) .*\*\*\*.*|\1|p' "$1" | sort
}

tell_of_ctest() {  # verdict, folder, its log; names on stdin
  local name
  while read -r name; do
    awk -v name="$name" '/^ *[0-9]+\/[0-9]+ Test +#/ { on = ($4 == name || $5 == name) } on' "$3" |
      tell "$1" "$name ($2)"
  done
}

# Of lines about skipped tests on stdin: those skipped because a Python package is missing which
# install-deps.sh installs. Nightly files also test with packages that not every machine can have.
lacking_packages() {
  grep -E "could not import '|[a-zA-Z_.]+ is not installed" | grep -vE '/nightly_[^/]*\.py:'
}

run_ctest() {  # folder, ctest's options…
  local folder=$1 log=$1/ctest.log again=$1/ctest-again.log
  shift
  rm -f "$again"
  # More tests at once than processors: tests mostly wait.
  ctest --test-dir "$folder" --output-on-failure -j $((3 * jobs)) "$@" | tee "$log"
  # ctest shows nothing of a test that passed.
  sed -nE 's/^SKIPPED /skipped: /p' "$folder/Testing/Temporary/LastTest.log" > "$folder/skipped"
  cat "$folder/skipped" >> "$skipped"
  local lacking
  lacking=$(lacking_packages < "$folder/skipped")
  if [ -n "$lacking" ]; then
    echo "failed: scripts/install-deps.sh test was not run:
$lacking" >> "$failures"
    count 0 1
  fi
  local bad all
  read -r bad all < <(sed -nE 's/.* ([0-9]+) tests failed out of ([0-9]+)/\1 \2/p' "$log")
  [ -n "${all:-}" ] || { count 0 1; return; }
  # A finding of a sanitizer is an error, even if it does not come again.
  if [ "$bad" -gt 0 ] && [ "$bad" -le $unsteady_max ] &&
     ! grep -qE 'ERROR: [A-Za-z]+Sanitizer|runtime error: ' "$log"; then
    built  # so that nothing runs beside them
    fuzzed
    ctest --test-dir "$folder" --output-on-failure --rerun-failed | tee "$again"
  fi
  if grep -qs "tests failed out of $bad\$" "$again"; then
    comm -23 <(failed_in "$log") <(failed_in "$again") |
      tell_of_ctest "unsteady, passed alone" "$folder" "$log" >> "$unsteady"
    bad=$(failed_in "$again" | wc -l)
    failed_in "$again" | tell_of_ctest failed "$folder" "$again" >> "$failures"
  else
    failed_in "$log" | tell_of_ctest failed "$folder" "$log" >> "$failures"
  fi
  count $((all - bad)) "$bad"
}

fuzz() {
  local log=build/fuzz.log
  tests/fuzz/run "$fuzz_seconds" | tee "$log"
  [ "${PIPESTATUS[0]}" = 0 ] || grep -q 'FOUND SOMETHING' "$log" || count 0 1  # not built
  count "$(grep -c 'inputs tried' "$log")" "$(grep -c 'FOUND SOMETHING' "$log")"
  sed -nE 's/^([a-z_]+: FOUND SOMETHING.*)/failed: fuzzer \1/p' "$log" >> "$failures"
}

sanitized_units() {  # a regular expression of CTest: the tests that were built
  local names=${asan_targets//test_/unit.}
  # shellcheck disable=SC2086
  printf '^(%s)(\.apart)?$' "$(echo ${names/fuzzers/} | tr ' ' '|')"
}

# Unit tests under AddressSanitizer and UBSan, and beside them, as they mostly wait, the fuzzers.
asan() {
  cmake --preset asan > /dev/null || { count 0 1; return; }
  # shellcheck disable=SC2086
  phase "build with ASan" build build/asan --target $asan_targets || return
  set -m  # in a group of their own, which clean() can end
  phase "fuzzers, beside the unit tests" fuzz > build/fuzzers.log 2>&1 &
  fuzzers=$!
  set +m
  phase "unit tests under ASan and UBSan" run_ctest build/asan -L unit -R "$(sanitized_units)"
  fuzzed
  cat build/fuzzers.log
}

fuzzed() {  # waits for the fuzzers in the background
  [ -z "$fuzzers" ] || wait "$fuzzers"
  fuzzers=
}

# Tests of code with threads: pool, channel, writers, pumps and console; NCCL's plugin; checkpoints'
# mounts and copies.
tsan() {
  local tests around=() running=() log
  # Threads that touch mounts and memory. The test of a tensor that changes while it is copied has an
  # intended race.
  local threaded='*/directory_lock_*,*/mount_threads_*,*/stuck_mount_*,*/bulk_read_*,*/staging_*'
  local race='*changes*while*it*is*copied*'
  threaded+=',*/hold_board_*'
  cmake --preset tsan > /dev/null || { count 0 1; return; }
  # shellcheck disable=SC2086
  phase "build with TSan" build build/tsan --target $tsan_targets || return
  # The thread sanitizer cannot handle the address randomization of newer kernels.
  setarch "$(uname -m)" -R true 2> /dev/null && around=(setarch "$(uname -m)" -R)
  for tests in test_base test_wire "test_agent -sf=*/log_*,*/health_*" "test_supervisor -sf=*/console_*" \
      "test_tracer -sf=*/plugin_*" "test_checkpoint -sf=$threaded -tce=$race"; do
    [[ " $tsan_targets " == *" ${tests%% *} "* ]] || continue
    # shellcheck disable=SC2086
    (set -f; "${around[@]}" build/tsan/bin/$tests > "build/tsan/${tests%% *}.log" 2>&1) &
    running+=("$! $tests")
  done
  for tests in "${running[@]}"; do
    local pid=${tests%% *}
    tests=${tests#* }
    log=build/tsan/${tests%% *}.log
    if wait "$pid"; then count 1 0; else
      count 0 1
      tell failed "$tests (build/tsan)" < "$log" >> "$failures"
    fi
    echo "tsan: $tests"
    cat "$log"
  done
}

phase "build" build build && build_meanwhile && phase "tests" run_ctest build -L "$labels"
phase "waiting for the sanitizers' build" built
asan
phase "threads under TSan, with the build" tsan
tell_times

cat "$skipped" "$unsteady" "$failures"
awk '{ passed += $1; failed += $2 }
     END { print passed + 0 " passed, " failed + 0 " failed"; exit failed > 0 }' "$counts"
