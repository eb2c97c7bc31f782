#pragma once
// Reads the labels of NVIDIA's topograph on Kubernetes nodes, from the output of `kubectl get nodes
// --show-labels`. Pure. (slurm_conf.h reads the topology.conf that topograph writes.)
//
// These labels of a node are read; if two are for the same tier, the one listed first here counts:
//   fabric.topograph.run/tier-N               its switch of tier N, from 0 at the bottom
//   network.topology.nvidia.com/tier-N        the same
//   network.topology.nvidia.com/NAME, network.topology.kubernetes.io/NAME
//                                             NAME block or leaf: tier 0; spine: tier 1; core or
//                                             datacenter: tier 2
//   accelerator.topograph.run/domain, network.topology.nvidia.com/accelerator,
//   network.topology.kubernetes.io/accelerator, nvidia.com/gpu.clique
//                                             its NVLink domain (Node::nvl_domain); the first that
//                                             the node has
// Nodes without a label of a tier are left out. JSON and YAML are not supported.

#include <string>
#include <string_view>

#include "base/core/result.h"
#include "topo/network/description.h"

namespace robustrun::topo {

// If two tiers have a switch of the same name, the name on the upper tier gets the tier appended:
// "s1/1".
base::Result<Description> read_topograph(std::string_view text, const std::string& source);

// Whether `line` is the heading of the output of `kubectl get nodes --show-labels`.
bool is_label_table(std::string_view line);

}  // namespace robustrun::topo
