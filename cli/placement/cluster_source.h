#pragma once
// What joins the hosts of a run: from --topology. Asks through Surroundings; pure otherwise.
//
//   FILE   our TOML (FILE ends in .toml), or any format of topo/read/topology.h
//   auto   within a Slurm job what scontrol says, else racks from the names of hosts, else nothing
//   off    nothing is known
//
// A file that does not fit is an error; what auto finds and cannot use is not. Cluster::source says
// where the result is from, and why not from elsewhere.

#include <string>
#include <vector>

#include "base/core/result.h"
#include "cli/options/surroundings.h"
#include "topo/network/cluster.h"

namespace robustrun::cli {

// The cluster of `hosts` alone, in their order; domains of NVLink are a level of it where they fit.
[[nodiscard]] base::Result<topo::Cluster> find_cluster(const std::string& topology,
                                                       const std::vector<std::string>& hosts,
                                                       const Surroundings& around);

// All that a file describes: where nobody knows yet which hosts will come.
[[nodiscard]] base::Result<topo::Cluster> whole_cluster(const std::string& path,
                                                        const Surroundings& around);

}  // namespace robustrun::cli
