#pragma once
// What a supervisor and an agent say to each other, as plain structs.
//
// docs/formats/robustrun.proto is the same in protobuf's schema language. Numbers are never
// reused. Every order carries the attempt it belongs to; an agent ignores orders, and a
// supervisor ignores reports, of an attempt that is not current. Times are CLOCK_MONOTONIC of
// the sender. Strings are bytes: arguments, paths and output need not be UTF-8.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/core/clock.h"
#include "base/core/exit_status.h"
#include "base/core/ids.h"

namespace robustrun::wire {

inline constexpr std::uint32_t kProtocolVersion = 1;

// ExitStatus for the codecs.
struct ProcessEnd {
  base::ExitStatus::Kind kind = base::ExitStatus::Kind::kExited;
  std::int32_t code = 0;
  bool core_dumped = false;
  template <class V>
  void fields(V& v) { v(1, "kind", kind); v(2, "code", code); v(3, "core_dumped", core_dumped); }
  [[nodiscard]] base::ExitStatus status() const { return {kind, code, core_dumped}; }
};

// Where one stream of one worker goes (torchrun's --redirects and --tee, --local-ranks-filter).
enum class StreamRoute : std::uint8_t {
  kInherit,         // the worker writes to the launcher's own descriptor (torchrun's default)
  kConsole,         // captured, passed on to the supervisor's console
  kFile,            // captured into the log file alone
  kFileAndConsole,  // both: native default, and --tee
  kDiscard,         // --local-ranks-filter without a file
};

enum class LaunchMode : std::uint8_t { kScript, kModule, kExecutable, kRunPath };

enum class StopReason : std::uint8_t { kNone, kRestart, kPreempt, kStop };

// What all workers of one node share. See agent/worker_command.h for how it becomes argv and env.
struct WorkerTemplate {
  LaunchMode mode = LaunchMode::kScript;
  std::string interpreter;            // absolute path; empty for kExecutable
  std::string program;                // script, module or executable, as the user wrote it
  std::vector<std::string> arguments; // with ${local_rank} still in them
  std::vector<std::string> environment;  // NAME=VALUE, the caller's minus the deny-list
  std::string working_directory;
  std::string python_path;            // folder that holds the robustrun package; empty: no injection
  std::string log_directory;          // this node's; attempts are made below it; empty: no files
  std::string run_id;                 // TORCHELASTIC_RUN_ID
  std::string role = "default";
  std::string line_prefix_template;   // TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE; empty: none given
  std::string numa_binding;           // empty, node, socket, exclusive, core-complex
  std::string omp;                    // auto, torchrun, off, or a number
  std::vector<std::string> stdout_filters;  // --duplicate-stdout-filters
  std::vector<std::string> stderr_filters;
  std::string signals_to_handle;      // exported as TORCHELASTIC_SIGNALS_TO_HANDLE
  std::uint32_t max_restarts = 0;
  std::uint32_t stack_signal = 0;     // real-time signal number for faulthandler; 0: none
  bool compat = false;                // --compat=torchrun
  bool virtual_local_rank = false;
  std::optional<std::uint32_t> stdin_rank;  // global rank that gets the launcher's stdin
  template <class V>
  void fields(V& v) {
    v(1, "mode", mode); v(2, "interpreter", interpreter); v(3, "program", program);
    v(4, "arguments", arguments); v(5, "environment", environment);
    v(6, "working_directory", working_directory); v(7, "python_path", python_path);
    v(8, "log_directory", log_directory); v(9, "run_id", run_id); v(10, "role", role);
    v(11, "line_prefix_template", line_prefix_template); v(12, "numa_binding", numa_binding);
    v(13, "omp", omp); v(14, "stdout_filters", stdout_filters);
    v(15, "stderr_filters", stderr_filters); v(16, "signals_to_handle", signals_to_handle);
    v(17, "max_restarts", max_restarts); v(18, "stack_signal", stack_signal);
    v(19, "compat", compat); v(20, "virtual_local_rank", virtual_local_rank);
    v(21, "stdin_rank", stdin_rank);
  }
};

// One worker's place in the job (torchrun.md a.2.1).
struct WorkerSlot {
  base::Rank rank;
  base::LocalRank local_rank;
  std::uint32_t role_rank = 0;
  StreamRoute out = StreamRoute::kFileAndConsole;
  StreamRoute err = StreamRoute::kFileAndConsole;
  template <class V>
  void fields(V& v) {
    v(1, "rank", rank); v(2, "local_rank", local_rank); v(3, "role_rank", role_rank);
    v(4, "out", out); v(5, "err", err);
  }
};

// Supervisor → agent -------------------------------------------------------------------------

// First message to an agent, answer to its Hello.
struct Welcome {
  std::uint32_t protocol = kProtocolVersion;
  base::NodeId node;
  base::Generation generation;
  WorkerTemplate workers;
  template <class V>
  void fields(V& v) {
    v(1, "protocol", protocol); v(2, "node", node); v(3, "generation", generation);
    v(4, "workers", workers);
  }
};

// Asks for a free TCP port outside the kernel's ephemeral range; answered by PortReserved.
struct ReservePort {
  base::Attempt attempt;
  template <class V>
  void fields(V& v) { v(1, "attempt", attempt); }
};

struct StartWorkers {
  base::Attempt attempt;
  std::vector<WorkerSlot> slots;
  std::uint32_t group_rank = 0;
  std::uint32_t group_world_size = 1;
  std::uint32_t world_size = 1;
  std::string master_addr;
  std::uint32_t master_port = 0;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt); v(2, "slots", slots); v(3, "group_rank", group_rank);
    v(4, "group_world_size", group_world_size); v(5, "world_size", world_size);
    v(6, "master_addr", master_addr); v(7, "master_port", master_port);
  }
};

// Signal to every living worker's group, SIGKILL of the whole tree after `grace`; answered by
// WorkersGone. Repeating it with a shorter grace shortens the wait.
struct StopWorkers {
  base::Attempt attempt;
  std::int32_t signal = 15;
  base::Nanos grace{};
  StopReason reason = StopReason::kStop;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt); v(2, "signal", signal); v(3, "grace", grace);
    v(4, "reason", reason);
  }
};

// Passes a user's signal (SIGUSR1, SIGUSR2) on to the workers; nothing else happens.
struct SignalWorkers {
  base::Attempt attempt;
  std::int32_t signal = 0;
  template <class V>
  void fields(V& v) { v(1, "attempt", attempt); v(2, "signal", signal); }
};

// The run is over: the agent kills what is left, answers Bye and exits 0.
struct Dismiss {
  template <class V>
  void fields(V&) {}
};

// Agent → supervisor -------------------------------------------------------------------------

struct Hello {
  std::uint32_t protocol = kProtocolVersion;
  std::string host;
  std::int32_t pid = 0;
  template <class V>
  void fields(V& v) { v(1, "protocol", protocol); v(2, "host", host); v(3, "pid", pid); }
};

struct PortReserved {
  base::Attempt attempt;
  std::uint32_t port = 0;    // 0: failed
  std::string error;
  template <class V>
  void fields(V& v) { v(1, "attempt", attempt); v(2, "port", port); v(3, "error", error); }
};

struct WorkerStarted {
  base::Attempt attempt;
  base::LocalRank local_rank;
  std::int32_t pid = 0;
  base::Nanos at{};
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt); v(2, "local_rank", local_rank); v(3, "pid", pid); v(4, "at", at);
  }
};

// The worker's program never ran. `what` names the stage, the object and the cause.
struct WorkerStartFailed {
  base::Attempt attempt;
  base::LocalRank local_rank;
  std::int32_t os_errno = 0;
  std::string what;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt); v(2, "local_rank", local_rank); v(3, "os_errno", os_errno);
    v(4, "what", what);
  }
};

struct Metric {
  std::string name;
  double value = 0;
  template <class V>
  void fields(V& v) { v(1, "name", name); v(2, "value", value); }
};

// A change in a worker's progress record (tracer/progress_record.h), at most 10 a second.
struct WorkerProgress {
  base::Attempt attempt;
  base::LocalRank local_rank;
  std::uint64_t steps = 0;              // optimizer steps since the process started
  std::optional<std::int64_t> step;     // the script's own number, from robustrun.step(n)
  std::optional<base::Nanos> user_code_at;   // when the user's script began
  std::optional<base::Nanos> first_step_at;
  std::optional<base::Nanos> last_step_at;
  std::vector<Metric> metrics;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt); v(2, "local_rank", local_rank); v(3, "steps", steps);
    v(4, "step", step); v(5, "user_code_at", user_code_at);
    v(6, "first_step_at", first_step_at); v(7, "last_step_at", last_step_at);
    v(8, "metrics", metrics);
  }
};

enum class OomKiller : std::uint8_t { kNo, kUnknown, kKernel, kCgroup };

// TORCHELASTIC_ERROR_FILE as its worker left it (torchrun.md a.8).
struct ErrorFile {
  std::string path;
  std::string message;
  std::string callstack;
  std::int64_t timestamp_s = 0;  // Unix seconds; 0: none given
  template <class V>
  void fields(V& v) {
    v(1, "path", path); v(2, "message", message); v(3, "callstack", callstack);
    v(4, "timestamp_s", timestamp_s);
  }
};

struct WorkerExited {
  base::Attempt attempt;
  base::LocalRank local_rank;
  std::int32_t pid = 0;
  ProcessEnd end;
  base::Nanos at{};                  // when the shim saw it
  bool stopped_by_us = false;        // after our stop order: no failure of its own
  bool shim_lost = false;            // the shim was killed; `end` is then SIGKILL by inference
  OomKiller oom = OomKiller::kNo;
  std::optional<ErrorFile> error_file;
  std::vector<std::string> stderr_tail;  // last lines, bounded (agent/limits.h)
  std::uint64_t dropped_bytes = 0;       // of its output (full disk, blocked console)
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt); v(2, "local_rank", local_rank); v(3, "pid", pid); v(4, "end", end);
    v(5, "at", at); v(6, "stopped_by_us", stopped_by_us); v(7, "shim_lost", shim_lost);
    v(8, "oom", oom); v(9, "error_file", error_file); v(10, "stderr_tail", stderr_tail);
    v(11, "dropped_bytes", dropped_bytes);
  }
};

// No worker of the attempt and no descendant of one is left on this node.
struct WorkersGone {
  base::Attempt attempt;
  std::uint32_t descendants_killed = 0;
  std::vector<std::string> unkillable;    // "pid 12 (python), D state in nfs_wait"
  std::vector<std::string> shm_removed;   // stale /dev/shm names
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt); v(2, "descendants_killed", descendants_killed);
    v(3, "unkillable", unkillable); v(4, "shm_removed", shm_removed);
  }
};

struct Heartbeat {
  std::uint64_t sequence = 0;
  base::Nanos loop_lag{};
  template <class V>
  void fields(V& v) { v(1, "sequence", sequence); v(2, "loop_lag", loop_lag); }
};

// A line for robustrun's own log, from the agent.
struct Notice {
  std::uint8_t level = 0;            // base/io/log.h
  std::optional<base::Rank> rank;
  std::string text;
  template <class V>
  void fields(V& v) { v(1, "level", level); v(2, "rank", rank); v(3, "text", text); }
};

// Captured output: whole lines, except when `partial` (the rest follows, or the stream ended).
struct Output {
  base::Rank rank;
  base::LocalRank local_rank;
  bool is_stderr = false;
  bool partial = false;
  std::string bytes;
  template <class V>
  void fields(V& v) {
    v(1, "rank", rank); v(2, "local_rank", local_rank); v(3, "is_stderr", is_stderr);
    v(4, "partial", partial); v(5, "bytes", bytes);
  }
};

struct Bye {
  template <class V>
  void fields(V&) {}
};

// The position in this list is the `kind` byte of a frame: append only.
using Message = std::variant<Hello, Welcome, ReservePort, PortReserved, StartWorkers, WorkerStarted,
                             WorkerStartFailed, StopWorkers, SignalWorkers, WorkerProgress,
                             WorkerExited, WorkersGone, Heartbeat, Notice, Output, Dismiss, Bye>;

}  // namespace robustrun::wire
