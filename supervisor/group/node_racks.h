#pragma once
// The rack of each node by its name, for views that show large runs by rack. Pure.

#include <map>
#include <string>

#include "topo/network/cluster.h"

namespace robustrun::supervisor {

class NodeRacks {
 public:
  explicit NodeRacks(const topo::Cluster& cluster);
  // The rack that the topology names, else the lowest switch above the node; empty: neither is
  // known, or it is the same for all nodes.
  [[nodiscard]] std::string of(const std::string& node) const;

 private:
  std::map<std::string, std::string> racks_;
};

}  // namespace robustrun::supervisor
