#pragma once
// Reports about the stages of a start. docs/startup.md says what belongs to each stage;
// docs/formats/robustrun.proto has the messages in protobuf's schema language.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "wire/messages/facts.h"

namespace robustrun::wire {

using StageTime = StageTimeOf<base::LocalRank>;

// Agent to supervisor: the stages of the node's start, once all its ranks have done a step or the
// attempt has ended, and before that if the start takes minutes. A later report of the same attempt
// replaces an earlier one.
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
  // The stage under way, or the last stage that is over. None: the rank has not begun.
  std::optional<StageName> stage{};
  base::Nanos since{};  // the stage's start or, if `is_over`, its end; by the node's clock
  bool is_over = false;
  bool called_group = false;  // the rank has called init_process_group
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
// Sent when the stage has changed, at most once a second (the end of the start: at once), and on
// every new connection. Only for display; NodeStages follows with the final times.
struct StageNews {
  base::Attempt attempt;
  // A stage of workers is the stage of the rank that is furthest behind. None: the start is over,
  // or between two stages.
  std::optional<StageName> stage{};
  base::Nanos since{};  // start of `stage`, by the node's clock
  // for a stage of workers: the rank that is furthest behind
  std::optional<base::LocalRank> rank{};
  std::vector<RankStage> ranks{};  // by local rank; ranks beyond the vector's end have not begun
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
