#pragma once
// The stages of a start, as a node tells them: once all of its ranks have done a step, or the
// attempt ended before. What belongs to which stage: docs/startup.md; docs/formats/robustrun.proto
// has the same.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"

namespace robustrun::wire {

// In the order of a start. Appended to alone: the values are on the wire and in journals.
enum class StageName : std::uint8_t {
  kAllocate,      // asked for → the agent's process runs; the supervisor's, as the next
  kConnect,       // → its hello was accepted
  kImage,         // the agent's, as the next
  kEnvironment,
  kImports,  // a worker's, as those that follow: its process is made → the script has imported
  kProcessGroup,  // init_process_group
  kModel,  // → the first optimizer is made, less what the load took of that
  kLoad,  // of a checkpoint
  kFirstStep,  // → the first step is done
};
inline constexpr std::size_t kStageNames = 9;

// Of a worker's stage: begin by the first rank, end by the last.
struct StageTime {
  StageName stage = StageName::kAllocate;
  base::Nanos begin{};  // the node's clock
  base::Nanos end{};  // 0: it has not come to that
  base::Nanos took{};  // by the slowest rank; of one that goes on, until now
  std::optional<base::LocalRank> slowest{};  // of a worker's stage
  template <class V>
  void fields(V& v) {
    v(1, "stage", stage);
    v(2, "begin", begin);
    v(3, "end", end);
    v(4, "took", took);
    v(5, "slowest", slowest);
  }
};

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
