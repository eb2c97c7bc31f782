#pragma once
// NVLink domains as a level of the tree: GPUs of machines in one domain communicate over NVLink.

#include "topo/network/cluster.h"

namespace robustrun::topo {

// Returns `cluster` with a level "nvl" if the nodes' domains fit between two levels or below the
// lowest: each domain below one switch of the level above, and each switch of the level below in
// one domain. Machines without a domain get one for each switch below the new level; if it is the
// lowest level, one each. Unchanged if no node has a domain, or if they fit nowhere because a
// domain and a switch overlap only in part.
Cluster with_nvl_domains(Cluster cluster);

}  // namespace robustrun::topo
