#pragma once
// Places that groups of some families connect. Internal to topo/.
//
// Two places are in one block if a chain of groups of these families connects them. If tp groups
// are within nodes, the blocks of {pp} are the rows of Arnold's communication matrix (arXiv
// 2509.15940), and those of {dp} its columns. If tp groups span two nodes, the blocks of {pp, tp}
// are pairs of rows. If each block is below one switch, these families have a spread of 0.

#include <cstdint>
#include <vector>

#include "topo/network/shape.h"

namespace robustrun::topo {

struct Blocks {
  std::vector<std::uint32_t> block_of;  // by place
  std::vector<std::uint32_t> first;  // by block: index in `places`; one more at the end
  std::vector<PlaceIndex> places;  // block by block, ascending within a block

  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(first.size() - 1); }
  [[nodiscard]] std::uint32_t size(std::uint32_t block) const {
    return first[block + 1] - first[block];
  }
  // Places per block if all blocks have the same number, else 0.
  [[nodiscard]] std::uint32_t even_size() const;
};

// `families`: a bit per family of the shape; 0: every place is its own block. Blocks are numbered
// by their first place.
Blocks blocks_of(const Shape& shape, std::uint32_t families);

// Every place as its own block, in the order of the family's groups: places of one group are near
// each other, even if groups overlap because stages do not end where nodes do.
Blocks along(const Shape& shape, const Family& family);

}  // namespace robustrun::topo
