#pragma once
// What supervisor and agents say about the workers' collectives: a line per communicator and second
// while all is well, everything once somebody is suspected.
//
// Snapshots travel as bytes of tracer::RankSnapshot in the codec of these messages (field_codec.h):
// this room does not know what is in them. docs/formats/robustrun.proto has the same.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"

namespace robustrun::wire {

// How far a worker is in one communicator.
struct CommunicatorProgress {
  std::uint64_t comm = 0;
  std::uint64_t entered = 0;
  std::uint64_t done = 0;
  base::Nanos head_age{};  // of the oldest operation that is not finished; 0: there is none
  template <class V>
  void fields(V& v) {
    v(1, "comm", comm);
    v(2, "entered", entered);
    v(3, "done", done);
    v(4, "head_age", head_age);
  }
};

// Agent to supervisor, at most once a second and worker: all its communicators, when one moved.
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

// Agent to supervisor: a worker waits in an operation for longer than its history explains; said
// once when that begins, and once with `over` when the operation is done after all.
struct Overdue {
  base::Attempt attempt;
  base::LocalRank local_rank;
  std::uint64_t comm = 0;
  std::uint64_t ordinal = 0;
  base::Nanos age{};
  base::Nanos expected{};  // what its history allows
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

// Supervisor to agent: say what your workers are doing. Answered by one Observed for each worker of
// the attempt, within `within`; with `evidence` also what can be seen of it from outside.
struct Observe {
  std::uint64_t number = 0;
  base::Attempt attempt;
  bool evidence = false;
  base::Nanos within{};
  bool ras = false;  // and, once, what NCCL's RAS says: answered by RasAnswer
  template <class V>
  void fields(V& v) {
    v(1, "number", number);
    v(2, "attempt", attempt);
    v(3, "evidence", evidence);
    v(4, "within", within);
    v(5, "ras", ras);
  }
};

struct Observed {
  std::uint64_t number = 0;
  base::Attempt attempt;
  base::LocalRank local_rank;
  std::uint32_t workers = 0;  // of this node: so many answers come
  std::string snapshot;  // tracer::RankSnapshot; its rank and node are not to be believed
  template <class V>
  void fields(V& v) {
    v(1, "number", number);
    v(2, "attempt", attempt);
    v(3, "local_rank", local_rank);
    v(4, "workers", workers);
    v(5, "snapshot", snapshot);
  }
};

struct RasAnswer {
  std::uint64_t number = 0;
  base::Attempt attempt;
  std::string report;  // as RAS wrote it; empty: none
  std::string missing;  // why there is none; empty: no worker here uses NCCL
  bool is_shared = false;  // its address was not chosen for this attempt: another job may answer
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
