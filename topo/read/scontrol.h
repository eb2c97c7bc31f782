#pragma once
// Reads the output of `scontrol show topology` of Slurm 22.05 and later, for topology/tree and
// topology/block. Pure.
//
//   SwitchName=s8 Level=1 LinkSpeed=1 Nodes=tux[0-31] Switches=s[0-7]
//   BlockName=b1 BlockIndex=0 Nodes=tux[0-7] BlockSize=8
//   AggregatedBlock=b[1-2] BlockIndex=4 Nodes=tux[0-15] BlockSize=16
//
// A switch above other switches also lists all nodes below it; the reader takes each node from its
// lowest switch only. The description leaves out switches without nodes. Fields that newer Slurm
// versions add are ignored.

#include <string>
#include <string_view>

#include "base/core/result.h"
#include "topo/network/description.h"

namespace robustrun::topo {

// `source`: the name of a file, or the command.
base::Result<Description> read_scontrol(std::string_view text, const std::string& source);

}  // namespace robustrun::topo
