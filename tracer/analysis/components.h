#pragma once
// Strongly connected components of a directed graph (R. Tarjan, SIAM J. Comput. 1(2), 1972),
// without recursion: graphs here have 100,000 nodes. Pure.

#include <cstdint>
#include <vector>

namespace robustrun::tracer {

// Compressed rows: node v's successors are targets[first[v]] to targets[first[v + 1] - 1].
struct Successors {
  std::vector<std::uint32_t> first;  // one more than nodes
  std::vector<std::uint32_t> targets;
};

// The component of each node. Numbers are such that an edge never leads to a higher number.
[[nodiscard]] std::vector<std::uint32_t> components(const Successors& graph);

}  // namespace robustrun::tracer
