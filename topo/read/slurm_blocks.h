#pragma once
// Blocks of Slurm's topology/block as switches. Pure.
//
// A block is so many nodes that are near each other. Slurm joins 2, 4, 8, ... blocks that follow
// one another into larger ones: those of BlockSizes, or of one, two, four, eight and sixteen blocks
// where it is not given (topology.conf(5)). A block without nodes holds a place in that order
// alone.

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

// "8,16,32". `key`: for messages.
base::Result<std::vector<std::uint32_t>> parse_block_sizes(std::string_view text,
                                                           std::string_view source,
                                                           std::uint32_t line);

// Adds the switches. Levels are called block, 2-blocks, 4-blocks, ...; a joined block bears the
// names of its first and last one. Error: a size that is no power of two times the first one.
base::Status add_blocks(const std::vector<SlurmBlock>& blocks, const SlurmBlockSizes& sizes,
                        Description& description);

}  // namespace robustrun::topo
