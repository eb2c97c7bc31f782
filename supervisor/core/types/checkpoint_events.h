#pragma once
// News of the job's checkpoints, as events of the core. Plain data.
//
// The driver sums up the workers' reports (watch/checkpoint_watch.h). An event covers all ranks and
// the attempt so far, and replaces the attempt's earlier events of its kind. A load replaces only
// earlier loads of the same checkpoint from the same source.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "wire/messages/facts.h"

namespace robustrun::supervisor {

using wire::CheckpointDemoted;
using wire::CheckpointMoved;

// Identifies a checkpoint, like the name of its folder: step-000000001000/g7-3f9c.
struct CheckpointId {
  std::uint64_t step = 0;
  std::uint64_t generation = 0;
  std::string token;
  bool operator==(const CheckpointId&) const = default;
  template <class V>
  void fields(V& v) {
    v(1, "step", step);
    v(2, "generation", generation);
    v(3, "token", token);
  }
};

struct CheckpointNoted {
  enum class What : std::uint8_t { kSaved, kCommitted, kLoaded };
  base::Attempt attempt;
  What what = What::kSaved;
  CheckpointId id;  // the newest
  std::vector<std::string> directories;  // home first
  std::string source;  // of a load: "disk", "memory", …
  std::uint32_t ranks = 0;  // ranks that reported it
  // kSaved: saves of the rank that made most. kCommitted: all commits. kLoaded: loads of `id`.
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  // of all ranks
  // Time for which the training of a rank waits. kLoaded has only `blocking`: the longest load.
  base::Nanos blocking{};  // of the rank that waited longest: for all of its saves
  base::Nanos blocking_median{};  // of the same rank: median for one save
  base::Nanos blocking_most{};  // of all ranks: longest for one save
  base::Nanos total_most{};  // the longest save or commit, from begin to end; 0: unknown
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "what", what);
    v(3, "id", id);
    v(4, "directories", directories);
    v(5, "source", source);
    v(6, "ranks", ranks);
    v(7, "count", count);
    v(8, "bytes", bytes);
    v(9, "blocking", blocking);
    v(10, "blocking_median", blocking_median);
    v(11, "blocking_most", blocking_most);
    v(12, "total_most", total_most);
  }
};

}  // namespace robustrun::supervisor
