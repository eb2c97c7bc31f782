#pragma once
// The stages of a start, as a node tells them: once all of its ranks have done a step, or the
// attempt ended before. What belongs to which stage: docs/startup.md; docs/formats/robustrun.proto
// has the same.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "wire/messages/facts.h"

namespace robustrun::wire {

using StageTime = StageTimeOf<base::LocalRank>;

// Agent to supervisor; a later one of the same attempt replaces it.
struct NodeStages {
  base::Attempt attempt;
  std::vector<StageTime> stages;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "stages", stages);
  }
};

// Agent to supervisor, of runs with WorkerTemplate::stages: what its start is at now, when that
// changes. For people who look; the NodeStages that follow are what counts.
struct StageNews {
  base::Attempt attempt;
  std::optional<StageName> stage{};  // of a worker's, that of the last one; none: the start is over
  base::Nanos since{};  // the node's clock
  std::optional<base::LocalRank> rank{};  // of a worker's stage
  bool operator==(const StageNews&) const = default;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "stage", stage);
    v(3, "since", since);
    v(4, "rank", rank);
  }
};

}  // namespace robustrun::wire
