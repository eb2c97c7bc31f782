#pragma once
// The machines and the switches between them, as far as placement needs them. Plain data, pure.
//
// A tree in levels, stored bottom up: every node is below one switch of levels[0], every switch of
// levels[l] below one of levels[l + 1]. Every node has a switch on every level: a branch that is
// less deep than others has a stand-in switch on each level that it lacks (description.h). The top
// level may have several switches if the network between them is unknown.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace robustrun::topo {

// Index of a machine in Cluster::nodes.
using NodeIndex = std::uint32_t;
constexpr NodeIndex kNoNode = 0xffffffff;

struct Node {
  std::string name;
  std::uint32_t slots = 0;  // number of ranks that it can hold; 0: unknown
  std::string nvl_domain;  // its NVLink domain: machines whose GPUs share an NVLink; empty: none
  std::string rack;  // its rack: machines that may fail together; empty: unknown
  std::string power;  // its power supply; empty: unknown
  template <class V>
  void fields(V& v) {
    v(1, "name", name);
    v(2, "slots", slots);
    v(3, "nvl_domain", nvl_domain);
    v(4, "rack", rack);
    v(5, "power", power);
  }
};

struct Switch {
  std::string name;
  std::uint32_t parent = 0;  // index in the next level; unused at the top
  template <class V>
  void fields(V& v) {
    v(1, "name", name);
    v(2, "parent", parent);
  }
};

struct Level {
  std::string name;  // "leaf", "minipod", "core", ...
  double gbps = 0;  // from one switch to the next level up, Gbit/s each way; 0: unknown
  std::vector<Switch> switches;
  template <class V>
  void fields(V& v) {
    v(1, "name", name);
    v(2, "gbps", gbps);
    v(3, "switches", switches);
  }
};

struct Cluster {
  std::vector<Node> nodes;
  std::vector<std::uint32_t> leaf_of;  // by node: index in levels.front().switches
  std::vector<Level> levels;  // at least one
  std::string source;  // origin of the description, for messages
  template <class V>
  void fields(V& v) {
    v(1, "nodes", nodes);
    v(2, "leaf_of", leaf_of);
    v(3, "levels", levels);
    v(4, "source", source);
  }
};

// The switch above `node` on `level`. O(level).
std::uint32_t switch_of(const Cluster& cluster, NodeIndex node, std::size_t level);
// The switches above all nodes: by level, then by node.
std::vector<std::vector<std::uint32_t>> switches_by_level(const Cluster& cluster);

// The part of `cluster` with only `hosts`, in their order, and without unused switches. Error: an
// unknown or repeated host.
base::Result<Cluster> restrict_to(const Cluster& cluster, const std::vector<std::string>& hosts);

// A cluster with one switch above all hosts: the network is unknown.
Cluster flat_cluster(const std::vector<std::string>& hosts);

// Whether placement has a choice: some level has nodes below more than one switch.
bool has_structure(const Cluster& cluster);

// Whether all indices and counts are valid. To be checked for data from a file or a journal.
bool is_consistent(const Cluster& cluster);

}  // namespace robustrun::topo
