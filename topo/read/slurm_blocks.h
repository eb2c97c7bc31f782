#pragma once
// Blocks of Slurm's topology/block as switches. Pure.
//
// A block is a set of nodes that are near each other. Slurm joins 2, 4, 8, ... consecutive blocks
// into larger ones, of the sizes in BlockSizes. Without BlockSizes it joins two, four, eight and
// sixteen blocks (topology.conf(5)). A block without nodes only keeps its position in the sequence.

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
  std::vector<std::uint32_t> nodes;  // nodes per block, ascending; empty: no BlockSizes
  std::uint32_t line = 0;
};

// "8,16,32". `source`, `line`: where the text is, for messages.
base::Result<std::vector<std::uint32_t>> parse_block_sizes(std::string_view text,
                                                           std::string_view source,
                                                           std::uint32_t line);

// Adds the blocks to `description` as switches. Levels are named block, 2-blocks, 4-blocks, ...; a
// joined block is named after its first and last block (b1..b4). Error: a size that is not the
// first size times a power of two, or not larger than the size before it.
base::Status add_blocks(const std::vector<SlurmBlock>& blocks, const SlurmBlockSizes& sizes,
                        Description& description);

}  // namespace robustrun::topo
