#pragma once
// A description of a cluster, whatever its format, and the tree built from it. Pure.
//
// A reader (read/) turns text into a Description: switches that name the switches or nodes below
// them. build_cluster() checks the description, the same for all formats: repeated names, a switch
// or node with two parents, cycles, empty switches, undefined names, exceeded limits. Errors are
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
  std::string level;  // name of the switch's level; empty: named by height
  std::uint32_t line = 0;  // 1-based; 0: unknown
};

// Facts about a node besides its switch.
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
  std::vector<NodeEntry> nodes;  // optional: a node that a switch names needs no entry
  std::vector<LevelEntry> levels;  // optional, each name once
};

// Switches with only nodes below them have height 0; any other switch is one higher than the
// highest switch below it. Switches of one height form a level. Levels without a name are named by
// height: leaf, minipod, core, site, level5, ... Nodes are in the order in which switches name
// them, switches in the order of their entries. If a branch lacks a level, a switch is inserted
// there (a stand-in). It has the name of the switch below it or, if nodes are below it, of the
// switch above it.
base::Result<Cluster> build_cluster(const Description& description);

}  // namespace robustrun::topo
