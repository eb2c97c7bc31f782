#pragma once
// Which places of a job communicate with each other. Pure.
//
// A place is one node's share of the ranks: consecutive ranks, and the places in order hold all
// ranks. Nodes may differ in size, and groups need not end where nodes do. The ranks of a group
// differ only in the digit of its kind (parallel.h); those of a data-parallel group differ in cp as
// well, because gradients are reduced over both (Megatron's dp-cp groups).

#include <cstdint>
#include <span>
#include <vector>

#include "base/core/result.h"
#include "topo/network/parallel.h"

namespace robustrun::topo {

using PlaceIndex = std::uint32_t;

// All groups of one kind. A group is stored as the places of its ranks, in the order of the ranks,
// each place once. Groups with the same places in the same order are stored once. Groups within one
// place are left out.
struct Family {
  GroupKind kind = GroupKind::kDp;
  std::uint32_t size = 0;  // ranks in a group
  std::vector<std::uint32_t> first;  // by group: index in `places`; one more at the end
  std::vector<PlaceIndex> places;
  std::vector<std::uint32_t> ranks;  // by group: number of groups of ranks that have these places

  [[nodiscard]] std::uint32_t groups() const {
    return static_cast<std::uint32_t>(first.size() - 1);
  }
  [[nodiscard]] std::span<const PlaceIndex> group(std::uint32_t index) const {
    return std::span(places).subspan(first[index], first[index + 1] - first[index]);
  }
};

struct Shape {
  Parallel parallel;  // from resolve()
  std::vector<std::uint32_t> slots;  // by place
  std::vector<Family> families;  // families with groups across places

  [[nodiscard]] std::uint32_t places() const { return static_cast<std::uint32_t>(slots.size()); }
};

// `slots`: by place, its number of ranks, at least 1. Fails as resolve() does, and with kLimit
// above kRanksMax ranks. O(ranks * kinds).
base::Result<Shape> make_shape(const Parallel& parallel, std::vector<std::uint32_t> slots);

// As make_shape(), but only with the groups that contain `place`, and without computing the others.
// O(ranks + ranks of the place * sizes).
base::Result<Shape> shape_around(const Parallel& parallel, std::vector<std::uint32_t> slots,
                                 PlaceIndex place);

}  // namespace robustrun::topo
