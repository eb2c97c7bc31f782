#pragma once
// What the facts of a check mean, node by node. Pure: facts in, verdicts with their words out.
//
// The rules, one file each: preflight_local.cpp (what a node must have by itself),
// preflight_equal.cpp (what must be the same everywhere), preflight_reach.cpp (who can call whom),
// preflight_speed.cpp (who is slow), preflight_gpus.cpp (what came of the tests of GPUs). A rule
// adds findings; the worst one is the node's verdict.

#include <cstdint>
#include <string>
#include <vector>

#include "supervisor/core/types/preflight.h"

namespace robustrun::supervisor {

// What the job wants of a node, in the order of NodesChecked::nodes.
struct WantedNode {
  std::string name;
  std::uint32_t slots = 1;   // workers
};

struct Judgement {
  const NodesChecked& checked;
  const std::vector<WantedNode>& wanted;
  std::uint64_t world_size = 0;            // workers of the whole job, as far as it is known
  std::vector<NodeVerdict> verdicts{};     // one per node

  void add(std::size_t place, Fitness level, std::string words);
};

void judge_local(Judgement& judgement);
void judge_equal(Judgement& judgement);
void judge_reach(Judgement& judgement);
void judge_speed(Judgement& judgement);
void judge_probe(Judgement& judgement);

// All of them.
[[nodiscard]] std::vector<NodeVerdict> judge(const NodesChecked& checked,
                                             const std::vector<WantedNode>& wanted,
                                             std::uint64_t world_size);

// Places of those that were slow in the first round, or gave no answer: for the second one.
[[nodiscard]] std::vector<std::uint32_t> slow_ones(const std::vector<NodeCheck>& nodes);

// "h1, h2, h3 and 5 more"
[[nodiscard]] std::string names_in_words(const std::vector<std::string>& names);
// Printable, at most kFindingBytesMax: of what an agent said.
[[nodiscard]] std::string said(const std::string& text);

}  // namespace robustrun::supervisor
