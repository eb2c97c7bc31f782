#pragma once
// Pairs of nodes for the calls and measurements of a pre-flight check. Pure.
//
// Calls: in step s every node calls the node s places further on, so that all nodes work at once,
// and each calls one node and is called by one. Steps s and n - s always come together, so each
// pair is tried in both directions.
//
// Measurements, in two rounds like dlrover's node check: neighbours in the first round; in the
// second each slow node with a partner that was not slow. A node that is slow twice is slow by
// itself; one that is slow once had a slow partner.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace robustrun::supervisor {

// The steps for `nodes` nodes: all of 1 … nodes - 1 if these are at most `partners_max`, otherwise
// that many (an even number), spread evenly.
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
