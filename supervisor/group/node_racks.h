#pragma once
// The rack of each node by its name, for views that show large runs by rack. Pure.

#include <map>
#include <string>

#include "topo/network/cluster.h"

namespace robustrun::supervisor {

class NodeRacks {
 public:
  explicit NodeRacks(const topo::Cluster& cluster);
  // The rack that the topology names, or without one the lowest switch above the node. Empty: the
  // node is unknown, or all nodes are in the same rack.
  [[nodiscard]] std::string of(const std::string& node) const;

 private:
  std::map<std::string, std::string> racks_;
};

}  // namespace robustrun::supervisor
