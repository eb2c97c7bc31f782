#pragma once
// What a description of a cluster says, whatever its format, and the tree that comes of it. Pure.
//
// A reader (read_*.h) turns text into a Description: switches that name what hangs on them, with
// the line each stands in. build_cluster() checks it as a whole, once for all formats: a name that
// occurs twice, a switch or node with two parents, a cycle, a switch without anything below it, a
// name that nothing defines, too many of anything. Errors are "cannot use FILE, line N: ...".

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "topo/network/cluster.h"

namespace robustrun::topo {

struct SwitchEntry {
  std::string name;
  std::vector<std::string> switches;  // right below it
  std::vector<std::string> nodes;     // right below it
  std::string level;                  // its level's name; empty: by height
  std::uint32_t line = 0;             // 1-based; 0: not known
};

// What is said of a node besides its place.
struct NodeEntry {
  std::string name;
  std::uint32_t slots = 0;
  std::string nvl_domain, rack, power;
  std::uint32_t line = 0;
};

// What is said of a level.
struct LevelEntry {
  std::string name;
  double gbps = 0;  // above 0
  std::uint32_t line = 0;
};

struct Description {
  std::string source;  // a file's path, or words: "scontrol show topology"
  std::vector<SwitchEntry> switches;
  std::vector<NodeEntry> nodes;             // optional: the switches name them as well
  std::vector<LevelEntry> levels;           // optional, each name once
};

// A switch's height is one more than that of the highest switch below it; switches with nodes alone
// have the least. All of one height are a level. Levels without a name are called by height: leaf,
// minipod, core, site, level5, ... Nodes and switches are in the order of first mention. Where a
// branch lacks a level, a switch of that branch's name stands in for it.
base::Result<Cluster> build_cluster(const Description& description);

}  // namespace robustrun::topo
