#pragma once
// Reads a description of a cluster in any supported format, recognised by its content. Pure.
// (cli/tables/topology_file.h reads TOML, recognised by the file's name.)
//
//   first line with content               read by
//   SwitchName=... Level=...              scontrol.h
//   BlockName=... BlockIndex=...          scontrol.h
//   SwitchName=, BlockName=, BlockSizes=  slurm_conf.h
//   ADDRESS switch.node                   slurm_addr.h
//   NAME ... LABELS                       topograph.h

#include <string>
#include <string_view>

#include "base/core/result.h"
#include "topo/network/description.h"

namespace robustrun::topo {

// `source`: name of the text, for messages. Errors besides those of the readers: the text is empty
// or of no known format (kInvalidArgument).
base::Result<Description> read_topology(std::string_view text, const std::string& source);

}  // namespace robustrun::topo
