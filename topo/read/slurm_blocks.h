#pragma once
// Blocks of Slurm's topology/block as switches. Pure.
//
// A block is a number of nodes that are near each other. Slurm joins 2, 4, 8, ... consecutive
// blocks into larger ones: those of BlockSizes, or without it blocks of one, two, four, eight and
// sixteen base blocks (topology.conf(5)). A block without nodes only keeps its position in that
// order.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "topo/network/description.h"

namespace robustrun::topo {

struct SlurmBlock {
  std::string name;
  std::vector<std::string> nodes;
  std::uint32_t line = 0;
};

struct SlurmBlockSizes {
  std::vector<std::uint32_t> nodes;  // ascending; empty: not given
  std::uint32_t line = 0;
};

// "8,16,32". `source`, `line`: of the text, for messages.
base::Result<std::vector<std::uint32_t>> parse_block_sizes(std::string_view text,
                                                           std::string_view source,
                                                           std::uint32_t line);

// Adds the switches. Levels are named block, 2-blocks, 4-blocks, ...; a joined block has the names
// of its first and last block. Error: a size that is not the first one times a power of two.
base::Status add_blocks(const std::vector<SlurmBlock>& blocks, const SlurmBlockSizes& sizes,
                        Description& description);

}  // namespace robustrun::topo
