#pragma once
// Pairs of nodes for the calls and measurements of a pre-flight check. Pure.
//
// Calls: in step s every node calls the node s places further on, with place 0 after the last. So
// all nodes work at once, and each calls one node and is called by one. Step s always comes
// together with the step that leads back, so that each pair is tried in both directions.
//
// Measurements come in two rounds, as in dlrover's node check. In the first round neighbours are
// paired; in the second each slow node gets a partner that was not slow. A node that is slow in
// both rounds is slow by itself. A node that is slow only in the first round had a slow partner.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace robustrun::supervisor {

// The steps for `nodes` nodes: all of 1 … nodes - 1 if these are at most `partners_max`. Otherwise
// `partners_max` of them, rounded down to an even number, and spread evenly. `partners_max` must be
// at least 2.
[[nodiscard]] std::vector<std::uint32_t> call_steps(std::uint32_t nodes,
                                                    std::uint32_t partners_max);

struct Pairing {
  std::uint32_t caller = 0;  // places in the list of nodes
  std::uint32_t callee = 0;
  bool operator==(const Pairing&) const = default;
};

// 0 with 1, 2 with 3, …; the last of an odd number with 0, which then has two partners.
[[nodiscard]] std::vector<Pairing> first_round(std::uint32_t nodes);
// Each of `suspects` (ascending) with one of the other nodes in turn, if possible not with its
// partner of the first round. Empty when there are no other nodes.
[[nodiscard]] std::vector<Pairing> second_round(std::uint32_t nodes,
                                                const std::vector<std::uint32_t>& suspects);

}  // namespace robustrun::supervisor
