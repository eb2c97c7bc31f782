#pragma once
// Reads our own TOML description of a cluster (docs/formats/topology.md). Pure.
//
//   [level.LEVEL]   gbps
//   [[switch]]      name, level, switches, nodes
//   [[node]]        name, slots, nvl_domain, rack, power
//
// Lists of nodes and switches, and a node's name, may have brackets: "n[1-16]".
// topo::build_cluster() checks the tree as a whole.

#include <string>
#include <string_view>

#include "base/core/result.h"
#include "topo/network/description.h"

namespace robustrun::cli {

// Errors name `path`, line and key: an unknown key (with the nearest one), a wrong type.
[[nodiscard]] base::Result<topo::Description> parse_topology(std::string_view text,
                                                             const std::string& path);

}  // namespace robustrun::cli
