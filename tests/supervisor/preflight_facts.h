#pragma once
// Nodes without a fault, for tests to break one thing.

#include <string>
#include <vector>

#include "supervisor/core/preflight/verdict.h"

namespace robustrun::supervisor::test {

inline NodeCheck healthy(std::uint32_t node, std::uint32_t generation = 1) {
  NodeCheck check;
  check.node.value = node;
  check.generation.value = generation;
  check.answered = true;
  check.facts.disk = {"/job", std::uint64_t{1} << 40, std::uint64_t{1} << 39, ""};
  check.facts.shm = {"/dev/shm", std::uint64_t{1} << 36, std::uint64_t{1} << 35, ""};
  check.facts.software = {true, "3.11.2", "2.5.1+cu124", "", false};
  check.facts.gpus = {true, 8, "550.54.15", ""};
  return check;
}

inline NodesChecked all_healthy(std::uint32_t count) {
  NodesChecked checked;
  checked.check = 1;
  checked.took = std::chrono::milliseconds(300);
  checked.partners = count - 1;
  for (std::uint32_t i = 0; i < count; ++i) checked.nodes.push_back(healthy(i));
  return checked;
}

inline base::Unreached timeout_to(std::uint32_t node) {
  return {{node}, base::ReachFault::kTimeout, "timeout after 3 s"};
}

// Nodes are called h0, h1, …, and have 8 workers each.
inline std::vector<NodeVerdict> verdicts_of(const NodesChecked& checked,
                                            std::uint64_t world_size = 16) {
  std::vector<WantedNode> wanted;
  for (const NodeCheck& node : checked.nodes) {
    wanted.push_back({"h" + std::to_string(node.node.value), 8});
  }
  return judge(checked, wanted, world_size);
}

}  // namespace robustrun::supervisor::test
