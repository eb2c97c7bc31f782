#pragma once
// The machines and the switches between them, as far as placement needs it. Plain data, pure.
//
// A tree in levels, kept bottom up: every node hangs on one switch of levels[0], every switch of
// levels[l] on one of levels[l + 1]. A branch that is less deep than others has a switch of its
// own on each level it lacks (description.h makes it so), so that every node is somewhere on every
// level. The top level may have several switches: nothing is known of what joins them.

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
  std::uint32_t slots = 0;  // ranks it can hold; 0: not known
  std::string nvl_domain;   // machines whose GPUs share NVLink; empty: none
  std::string rack;         // machines that fail together; empty: not said
  std::string power;        // the same of their power supply
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
  std::uint32_t parent = 0;  // index in the next level; without meaning at the top
  template <class V>
  void fields(V& v) {
    v(1, "name", name);
    v(2, "parent", parent);
  }
};

struct Level {
  std::string name;  // "leaf", "minipod", "core", ...
  double gbps = 0;   // between one of its switches and the rest, Gbit/s each way; 0: not known
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
  std::vector<Level> levels;           // at least one
  std::string source;                  // where this is known from, for people
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
// By level, by node: the same for all of them.
std::vector<std::vector<std::uint32_t>> switches_by_level(const Cluster& cluster);

// The cluster of `hosts` alone, in their order, without the switches that nothing hangs on. An
// unknown or a repeated host is an error that names the host and `cluster.source`.
base::Result<Cluster> restrict_to(const Cluster& cluster, const std::vector<std::string>& hosts);

// One switch, all hosts on it: nothing is known of the network.
Cluster flat_cluster(const std::vector<std::string>& hosts);

// Whether there is anything to choose: on some level, nodes hang on more than one switch.
bool has_structure(const Cluster& cluster);

// Indices, node counts and parents fit together: what a file or a journal said may be used.
bool is_consistent(const Cluster& cluster);

}  // namespace robustrun::topo
