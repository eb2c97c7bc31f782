#pragma once
// The layout of the progress record: one file per worker, in which the worker records its progress.
//
// The agent creates the file (0600, kCollectivesEnd bytes, zeroed, preallocated) beside the
// worker's socket and names it in ROBUSTRUN_RECORD. python/robustrun maps it and writes. The agent
// reads it with pread, never mmap, so that a worker that truncates it cannot harm the agent. The
// record stays readable after SIGKILL.
//
// This header describes the first page; the tables of collectives follow (record_collectives.h).
// Little endian, fixed offsets; docs/formats/progress-record.md has the same table. A reader
// accepts any minor version of its major version and ignores fields that it does not know. The
// worker's fields, except texts, are 8-byte words. Each is written by one aligned store, so that a
// reader sees either the old or the new value. Texts, and fields that must be read together (step
// and metrics), are under a sequence lock, whose value is odd during a write.

#include <array>
#include <cstddef>
#include <cstdint>

namespace robustrun::tracer {

inline constexpr std::array<char, 8> kRecordMagic = {'R', 'R', 'P', 'R', 'O', 'G', '0', '1'};
inline constexpr std::uint32_t kRecordMajor = 1;
inline constexpr std::uint32_t kRecordMinor = 6;
inline constexpr std::size_t kRecordBytes = 4096;  // the first page, and all of version 1.0
inline constexpr std::size_t kMetricsMax = 16;
inline constexpr std::size_t kMetricNameBytes = 24;  // NUL-padded UTF-8, cut to fit

struct RecordMetric {
  std::array<char, kMetricNameBytes> name;
  double value;
};

struct ProgressRecord {
  // Written by the agent before the worker starts.
  std::array<char, 8> magic;  //   0
  std::uint32_t major;  //   8
  std::uint32_t minor;  //  12
  std::uint32_t rank;  //  16
  std::uint32_t attempt;  //  20
  // Written by the agent before any stop signal: wire::StopReason in the low byte of the first
  // word, the deadline (CLOCK_MONOTONIC in ns, 0: none) in the second.
  std::uint64_t stop_reason;  //  24
  std::uint64_t stop_deadline_ns;  //  32
  std::array<std::uint64_t, 2> reserved_agent;  // 40
  // Steps of earlier processes + 1; 0: unknown. From the state of the first optimizer, before its
  // first step in this process. Written by the worker before `steps` becomes 1, not under the lock;
  // from minor version 3 on.
  std::uint64_t steps_before;  //  56
  // Written by the worker. All times are CLOCK_MONOTONIC in ns, 0: not yet.
  std::uint64_t worker_pid;  //  64
  std::uint64_t boot_at_ns;  //  72  the boot module's first line
  std::uint64_t user_code_at_ns;  //  80  just before the user's first line
  std::uint64_t sequence;  //  88  sequence lock of the words from here to the metrics
  std::uint64_t steps;  //  96  optimizer steps (or robustrun.step calls) so far
  std::uint64_t first_step_at_ns;  // 104
  std::uint64_t last_step_at_ns;  // 112
  std::uint64_t has_step;  // 120  1: `step` was given by robustrun.step(n)
  std::int64_t step;  // 128
  std::uint64_t metric_count;  // 136  at most kMetricsMax
  std::array<RecordMetric, kMetricsMax> metrics;  // 144 … 656
  // Stages of the start (docs/startup.md), not under the lock; from minor version 2 on.
  std::uint64_t imports_done_at_ns;  // 656  end of the script's last import; 1: one is running
  std::uint64_t group_begin_at_ns;  // 664  init_process_group
  std::uint64_t group_done_at_ns;  // 672
  std::uint64_t load_begin_at_ns;  // 680  first checkpoint load
  std::uint64_t load_done_at_ns;  // 688  last checkpoint load before the first step
  std::uint64_t optimizer_at_ns;  // 696  the first optimizer was created
};

// How far the script's end has come. After the counters (record_collectives.h), from minor version
// 3 on.
struct RecordEnd {
  std::uint64_t script_returned_at_ns;  // 896  its last line returned without an error
  std::uint64_t script_finished_at_ns;  // 904  its threads were joined and its exit handlers ran
};
inline constexpr std::size_t kRecordEndAt = 896;

// How long the script has waited for training data (docs/data.md). After RecordEnd, from minor
// version 5 on. `data_sequence` is odd while the texts are written; the other words are not under a
// lock. `data_waiting_since_ns` is written last when a wait begins, and first when the wait ends.
inline constexpr std::size_t kDataSourceBytes = 64;  // NUL-padded UTF-8, cut to fit
inline constexpr std::size_t kDataPathBytes = 192;  // the same, but the path's end is kept
struct RecordData {
  std::uint64_t data_batches;  // 912  that the script has received
  std::uint64_t data_waited_ns;  // 920  all waits that have ended
  std::uint64_t data_waiting_since_ns;  // 928  CLOCK_MONOTONIC; 0: the script is not waiting
  std::uint64_t data_sequence;  // 936
  std::array<char, kDataSourceBytes> data_source;  // 944  what the wait is for; empty: unknown
  std::array<char, kDataPathBytes> data_path;  // 1008
  std::uint64_t data_skipped;  // 1200  records that the training skips; from minor version 6 on
};
inline constexpr std::size_t kRecordDataAt = 912;

static_assert(sizeof(RecordData) == 1208 - kRecordDataAt);
static_assert(offsetof(RecordData, data_source) == 944 - kRecordDataAt);
static_assert(offsetof(ProgressRecord, stop_reason) == 24);
static_assert(offsetof(ProgressRecord, steps_before) == 56);
static_assert(offsetof(ProgressRecord, worker_pid) == 64);
static_assert(offsetof(ProgressRecord, sequence) == 88);
static_assert(offsetof(ProgressRecord, metric_count) == 136);
static_assert(offsetof(ProgressRecord, metrics) == 144);
static_assert(offsetof(ProgressRecord, imports_done_at_ns) == 656);
static_assert(sizeof(ProgressRecord) == 704);
static_assert(sizeof(ProgressRecord) <= kRecordBytes);

}  // namespace robustrun::tracer
