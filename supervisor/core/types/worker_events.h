#pragma once
// What can happen to workers: events of an attempt that an agent reports. Plain data; see events.h.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/exit_status.h"
#include "base/core/ids.h"
#include "base/core/script_end.h"
#include "wire/messages/facts.h"

namespace robustrun::supervisor {

using wire::NodeEnding;
using wire::OomKiller;
using wire::WorkersGone;

struct WorkerStarted {
  base::Attempt attempt;
  base::Rank rank;
  std::int32_t pid = 0;
  bool warm = false;  // it was a standby worker
  std::uint32_t ordered_by = 0;  // as in its StartWorkers; 0: unknown
  // Why no standby worker was used although there should be one. Empty: one was used, or none was
  // expected.
  std::string cold{};
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "rank", rank);
    v(3, "pid", pid);
    v(4, "warm", warm);
    v(5, "ordered_by", ordered_by);
    v(6, "cold", cold);
  }
};

struct WorkerStartFailed {
  base::Attempt attempt;
  base::Rank rank;
  std::int32_t os_errno = 0;
  std::string what;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "rank", rank);
    v(3, "os_errno", os_errno);
    v(4, "what", what);
  }
};

struct WorkerExited {
  base::Attempt attempt;
  base::Rank rank;
  std::int32_t pid = 0;
  base::ExitStatus::Kind kind = base::ExitStatus::Kind::kExited;
  std::int32_t code = 0;
  bool core_dumped = false;
  bool stopped_by_us = false;  // after our stop order: not a failure
  bool shim_lost = false;  // the shim was killed; the end is then assumed to be SIGKILL
  OomKiller oom = OomKiller::kNo;
  std::string error_file;  // path; empty: none
  std::string error_message;
  std::string error_callstack;
  std::int64_t error_timestamp_s = 0;
  std::vector<std::string> stderr_tail;  // last lines
  std::uint64_t dropped_bytes = 0;  // of its output (full disk, blocked console)
  base::Nanos seen_at{};  // when the shim saw the end; supervisor's clock
  bool traced = false;  // its collectives were recorded (--trace), so that LookBack may help
  std::uint64_t steps = 0;  // its steps in this attempt, as far as they were reported
  std::optional<std::int64_t> step;  // the script's own number of the last step
  // Known in native mode, for a worker that did not exit with 0.
  base::ScriptEnd script_end = base::ScriptEnd::kNotSeen;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "rank", rank);
    v(3, "pid", pid);
    v(4, "kind", kind);
    v(5, "code", code);
    v(6, "core_dumped", core_dumped);
    v(7, "stopped_by_us", stopped_by_us);
    v(8, "shim_lost", shim_lost);
    v(9, "oom", oom);
    v(10, "error_file", error_file);
    v(11, "error_message", error_message);
    v(12, "error_callstack", error_callstack);
    v(13, "error_timestamp_s", error_timestamp_s);
    v(14, "stderr_tail", stderr_tail);
    v(15, "dropped_bytes", dropped_bytes);
    v(16, "seen_at", seen_at);
    v(17, "traced", traced);
    v(18, "steps", steps);
    v(19, "step", step);
    v(20, "script_end", script_end);
  }
  [[nodiscard]] base::ExitStatus status() const { return {kind, code, core_dumped}; }
  // Whether the worker's end counts as success: exit code 0, or a signal after the script, its
  // threads and its exit handlers had ended. Such a signal (mostly in a late thread of a native
  // library) has destroyed nothing.
  [[nodiscard]] bool ended_well() const {
    const bool is_signal = kind == base::ExitStatus::Kind::kSignaled && !shim_lost;
    return status().success() || (is_signal && script_end == base::ScriptEnd::kFinished);
  }
};

}  // namespace robustrun::supervisor
