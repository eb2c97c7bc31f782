#pragma once
// What NVIDIA's topograph says of Kubernetes nodes: the labels in the output of
// `kubectl get nodes --show-labels`. Pure. (Its topology.conf is read by read_slurm_conf.h.)
//
// Of a node's labels these count, newer names first:
//   fabric.topograph.run/tier-N               its switch of tier N, from 0 at the bottom
//   network.topology.nvidia.com/tier-N        the same
//   network.topology.nvidia.com/leaf, spine, core        tiers 0, 1, 2
//   network.topology.nvidia.com/block, spine, datacenter, and network.topology.kubernetes.io/...
//   accelerator.topograph.run/domain, or .../accelerator of these, or nvidia.com/gpu.clique
//                                             its domain of NVLink (Node::nvl_domain)
// Nodes without a tier are left out: nothing is known of them. JSON and YAML are not read.

#include <string>
#include <string_view>

#include "base/core/result.h"
#include "topo/network/description.h"

namespace robustrun::topo {

// A switch that bears the same name on two tiers has the tier behind it on the upper one: "s1/1".
base::Result<Description> read_topograph(std::string_view text, const std::string& source);

// Whether the line is the heading of such a table.
bool is_label_table(std::string_view line);

}  // namespace robustrun::topo
