#!/usr/bin/env bash
# Every test; the last line is "N passed, N failed". An entry of CTest or a fuzzer is one test.
#
#   scripts/test.sh [SECONDS [LABELS]]     per fuzzer (default 5); of CTest, a regular expression
set -uo pipefail
cd "$(dirname "$0")/.."
fuzz_seconds=${1:-5}
labels=${2:-^ci$}
jobs=$(nproc)
passed=0
failed=0

# Sanitizers name places with it: clang's own llvm-symbolizer need not be there.
symbolizer=external_symbolizer_path=$(command -v addr2line)
export ASAN_OPTIONS=$symbolizer UBSAN_OPTIONS=$symbolizer:print_stacktrace=1 TSAN_OPTIONS=$symbolizer

count() {  # passed, failed
  passed=$((passed + $1))
  failed=$((failed + $2))
}

build() {  # folder, targets…; a build that fails is one failed test
  cmake --build "$@" && return
  echo "cannot build $*" >&2
  count 0 1
  return 1
}

run_ctest() {  # folder, ctest's options…
  local folder=$1 log=$1/ctest.log
  shift
  ctest --test-dir "$folder" --output-on-failure -j "$jobs" "$@" | tee "$log"
  local bad all
  read -r bad all < <(sed -nE 's/.* ([0-9]+) tests failed out of ([0-9]+)/\1 \2/p' "$log")
  [ -n "${all:-}" ] || { count 0 1; return; }
  count $((all - bad)) "$bad"
}

fuzz() {
  local log=build/fuzz.log
  tests/fuzz/run "$fuzz_seconds" | tee "$log"
  [ "${PIPESTATUS[0]}" = 0 ] || grep -q 'FOUND SOMETHING' "$log" || count 0 1  # not built
  count "$(grep -c 'inputs tried' "$log")" "$(grep -c 'FOUND SOMETHING' "$log")"
}

# All unit tests under AddressSanitizer and UBSan, and the fuzzers.
asan() {
  local targets
  cmake --preset asan > /dev/null || { count 0 1; return; }
  targets=$(ninja -C build/asan -t targets all | sed -nE 's/^(test_[a-z_]+|fuzzers): phony$/\1/p')
  # shellcheck disable=SC2086
  build build/asan --target $targets && run_ctest build/asan -L unit && fuzz
}

# What has threads, or talks to one: pool, channel, writers, pumps and console; NCCL's plugin;
# checkpoints' mounts and copies.
tsan() {
  local tests around=()
  # What threads touch mounts and memory with; a tensor that somebody changes is a race on purpose.
  local threaded='*/directory_lock_*,*/mount_threads_*,*/stuck_mount_*,*/bulk_read_*,*/staging_*'
  local race='*changes*while*it*is*copied*'
  threaded+=',*/hold_board_*'
  cmake --preset tsan > /dev/null || { count 0 1; return; }
  build build/tsan --target test_base test_wire test_agent test_supervisor test_tracer \
    test_checkpoint || return
  # The thread sanitizer cannot live with as random addresses as newer kernels give.
  setarch "$(uname -m)" -R true 2> /dev/null && around=(setarch "$(uname -m)" -R)
  for tests in test_base test_wire "test_agent -sf=*/log_*,*/health_*" "test_supervisor -sf=*/console_*" \
      "test_tracer -sf=*/plugin_*" "test_checkpoint -sf=$threaded -tce=$race"; do
    echo "tsan: $tests"
    # shellcheck disable=SC2086
    (set -f; "${around[@]}" build/tsan/bin/$tests) && count 1 0 || count 0 1
  done
}

build build && run_ctest build -L "$labels"
asan
tsan

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
