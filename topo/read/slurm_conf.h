#pragma once
// Reads Slurm's topology.conf (topology.conf(5)), for topology/tree and topology/block. Pure.
//
//   SwitchName=s0 Nodes=tux[0-3]        SwitchName=s8 Switches=s[0-7] LinkSpeed=800
//   BlockName=b1 Nodes=tux[0-7]         BlockSizes=8,16
//
// LinkSpeed has no unit and is ignored. In a file with switches and blocks, the switches make the
// tree, and a block is an NVLink domain: its name becomes Node::nvl_domain. NVIDIA's topograph
// writes the domain's name into the comment above a block ("# block001=nvl-7"); in any file, this
// name becomes Node::nvl_domain instead.

#include <string>
#include <string_view>

#include "base/core/result.h"
#include "topo/network/description.h"

namespace robustrun::topo {

// `source`: the file's name, for messages and Cluster::source. Errors: any other line;
// topology/ring, topology/flat and topology.yaml are not supported.
base::Result<Description> read_slurm_conf(std::string_view text, const std::string& source);

}  // namespace robustrun::topo
