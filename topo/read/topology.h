#pragma once
// A description of a cluster in any format that is read here, told by its content. Pure. (TOML, by
// the name of its file, is cli/tables/topology_file.h's.)
//
//   first line that says something        read by
//   SwitchName=... Level=...              read_scontrol.h
//   BlockName=... BlockIndex=...          read_scontrol.h
//   SwitchName=, BlockName=, BlockSizes=  read_slurm_conf.h
//   ADDRESS switch.node                   read_slurm_addr.h
//   NAME ... LABELS                       read_topograph.h

#include <string>
#include <string_view>

#include "base/core/result.h"
#include "topo/network/description.h"

namespace robustrun::topo {

// Errors besides those of the readers: nothing in it, or none of these formats.
base::Result<Description> read_topology(std::string_view text, const std::string& source);

}  // namespace robustrun::topo
