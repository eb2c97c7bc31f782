#pragma once
// Reads where each task of a Slurm job is in the network, from lines with the values of
// SLURM_TOPOLOGY_ADDR and SLURM_TOPOLOGY_ADDR_PATTERN, one line per task or node. Pure.
//
//   s8.s0.tux1 switch.switch.node
//
// Names go from the top of the tree down. With topology/block the pattern is "block.node". A job
// gets such lines by:
//   srun sh -c 'echo $SLURM_TOPOLOGY_ADDR $SLURM_TOPOLOGY_ADDR_PATTERN'

#include <string>
#include <string_view>

#include "base/core/result.h"
#include "topo/network/description.h"

namespace robustrun::topo {

// Errors: an address that does not match its pattern; a node below no switch (pattern "node": Slurm
// has no topology plugin). Names with dots are an error, too: they are ambiguous.
base::Result<Description> read_slurm_addr(std::string_view text, const std::string& source);

// Whether `line` looks like such a line.
bool is_slurm_addr(std::string_view line);

}  // namespace robustrun::topo
