#pragma once
// The stages of a start and of restarts over all nodes: median, maximum, and the stragglers. Pure,
// from the journal alone.
//
// The supervisor measures the phases of costs.h itself; nodes report their stages. A sample is one
// stage of one node at one start; for stages of workers it is the time of the slowest rank. A
// straggler took at least kStragglerTenths / 10 times the median of its own start, and at least
// kStragglerOverMin longer than that median.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "supervisor/core/report/time/costs.h"
#include "supervisor/core/types/stage_events.h"

namespace robustrun::supervisor {

struct Facts;
struct JournalEntry;

// A node that took longer than others, or that had not finished the stage.
struct StageNode {
  std::string node;
  std::optional<std::uint32_t> rank;  // its slowest rank; nullopt: not a worker's stage
  std::uint32_t attempt = 0;
  base::Nanos took{};
  base::Nanos over{};  // time over the median; 0 if the stage was not finished
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
  StartKind of = StartKind::kStart;
  StageName stage = StageName::kAllocate;
  std::uint32_t samples = 0;  // finished ones
  base::Nanos median{};
  base::Nanos max{};
  std::string slowest;  // node of `max`
  std::optional<std::uint32_t> rank;  // the slowest rank of that node
  std::uint32_t attempt = 0;  // of `max`
  std::vector<StageNode> stragglers;  // slowest first, at most kStageNodesMax
  std::uint32_t unfinished = 0;  // samples of nodes that had not finished the stage
  std::vector<StageNode> unfinished_nodes;  // longest first, at most kStageNodesMax
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

// Accepts any journal, even an incomplete or inconsistent one. Stages that no node reached are left
// out.
[[nodiscard]] std::vector<StageCost> stage_costs(const Facts& facts,
                                                 const std::vector<JournalEntry>& entries);

// "connect 0.41 s, at most 0.90 s (n3); imports 2.10 s, at most 5.30 s (n2, rank 1)": medians and
// maxima of the costs of this kind; empty without such costs.
[[nodiscard]] std::string stage_words(const std::vector<StageCost>& costs, StartKind of);
// "imports on n2, rank 1: 5.30 s, 3.20 s over the median", and a line for each stage that a node
// had not finished after 30 s.
[[nodiscard]] std::vector<std::string> straggler_words(const std::vector<StageCost>& costs);

}  // namespace robustrun::supervisor
