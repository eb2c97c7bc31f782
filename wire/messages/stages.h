#pragma once
// The stages of a start, as a node reports them once all its ranks have done a step or the attempt
// has ended, and before that if the start takes minutes. docs/startup.md says what belongs to each
// stage; docs/formats/robustrun.proto has the same.

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

// Where one rank of a node is in its start.
struct RankStage {
  // The stage under way, or the last one that is over. None: the rank has not begun.
  std::optional<StageName> stage{};
  base::Nanos since{};  // the node's clock: the stage's begin, or its end if it is over
  bool is_over = false;
  bool called_group = false;  // it has called init_process_group
  bool operator==(const RankStage&) const = default;
  template <class V>
  void fields(V& v) {
    v(1, "stage", stage);
    v(2, "since", since);
    v(3, "is_over", is_over);
    v(4, "called_group", called_group);
  }
};

// Agent to supervisor, in runs with WorkerTemplate::stages: the current stage of the node's start.
// Sent when it has changed, at most once a second (the end of the start: at once), and on every new
// connection. Only for display; the NodeStages that follow are authoritative.
struct StageNews {
  base::Attempt attempt;
  // A worker's stage is that of the rank which is furthest behind. None: the start is over, or
  // between two stages.
  std::optional<StageName> stage{};
  base::Nanos since{};  // the node's clock
  std::optional<base::LocalRank> rank{};  // that rank, for a worker's stage
  std::vector<RankStage> ranks{};  // by local rank; ranks beyond its end have not begun
  bool operator==(const StageNews&) const = default;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "stage", stage);
    v(3, "since", since);
    v(4, "rank", rank);
    v(5, "ranks", ranks);
  }
};

}  // namespace robustrun::wire
