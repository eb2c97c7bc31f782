#pragma once
// Who calls and who measures whom in a pre-flight check. Pure.
//
// Calls: in step s every node calls the one s places further on, so that all nodes work at once,
// each calls one and is called by one. As the steps s and n - s always come together, every pair
// that is tried is tried in both directions.
//
// Measuring, in two rounds as dlrover's node check: neighbours in the first; in the second everyone
// who was slow with a partner who was not. Slow twice is slow by itself; slow once, by its partner.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace robustrun::supervisor {

// The steps that are taken with `nodes` nodes: all of 1 … nodes - 1 when there are no more than
// `partners_max`, else so many (an even number) spread evenly.
[[nodiscard]] std::vector<std::uint32_t> call_steps(std::uint32_t nodes,
                                                    std::uint32_t partners_max);

struct Pairing {
  std::uint32_t caller = 0;  // places in the list of nodes
  std::uint32_t callee = 0;
  bool operator==(const Pairing&) const = default;
};

// 0 with 1, 2 with 3, …; the last of an odd number with 0, who then has two.
[[nodiscard]] std::vector<Pairing> first_round(std::uint32_t nodes);
// Each of `suspects` (ascending) with one of the others in turn, where there is a choice not with
// its neighbour of the first round. Empty when there are no others.
[[nodiscard]] std::vector<Pairing> second_round(std::uint32_t nodes,
                                                const std::vector<std::uint32_t>& suspects);

}  // namespace robustrun::supervisor
