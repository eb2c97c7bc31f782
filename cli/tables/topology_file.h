#pragma once
// Our own description of a cluster in TOML (docs/formats/topology.md) to a topo::Description.
// Pure: text in, values out.
//
//   [level.LEVEL]   gbps
//   [[switch]]      name, level, switches, nodes
//   [[node]]        name, slots, nvl_domain, rack, power
//
// Lists of nodes and switches, and a node's name, may have brackets: "n[1-16]". What the whole
// makes up is topo::build_cluster()'s to check.

#include <string>
#include <string_view>

#include "base/core/result.h"
#include "topo/network/description.h"

namespace robustrun::cli {

// Errors name `path`, line and key: an unknown key (with the nearest one), a wrong type.
[[nodiscard]] base::Result<topo::Description> parse_topology(std::string_view text,
                                                             const std::string& path);

}  // namespace robustrun::cli
