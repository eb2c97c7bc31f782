#pragma once
// Reads a description of a cluster in any format below, which it recognises by the first line that
// is neither empty nor a comment. Pure. (cli/tables/topology_file.h reads TOML, recognised by the
// file's name.)
//
//   first line with content               read by
//   SwitchName=... Level=...              scontrol.h
//   BlockName=... BlockIndex=...          scontrol.h
//   other SwitchName= or BlockName=       slurm_conf.h
//   BlockSizes=...                        slurm_conf.h
//   ADDRESS switch.node                   slurm_addr.h
//   NAME ... LABELS                       topograph.h

#include <string>
#include <string_view>

#include "base/core/result.h"
#include "topo/network/description.h"

namespace robustrun::topo {

// `source`: name of the text, for messages. Errors besides those of the readers: the text is empty,
// or its format is unknown (kInvalidArgument).
base::Result<Description> read_topology(std::string_view text, const std::string& source);

}  // namespace robustrun::topo
