#pragma once
// The stages of a start and of restarts, over the nodes: median, most, and who lagged behind whom.
// Pure, from the journal alone.
//
// Beside the phases of report_costs.h, which the supervisor sees from outside, these are told by
// the nodes. A sample is one stage of one node at one start: of workers' stages the time of the
// slowest rank. A straggler took kStragglerRatio of the median of its own start, and
// kStragglerOverMin more.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"

namespace robustrun::supervisor {

struct Facts;
struct JournalEntry;

// One node that took longer than others, or that had not come to the stage's end.
struct StageNode {
  std::string node;
  std::optional<std::uint32_t> rank;  // its slowest; none: not a worker's stage
  std::uint32_t attempt = 0;
  base::Nanos took{};
  base::Nanos over{};  // the median; 0 of one that had not ended
  template <class V>
  void fields(V& v) {
    v(1, "node", node);
    v(2, "rank", rank);
    v(3, "attempt", attempt);
    v(4, "took", took);
    v(5, "over", over);
  }
};

struct StageCost {
  std::string of;  // "start", "restart"
  std::string stage;
  std::uint32_t samples = 0;  // that ended
  base::Nanos median{};
  base::Nanos max{};
  std::string slowest;  // node of `max`
  std::optional<std::uint32_t> rank;  // and its slowest rank
  std::uint32_t attempt = 0;  // of `max`
  std::vector<StageNode> stragglers;  // the slowest first, at most kStageNodesMax
  std::uint32_t unfinished = 0;  // nodes that had not come to its end
  std::vector<StageNode> unfinished_nodes;  // the longest first, at most kStageNodesMax
  template <class V>
  void fields(V& v) {
    v(1, "of", of);
    v(2, "stage", stage);
    v(3, "samples", samples);
    v(4, "median", median);
    v(5, "max", max);
    v(6, "slowest", slowest);
    v(7, "rank", rank);
    v(8, "attempt", attempt);
    v(9, "stragglers", stragglers);
    v(10, "unfinished", unfinished);
    v(11, "unfinished_nodes", unfinished_nodes);
  }
};

// Of any journal, whole or not, sensible or not. Stages that no node came to are left out.
[[nodiscard]] std::vector<StageCost> stage_costs(const Facts& facts,
                                                 const std::vector<JournalEntry>& entries);

// "connect 0.41 s, at most 0.90 s (n3); imports 2.10 s, at most 5.30 s (n2, rank 1)"; empty
// without.
[[nodiscard]] std::string stage_words(const std::vector<StageCost>& costs, std::string_view of);
// "imports of n2 (rank 1): 5.30 s, 3.20 s over the median"; and those that had not ended.
[[nodiscard]] std::vector<std::string> straggler_words(const std::vector<StageCost>& costs);

}  // namespace robustrun::supervisor
