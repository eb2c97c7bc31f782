#pragma once
// The stages of a start, as a node reports them once all its ranks have done a step or the attempt
// has ended. docs/startup.md says what belongs to each stage; docs/formats/robustrun.proto has the
// same.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "wire/messages/facts.h"

namespace robustrun::wire {

using StageTime = StageTimeOf<base::LocalRank>;

// Agent to supervisor; a later report of the same attempt replaces it.
struct NodeStages {
  base::Attempt attempt;
  std::vector<StageTime> stages;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "stages", stages);
  }
};

// Agent to supervisor, in runs with WorkerTemplate::stages: the current stage of its start, at
// every change. Only for display; the NodeStages that follow are authoritative.
struct StageNews {
  base::Attempt attempt;
  // for a worker's stage, that of the last rank; none: the start is over
  std::optional<StageName> stage{};
  base::Nanos since{};  // the node's clock
  std::optional<base::LocalRank> rank{};  // for a worker's stage
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
