#pragma once
// Reads the place of each task of a Slurm job: SLURM_TOPOLOGY_ADDR and SLURM_TOPOLOGY_ADDR_PATTERN,
// one line of both per task or node. Pure.
//
//   s8.s0.tux1 switch.switch.node
//
// From the top down; topology/block has "block.node". Without a topology plugin it is "node" alone,
// which is an error here. A file of these lines:
//   srun sh -c 'echo $SLURM_TOPOLOGY_ADDR $SLURM_TOPOLOGY_ADDR_PATTERN'

#include <string>
#include <string_view>

#include "base/core/result.h"
#include "topo/network/description.h"

namespace robustrun::topo {

// Errors: words that do not match their pattern; a node below no switch, as without a topology
// plugin. Names with dots are an error as well: they are ambiguous.
base::Result<Description> read_slurm_addr(std::string_view text, const std::string& source);

// Whether the line may be one of these.
bool is_slurm_addr(std::string_view line);

}  // namespace robustrun::topo
