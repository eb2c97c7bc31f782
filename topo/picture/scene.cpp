#include "topo/picture/scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>

namespace robustrun::topo {
namespace {

const Family* family_of(const Shape& shape, GroupKind kind) {
  const auto found = std::ranges::find(shape.families, kind, &Family::kind);
  return found == shape.families.end() ? nullptr : &*found;
}

const Family* heaviest(const Shape& shape, const Weights& weights) {
  const auto found = std::ranges::max_element(
      shape.families, {}, [&](const Family& family) { return weights.of(family.kind); });
  return found == shape.families.end() ? nullptr : &*found;
}

void fill_uses(const Placement& placement, const Family* family, Scene& scene) {
  scene.uses.resize(scene.cluster->nodes.size());
  std::uint32_t rank = 0;
  for (PlaceIndex place = 0; place < placement.nodes.size(); ++place) {
    scene.uses[placement.nodes[place]] = {NodeUse::Kind::kWorks, place, rank, kNoGroup};
    rank += placement.shape.slots[place];
  }
  for (const NodeIndex node : placement.spares) scene.uses[node].kind = NodeUse::Kind::kSpare;
  for (std::uint32_t g = 0; family != nullptr && g < family->groups(); ++g) {
    for (const PlaceIndex place : family->group(g)) {
      std::uint32_t& group = scene.uses[placement.nodes[place]].group;
      group = std::min(group, g);
    }
  }
}

// Sort key of a node among others of its switch.
std::tuple<int, std::uint32_t, std::uint32_t> standing(const NodeUse& use, NodeIndex node) {
  switch (use.kind) {
    case NodeUse::Kind::kWorks: return {0, use.group, use.place};
    case NodeUse::Kind::kSpare: return {1, 0, node};
    case NodeUse::Kind::kFree: return {2, 0, node};
  }
  return {2, 0, node};
}

void fill_tree(Scene& scene) {
  const Cluster& cluster = *scene.cluster;
  scene.nodes.resize(cluster.levels.front().switches.size());
  std::vector<NodeIndex> order(cluster.nodes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](NodeIndex node) { return standing(scene.uses[node], node); });
  for (const NodeIndex node : order) scene.nodes[cluster.leaf_of[node]].push_back(node);
  scene.switches.resize(cluster.levels.size());
  for (std::uint32_t level = 1; level <= scene.top; ++level) {
    scene.switches[level].resize(cluster.levels[level].switches.size());
    const auto& below = cluster.levels[level - 1].switches;
    for (std::uint32_t at = 0; at < below.size(); ++at) {
      scene.switches[level][below[at].parent].push_back(at);
    }
  }
}

}  // namespace

base::Result<Scene> make_scene(const Cluster& cluster, const Placement& placement,
                               const Weights& weights, std::optional<GroupKind> kind) {
  RR_ASSERT(!cluster.levels.empty() && placement.nodes.size() == placement.shape.places());
  const Family* family =
      kind ? family_of(placement.shape, *kind) : heaviest(placement.shape, weights);
  if (kind && family == nullptr) {
    return base::fail(
        base::Errc::kInvalidArgument,
        fmt::format("cannot show {} groups: none of them spans nodes", to_string(*kind)));
  }
  Scene scene;
  scene.cluster = &cluster;
  if (family != nullptr) {
    scene.kind = family->kind;
    scene.groups = family->groups();
  }
  for (std::uint32_t level = 0; level < cluster.levels.size(); ++level) {
    if (cluster.levels[level].switches.size() > 1) scene.top = level;
  }
  fill_uses(placement, family, scene);
  fill_tree(scene);
  return scene;
}

std::vector<NodeIndex> nodes_below(const Scene& scene, std::uint32_t level, std::uint32_t at) {
  std::vector<std::uint32_t> here = {at};
  for (; level > 0; --level) {
    std::vector<std::uint32_t> below;
    for (const std::uint32_t one : here) {
      const auto& some = scene.switches[level][one];
      below.insert(below.end(), some.begin(), some.end());
    }
    here = std::move(below);
  }
  std::vector<NodeIndex> nodes;
  for (const std::uint32_t leaf : here) {
    nodes.insert(nodes.end(), scene.nodes[leaf].begin(), scene.nodes[leaf].end());
  }
  std::ranges::sort(nodes, {}, [&](NodeIndex node) { return standing(scene.uses[node], node); });
  return nodes;
}

SwitchCounts counts_below(const Scene& scene, std::uint32_t level, std::uint32_t at) {
  SwitchCounts counts;
  for (const NodeIndex node : nodes_below(scene, level, at)) {
    switch (scene.uses[node].kind) {
      case NodeUse::Kind::kWorks: ++counts.works; break;
      case NodeUse::Kind::kSpare: ++counts.spare; break;
      case NodeUse::Kind::kFree: ++counts.free; break;
    }
  }
  return counts;
}

}  // namespace robustrun::topo
