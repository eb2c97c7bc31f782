#pragma once
// The network between the hosts of a run, from --topology. Asks through Surroundings; pure
// otherwise.
//
//   FILE   our TOML (FILE ends in .toml), or any format of topo/read/topology.h
//   auto   in a Slurm job the topology from scontrol, else racks from host names, else unknown
//   off    unknown
//
// An unusable FILE is an error; for auto an unusable source is skipped. Cluster::source names the
// source of the result, and why auto skipped another one.

#include <string>
#include <vector>

#include "base/core/result.h"
#include "cli/options/surroundings.h"
#include "topo/network/cluster.h"

namespace robustrun::cli {

// The cluster of `hosts` alone, in their order. NVLink domains become a level if they fit
// (topo/network/nvl_domains.h).
[[nodiscard]] base::Result<topo::Cluster> find_cluster(const std::string& topology,
                                                       const std::vector<std::string>& hosts,
                                                       const Surroundings& around);

// The whole cluster of a file, for runs whose hosts are not known yet.
[[nodiscard]] base::Result<topo::Cluster> whole_cluster(const std::string& path,
                                                        const Surroundings& around);

}  // namespace robustrun::cli
