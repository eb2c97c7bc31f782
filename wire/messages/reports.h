#pragma once
// Reports of an agent to its supervisor (worker_exit.h has the one about a worker's end).
//
// Reports about workers, except Output, carry their attempt; a supervisor ignores reports of other
// attempts than the current one. Times are CLOCK_MONOTONIC of the agent.
// docs/formats/robustrun.proto has the messages in protobuf's schema language. Field numbers are
// never reused.

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

// An agent's first message on every connection except one for its enrolment. After a reconnection,
// the agent sends its reports about starts and ends of workers in `attempt` once more, since any of
// them may have been lost.
struct Hello {
  std::uint32_t protocol = kProtocolVersion;
  std::string host;
  std::int32_t pid = 0;
  std::string address;  // numeric, of the interface that carries the connection or --iface
  std::uint32_t slots = 0;  // workers that this node offers; 0: the supervisor decides
  // attempt of the agent's workers, living or dead; none: no workers yet
  std::optional<base::Attempt> attempt;
  base::Nanos at{};  // now, by the agent's clock
  // numeric endpoint where a later supervisor can reach the agent; empty: none
  std::string listens{};
  std::string bulk{};  // numeric endpoint for its peers (wire/bulk/bulk_listener.h); empty: none
  base::Nanos began{};  // start of the agent's process, by the same clock; 0: unknown
  std::uint32_t ordered_by = 0;  // StartWorkers::ordered_by of `attempt`; 0: unknown
  // All addresses from which this machine's workers may connect to other machines, at most
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
  bool warm = false;  // the worker was a standby worker
  std::uint32_t ordered_by = 0;  // StartWorkers::ordered_by; 0: unknown
  // Why no standby worker took this place in a restart. Empty: a standby worker did, or none was
  // expected to.
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

// The worker's program never ran. `what`: the step that failed, its object and the cause, in words.
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

// A worker's progress record (tracer/progress_record.h), when it has changed, at most 10 times a
// second.
struct WorkerProgress {
  base::Attempt attempt;
  base::LocalRank local_rank;
  std::uint64_t steps = 0;  // optimizer steps since the process started
  std::optional<std::int64_t> step;  // the script's own number, from robustrun.step(n)
  std::optional<base::Nanos> user_code_at;  // when the user's script began
  std::optional<base::Nanos> first_step_at;
  std::optional<base::Nanos> last_step_at;
  std::vector<Metric> metrics;
  std::uint64_t lines = 0;  // lines of output that contained a metric (WorkerTemplate::metrics)
  // Steps of earlier processes, from the state of the worker's optimizer; none: unknown.
  std::optional<std::uint64_t> steps_before;
  std::uint64_t lines_read = 0;  // lines of output that were searched for metrics
  base::Nanos data_waited{};  // total time of all waits for training data that have ended
  // start of the present wait for training data; none: no wait
  std::optional<base::Nanos> data_wait_since{};
  // what the worker waits for: "source web, /data/web-0.bin"; empty: unknown
  std::string data_place{};
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
  base::Nanos at{};  // time of sending, by the sender's clock
  template <class V>
  void fields(V& v) {
    v(1, "sequence", sequence);
    v(3, "at", at);
  }
};

// A line for robustrun's own log, from the agent.
struct Notice {
  std::uint8_t level = 0;  // base::LogLevel (base/io/log.h)
  std::optional<base::Rank> rank;
  std::string text;
  template <class V>
  void fields(V& v) {
    v(1, "level", level);
    v(2, "rank", rank);
    v(3, "text", text);
  }
};

// Captured output of a worker, in whole lines. `partial`: the last line is incomplete; its rest
// follows, or the stream has ended.
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
