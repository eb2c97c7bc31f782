#pragma once
// Which places of a job communicate with each other. Pure.
//
// A place is a node's share of the ranks: place p holds the ranks from first_rank(p) to the first
// rank of the next place, in the job's order (supervisor/core/job/facts/assign.h). Nodes may differ
// in size, and groups need not end where nodes do. A family is all groups of one kind: ranks that
// agree in every digit but those of the kind. In the data-parallel family cp counts, too: gradients
// are reduced over both (Megatron's dp-cp groups).

#include <cstdint>
#include <span>
#include <vector>

#include "base/core/result.h"
#include "topo/network/parallel.h"

namespace robustrun::topo {

using PlaceIndex = std::uint32_t;

// All groups of one kind, as the places that they touch, in the order of their ranks, each place
// once. Groups with the same places in the same order are stored once. Groups within one place are
// left out.
struct Family {
  GroupKind kind = GroupKind::kDp;
  std::uint32_t size = 0;  // ranks in a group
  std::vector<std::uint32_t> first;  // by group: index in `places`; one more at the end
  std::vector<PlaceIndex> places;
  std::vector<std::uint32_t> ranks;  // by group: number of rank groups with these places

  [[nodiscard]] std::uint32_t groups() const {
    return static_cast<std::uint32_t>(first.size() - 1);
  }
  [[nodiscard]] std::span<const PlaceIndex> group(std::uint32_t index) const {
    return std::span(places).subspan(first[index], first[index + 1] - first[index]);
  }
};

struct Shape {
  Parallel parallel;  // resolved
  std::vector<std::uint32_t> slots;  // by place
  std::vector<Family> families;  // families with groups across places

  [[nodiscard]] std::uint32_t places() const { return static_cast<std::uint32_t>(slots.size()); }
};

// `slots`: ranks of each place, at least 1 each. Fails as resolve() does, and with kLimit above
// kRanksMax ranks. O(ranks * kinds).
base::Result<Shape> make_shape(const Parallel& parallel, std::vector<std::uint32_t> slots);

// Only the groups that hold `place`, computed without the others. O(ranks + ranks of the place *
// sizes).
base::Result<Shape> shape_around(const Parallel& parallel, std::vector<std::uint32_t> slots,
                                 PlaceIndex place);

}  // namespace robustrun::topo
