#pragma once
// Reports of an agent to its supervisor, as plain structs (with worker_exit.h).
//
// Reports about workers, except Output, carry their attempt; a supervisor ignores reports of any
// but the current one. Times are CLOCK_MONOTONIC of the agent. docs/formats/robustrun.proto has the
// same in protobuf's schema language; numbers are never reused.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "wire/messages/facts.h"
#include "wire/messages/version.h"
#include "wire/messages/worker_exit.h"

namespace robustrun::wire {

// An agent's first message on every connection, except on one to enrol. When an agent reconnects
// after a broken connection, its reports about starts and ends in `attempt` follow once more, since
// any of them may have been lost.
struct Hello {
  std::uint32_t protocol = kProtocolVersion;
  std::string host;
  std::int32_t pid = 0;
  std::string address;  // numeric, of the interface that carries the connection or --iface
  std::uint32_t slots = 0;  // workers this node offers; 0: the supervisor decides
  std::optional<base::Attempt> attempt;  // of the workers that it has or had; none: new
  base::Nanos at{};  // by the agent's clock
  std::string listens{};  // numeric endpoint for a supervisor with an unknown address; empty: none
  std::string bulk{};  // numeric endpoint for its peers (wire/bulk/bulk_listener.h); empty: none
  base::Nanos began{};  // start of its process, by the same clock; 0: unknown
  std::uint32_t ordered_by = 0;  // of `attempt`, from StartWorkers; 0: unknown
  // All addresses of this machine from which its workers may connect to others, at most
  // kNodeAddressesMax; empty: unknown.
  std::vector<std::string> addresses{};
  template <class V>
  void fields(V& v) {
    v(1, "protocol", protocol);
    v(2, "host", host);
    v(3, "pid", pid);
    v(4, "address", address);
    v(5, "slots", slots);
    v(6, "attempt", attempt);
    v(7, "at", at);
    v(8, "listens", listens);
    v(9, "bulk", bulk);
    v(10, "began", began);
    v(11, "ordered_by", ordered_by);
    v(12, "addresses", addresses);
  }
};

struct WorkerStarted {
  base::Attempt attempt;
  base::LocalRank local_rank;
  std::int32_t pid = 0;
  base::Nanos at{};
  bool warm = false;  // it was a standby worker
  std::uint32_t ordered_by = 0;  // from StartWorkers; 0: unknown
  // Why no standby worker took this place in a restart; empty: one did, or none was expected.
  std::string cold{};
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "local_rank", local_rank);
    v(3, "pid", pid);
    v(4, "at", at);
    v(5, "warm", warm);
    v(6, "ordered_by", ordered_by);
    v(7, "cold", cold);
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
    v(1, "attempt", attempt);
    v(2, "local_rank", local_rank);
    v(3, "os_errno", os_errno);
    v(4, "what", what);
  }
};

// A change in a worker's progress record (tracer/progress_record.h), at most 10 a second.
struct WorkerProgress {
  base::Attempt attempt;
  base::LocalRank local_rank;
  std::uint64_t steps = 0;  // optimizer steps since the process started
  std::optional<std::int64_t> step;  // the script's own number, from robustrun.step(n)
  std::optional<base::Nanos> user_code_at;  // when the user's script began
  std::optional<base::Nanos> first_step_at;
  std::optional<base::Nanos> last_step_at;
  std::vector<Metric> metrics;
  std::uint64_t lines = 0;  // lines of output that held a metric (WorkerTemplate::metrics)
  // Steps of earlier processes, as the state of the worker's optimizer says; none: unknown.
  std::optional<std::uint64_t> steps_before;
  std::uint64_t lines_read = 0;  // lines of output that were searched for metrics
  base::Nanos data_waited{};  // time of all waits for training data that have ended
  std::optional<base::Nanos> data_wait_since{};  // begin of the wait that lasts; none: no wait
  std::string data_place{};  // what it waits for: "source web, /data/web-0.bin"; empty: unknown
  std::uint64_t data_skipped = 0;  // records of text that the training skips (max_skips)
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "local_rank", local_rank);
    v(3, "steps", steps);
    v(4, "step", step);
    v(5, "user_code_at", user_code_at);
    v(6, "first_step_at", first_step_at);
    v(7, "last_step_at", last_step_at);
    v(8, "metrics", metrics);
    v(9, "lines", lines);
    v(10, "steps_before", steps_before);
    v(11, "lines_read", lines_read);
    v(12, "data_waited", data_waited);
    v(13, "data_wait_since", data_wait_since);
    v(14, "data_place", data_place);
    v(15, "data_skipped", data_skipped);
  }
};

// Both ways.
struct Heartbeat {
  std::uint64_t sequence = 0;
  base::Nanos loop_lag{};  // how late the agent's loop sent it; 0 from a supervisor
  base::Nanos at{};  // when it was sent, by the sender's clock
  template <class V>
  void fields(V& v) {
    v(1, "sequence", sequence);
    v(2, "loop_lag", loop_lag);
    v(3, "at", at);
  }
};

// A line for robustrun's own log, from the agent.
struct Notice {
  std::uint8_t level = 0;  // base/io/log.h
  std::optional<base::Rank> rank;
  std::string text;
  template <class V>
  void fields(V& v) {
    v(1, "level", level);
    v(2, "rank", rank);
    v(3, "text", text);
  }
};

// Captured output in whole lines, except with `partial` (the rest follows, or the stream ended).
struct Output {
  base::Rank rank;
  base::LocalRank local_rank;
  bool is_stderr = false;
  bool partial = false;
  std::string bytes;
  template <class V>
  void fields(V& v) {
    v(1, "rank", rank);
    v(2, "local_rank", local_rank);
    v(3, "is_stderr", is_stderr);
    v(4, "partial", partial);
    v(5, "bytes", bytes);
  }
};

}  // namespace robustrun::wire
