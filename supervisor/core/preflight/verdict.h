#pragma once
// Judges the facts of a check, node by node. Pure: takes facts, and returns verdicts with their
// words.
//
// One rule per file: local.cpp (what each node must have), equal.cpp (what must be the same on all
// nodes), reach.cpp (which nodes can call each other), speed.cpp (slow nodes), gpus.cpp (tests of
// GPUs). A rule adds findings; the worst one is the node's verdict.

#include <cstdint>
#include <string>
#include <vector>

#include "supervisor/core/types/preflight.h"

namespace robustrun::supervisor {

// What the job needs of a node.
struct WantedNode {
  std::string name;
  std::uint32_t slots = 1;   // workers
};

// What the rules read, and the findings that they add. `wanted` and `verdicts` have the order of
// NodesChecked::nodes.
struct Judgement {
  const NodesChecked& checked;
  const std::vector<WantedNode>& wanted;
  std::uint64_t world_size = 0;            // workers of the whole job, as far as is known
  std::vector<NodeVerdict> verdicts{};     // one per node

  void add(std::size_t place, Fitness level, std::string words);
};

void judge_local(Judgement& judgement);
void judge_equal(Judgement& judgement);
void judge_reach(Judgement& judgement);
void judge_speed(Judgement& judgement);
void judge_probe(Judgement& judgement);

// Applies all rules.
[[nodiscard]] std::vector<NodeVerdict> judge(const NodesChecked& checked,
                                             const std::vector<WantedNode>& wanted,
                                             std::uint64_t world_size);

// Indices of nodes that answered, and were slow or without measurements in the first round: the
// suspects of the second round.
[[nodiscard]] std::vector<std::uint32_t> slow_ones(const std::vector<NodeCheck>& nodes);

// "h1, h2, h3 and 5 more"
[[nodiscard]] std::string names_in_words(const std::vector<std::string>& names);
// Text from an agent, cut to kFindingBytesMax and then made printable.
[[nodiscard]] std::string said(const std::string& text);

}  // namespace robustrun::supervisor
