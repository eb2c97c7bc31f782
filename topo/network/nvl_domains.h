#pragma once
// NVLink domains as a level of the tree: between machines of one domain, GPUs talk over NVLink.

#include "topo/network/cluster.h"

namespace robustrun::topo {

// `cluster` with a level "nvl" where its nodes' domains fit in between two levels (or below the
// lowest): each domain below one switch of the level above, each switch of the level below in one
// domain. Machines without a domain have one of their own there. Unchanged if no node names one, or
// if they fit nowhere: then a domain and a switch overlap, and no tree can hold both.
Cluster with_nvl_domains(Cluster cluster);

}  // namespace robustrun::topo
