#pragma once
// Agents' reports about their workers' collectives: progress, at most once a second, and full
// snapshots when the supervisor asks for them after a suspicion.
//
// Snapshots travel as bytes of tracer::RankSnapshot, in the codec of these messages
// (field_codec.h); this room does not interpret them. docs/formats/robustrun.proto has the messages
// in protobuf's schema language.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"

namespace robustrun::wire {

// A worker's progress in one communicator.
struct CommunicatorProgress {
  std::uint64_t comm = 0;  // the communicator's key
  std::uint64_t entered = 0;  // collectives
  std::uint64_t done = 0;  // collectives
  base::Nanos head_age{};  // of the oldest unfinished operation; 0: none
  template <class V>
  void fields(V& v) {
    v(1, "comm", comm);
    v(2, "entered", entered);
    v(3, "done", done);
    v(4, "head_age", head_age);
  }
};

// Agent to supervisor, at most once a second per worker: all of the worker's communicators, if one
// of them has made progress. Also sent once when torch's Flight Recorder first answers, perhaps
// without communicators.
struct CollectiveProgress {
  base::Attempt attempt;
  base::LocalRank local_rank;
  std::vector<CommunicatorProgress> communicators;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "local_rank", local_rank);
    v(3, "communicators", communicators);
  }
};

// The data that a worker's collectives of one kind and size moved on one communicator since the
// worker's previous report. Bandwidth is bytes / busy.
struct Moved {
  std::uint64_t comm = 0;
  std::uint32_t size = 0;  // members of the communicator; 0: unknown
  std::uint8_t kind = 0;  // tracer::OpKind
  std::uint32_t size_bits = 0;  // 2^(size_bits-1) ≤ bytes of one collective < 2^size_bits; 0: none
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  // as nccl-tests counts them
  base::Nanos busy{};
  bool has_fallen = false;  // the bandwidth is now lower than usual
  template <class V>
  void fields(V& v) {
    v(1, "comm", comm);
    v(2, "size", size);
    v(3, "kind", kind);
    v(4, "size_bits", size_bits);
    v(5, "count", count);
    v(6, "bytes", bytes);
    v(7, "busy", busy);
    v(8, "has_fallen", has_fallen);
  }
};
struct CommunicatorName {
  std::uint64_t comm = 0;
  std::string name;
  template <class V>
  void fields(V& v) {
    v(1, "comm", comm);
    v(2, "name", name);
  }
};

// Agent to supervisor, every few seconds per worker that uses NCCL, and at once when a bandwidth
// has fallen: the collectives that took most of the time.
struct BandwidthReport {
  base::Attempt attempt;
  base::LocalRank local_rank;
  std::vector<Moved> moved;
  std::vector<CommunicatorName> names;  // not in every report
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "local_rank", local_rank);
    v(3, "moved", moved);
    v(4, "names", names);
  }
};

// Agent to supervisor: a worker waits in an operation longer than the operation's history explains.
// Sent once when the wait becomes too long, and once more, with `over` set, if the operation
// finishes after all.
struct Overdue {
  base::Attempt attempt;
  base::LocalRank local_rank;
  std::uint64_t comm = 0;
  std::uint64_t ordinal = 0;
  base::Nanos age{};
  base::Nanos expected{};  // the longest wait that the operation's history explains
  bool over = false;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "local_rank", local_rank);
    v(3, "comm", comm);
    v(4, "ordinal", ordinal);
    v(5, "age", age);
    v(6, "expected", expected);
    v(7, "over", over);
  }
};

// Supervisor to agent: report what your workers are doing. The agent answers within `within`, by
// one Observed per worker of the attempt. If `evidence` is set, the answers include what can be
// seen from outside the workers.
struct Observe {
  std::uint64_t number = 0;
  base::Attempt attempt;
  bool evidence = false;
  base::Nanos within{};
  bool ras = false;  // also query NCCL's RAS once: answered by RasAnswer
  // If set: report only how much processor, memory and GPU this worker uses. One Observed answers.
  // An older agent ignores this member and answers for all workers as usual.
  std::optional<base::LocalRank> use_of{};
  template <class V>
  void fields(V& v) {
    v(1, "number", number);
    v(2, "attempt", attempt);
    v(3, "evidence", evidence);
    v(4, "within", within);
    v(5, "ras", ras);
    v(6, "use_of", use_of);
  }
};

struct Observed {
  std::uint64_t number = 0;
  base::Attempt attempt;
  base::LocalRank local_rank;
  std::uint32_t workers = 0;  // number of this node's answers: one per worker; 1 for `use_of`
  std::string snapshot;  // tracer::RankSnapshot; the supervisor ignores the rank and node in it
  template <class V>
  void fields(V& v) {
    v(1, "number", number);
    v(2, "attempt", attempt);
    v(3, "local_rank", local_rank);
    v(4, "workers", workers);
    v(5, "snapshot", snapshot);
  }
};

// The report of RAS, NCCL's own diagnostic service (`ras` in Observe).
struct RasAnswer {
  std::uint64_t number = 0;
  base::Attempt attempt;
  std::string report;  // as RAS wrote it; empty: no report
  std::string missing;  // why there is no report; both empty: no worker here uses NCCL
  // RAS was asked at an address not chosen for this attempt, so another job may have answered
  bool is_shared = false;
  template <class V>
  void fields(V& v) {
    v(1, "number", number);
    v(2, "attempt", attempt);
    v(3, "report", report);
    v(4, "missing", missing);
    v(5, "is_shared", is_shared);
  }
};

}  // namespace robustrun::wire
