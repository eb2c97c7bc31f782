#pragma once
// Reads the labels of NVIDIA's topograph on Kubernetes nodes, from the output of `kubectl get nodes
// --show-labels`. Pure. (slurm_conf.h reads its topology.conf.)
//
// These labels of a node count; of two for one tier, the one listed first:
//   fabric.topograph.run/tier-N               its switch of tier N, from 0 at the bottom
//   network.topology.nvidia.com/tier-N        the same
//   network.topology.nvidia.com/NAME, network.topology.kubernetes.io/NAME
//                                             NAME leaf or block: tier 0; spine: tier 1; core or
//                                             datacenter: tier 2
//   accelerator.topograph.run/domain, network.topology.nvidia.com/accelerator,
//   network.topology.kubernetes.io/accelerator, nvidia.com/gpu.clique
//                                             its NVLink domain (Node::nvl_domain); the first that
//                                             the node has
// Nodes without a tier are left out: their place is unknown. JSON and YAML are not supported.

#include <string>
#include <string_view>

#include "base/core/result.h"
#include "topo/network/description.h"

namespace robustrun::topo {

// If a switch has the same name on two tiers, the tier is appended on the upper one: "s1/1".
base::Result<Description> read_topograph(std::string_view text, const std::string& source);

// Whether the line is the heading of such a table.
bool is_label_table(std::string_view line);

}  // namespace robustrun::topo
