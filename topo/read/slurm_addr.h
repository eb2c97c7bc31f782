#pragma once
// What every task of a Slurm job knows of its own place: SLURM_TOPOLOGY_ADDR and
// SLURM_TOPOLOGY_ADDR_PATTERN, one line of the two for each task or node. Pure.
//
//   s8.s0.tux1 switch.switch.node
//
// From the top down; topology/block has "block.node". Without a topology plugin it is "node" alone.
// Such a file comes of: srun sh -c 'echo $SLURM_TOPOLOGY_ADDR $SLURM_TOPOLOGY_ADDR_PATTERN'

#include <string>
#include <string_view>

#include "base/core/result.h"
#include "topo/network/description.h"

namespace robustrun::topo {

// Errors: words that do not fit their pattern. Names with dots cannot be told from their
// separators: they are an error as well.
base::Result<Description> read_slurm_addr(std::string_view text, const std::string& source);

// Whether the line could be one of these.
bool is_slurm_addr(std::string_view line);

}  // namespace robustrun::topo
