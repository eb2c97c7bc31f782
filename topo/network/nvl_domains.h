#pragma once
// NVLink domains as a level of the tree. GPUs of machines in one domain communicate over NVLink.

#include "topo/network/cluster.h"

namespace robustrun::topo {

// Returns `cluster` with an additional level "nvl", between two levels or below the lowest. The
// domains fit there if each domain is below one switch of the level above, and each switch of the
// level below is in one domain. Machines without a domain get one domain per switch of the level
// below or, if "nvl" becomes the lowest level, one each. `cluster` is unchanged if no node has a
// domain, or if the domains fit nowhere.
Cluster with_nvl_domains(Cluster cluster);

}  // namespace robustrun::topo
