#pragma once
// A description of a cluster in any format, and the tree that it makes. Pure.
//
// A reader (read/) turns text into a Description: switches that name what is below them, each with
// its line. build_cluster() checks it as a whole, once for all formats: repeated names, a switch or
// node with two parents, cycles, empty switches, undefined names, exceeded limits. Errors are
// "cannot use FILE, line N: ...".

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "topo/network/cluster.h"

namespace robustrun::topo {

struct SwitchEntry {
  std::string name;
  std::vector<std::string> switches;  // directly below it
  std::vector<std::string> nodes;  // directly below it
  std::string level;  // name of its level; empty: by height
  std::uint32_t line = 0;  // 1-based; 0: unknown
};

// Facts about a node besides its place.
struct NodeEntry {
  std::string name;
  std::uint32_t slots = 0;
  std::string nvl_domain, rack, power;
  std::uint32_t line = 0;
};

// Facts about a level.
struct LevelEntry {
  std::string name;
  double gbps = 0;  // above 0
  std::uint32_t line = 0;
};

struct Description {
  std::string source;  // path of a file, or "scontrol show topology"
  std::vector<SwitchEntry> switches;
  std::vector<NodeEntry> nodes;  // optional: switches name nodes as well
  std::vector<LevelEntry> levels;  // optional, each name once
};

// The height of a switch is one more than that of the highest switch below it; switches with only
// nodes have the least. Switches of one height form a level. Levels without a name are named by
// height: leaf, minipod, core, site, level5, ... Nodes are in the order of first mention, switches
// in that of their entries. If a branch lacks a level, a switch is inserted there (a stand-in). It
// has the name of the switch next to it: of the one below, or, above nodes that hang directly on a
// higher switch, of that switch.
base::Result<Cluster> build_cluster(const Description& description);

}  // namespace robustrun::topo
