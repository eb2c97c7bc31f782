#pragma once
// The content of a picture of a placement: the tree from the highest level with several switches
// down to the nodes, and for each node its use and the group that gives it its colour. Pure. Shared
// by text.h and svg.h.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "topo/place.h"

namespace robustrun::topo {

constexpr std::uint32_t kNoGroup = 0xffffffff;

struct NodeUse {
  enum class Kind : std::uint8_t { kFree, kSpare, kWorks };
  Kind kind = Kind::kFree;
  PlaceIndex place = 0;  // kWorks
  std::uint32_t first_rank = 0;  // kWorks
  std::uint32_t group = kNoGroup;  // kWorks: its first group of Scene::kind; kNoGroup: none
};

struct Scene {
  const Cluster* cluster = nullptr;
  std::optional<GroupKind> kind;  // kind of the shown groups; nullopt: no group spans nodes
  std::uint32_t groups = 0;
  std::vector<NodeUse> uses;  // by node
  std::uint32_t top = 0;  // the highest level to show
  // By switch of levels[0], its nodes: first working nodes, by group, then spares, then unused
  // nodes.
  std::vector<std::vector<NodeIndex>> nodes;
  // By level, then by switch, its switches on the level below; empty for level 0.
  std::vector<std::vector<std::vector<std::uint32_t>>> switches;
};

// `kind`: the kind of the groups to show; nullopt: the kind of most weight. kInvalidArgument: no
// group of `kind` spans nodes. The cluster must outlive the scene.
base::Result<Scene> make_scene(const Cluster& cluster, const Placement& placement,
                               const Weights& weights, std::optional<GroupKind> kind);

// Nodes of each use below a switch.
struct SwitchCounts {
  std::uint32_t works = 0, spare = 0, free = 0;
};
SwitchCounts counts_below(const Scene& scene, std::uint32_t level, std::uint32_t at);

// All nodes below a switch, in the order of Scene::nodes.
std::vector<NodeIndex> nodes_below(const Scene& scene, std::uint32_t level, std::uint32_t at);

}  // namespace robustrun::topo
