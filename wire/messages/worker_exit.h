#pragma once
// The end of a worker as its agent reports it.
//
// The report says what was observed; the supervisor decides what was to blame. Field numbers are
// never reused.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/exit_status.h"
#include "base/core/ids.h"
#include "base/core/script_end.h"
#include "wire/messages/facts.h"

namespace robustrun::wire {

// base::ExitStatus with a field list.
struct ProcessEnd {
  base::ExitStatus::Kind kind = base::ExitStatus::Kind::kExited;
  std::int32_t code = 0;
  bool core_dumped = false;
  template <class V>
  void fields(V& v) {
    v(1, "kind", kind);
    v(2, "code", code);
    v(3, "core_dumped", core_dumped);
  }
  [[nodiscard]] base::ExitStatus status() const { return {kind, code, core_dumped}; }
};

// The content of TORCHELASTIC_ERROR_FILE (docs/compat.md).
struct ErrorFile {
  std::string path;
  std::string message;
  std::string callstack;
  std::int64_t timestamp_s = 0;  // Unix seconds; 0: none given
  template <class V>
  void fields(V& v) {
    v(1, "path", path);
    v(2, "message", message);
    v(3, "callstack", callstack);
    v(4, "timestamp_s", timestamp_s);
  }
};

struct WorkerExited {
  base::Attempt attempt;
  base::LocalRank local_rank;
  std::int32_t pid = 0;
  ProcessEnd end;
  base::Nanos at{};                  // when the shim saw the end
  bool stopped_by_us = false;        // the worker ended after a stop order: not a failure
  bool shim_lost = false;            // the shim was killed; `end` is then assumed to be SIGKILL
  OomKiller oom = OomKiller::kNo;
  std::optional<ErrorFile> error_file;
  std::vector<std::string> stderr_tail;  // last lines, bounded (agent/output/limits.h)
  std::uint64_t dropped_bytes = 0;  // of its output, lost to a full disk or a blocked console
  // how far the script had come, if the worker failed; never set in compat mode
  base::ScriptEnd script_end = base::ScriptEnd::kNotSeen;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "local_rank", local_rank);
    v(3, "pid", pid);
    v(4, "end", end);
    v(5, "at", at);
    v(6, "stopped_by_us", stopped_by_us);
    v(7, "shim_lost", shim_lost);
    v(8, "oom", oom);
    v(9, "error_file", error_file);
    v(10, "stderr_tail", stderr_tail);
    v(11, "dropped_bytes", dropped_bytes);
    v(12, "script_end", script_end);
  }
};

}  // namespace robustrun::wire
