#include "cli/text/placement_words.h"

#include <fmt/format.h>

namespace robustrun::cli {

std::string units(std::int64_t millionths) {
  return fmt::format("{:.4g}", static_cast<double>(millionths) / static_cast<double>(topo::kWhole));
}

bool has_choice(const topo::Level& level) { return level.switches.size() > 1; }

std::uint64_t world_of(const topo::Placement& placement) {
  std::uint64_t world = 0;
  for (const std::uint32_t slots : placement.shape.slots) world += slots;
  return world;
}

std::string sizes_text(const topo::Parallel& parallel) {
  std::string text;
  for (const topo::GroupKind kind : parallel.order) {
    const std::uint32_t size = kind == topo::GroupKind::kTp   ? parallel.tp
                               : kind == topo::GroupKind::kCp ? parallel.cp
                               : kind == topo::GroupKind::kEp ? parallel.ep
                               : kind == topo::GroupKind::kDp ? parallel.dp
                                                              : parallel.pp;
    if (size > 1) text += fmt::format("{}{}={}", text.empty() ? "" : ",", to_string(kind), size);
  }
  return text.empty() ? "one rank" : text;
}

std::string levels_text(const topo::Cluster& cluster) {
  std::string text;
  for (const topo::Level& level : cluster.levels) {
    if (!has_choice(level)) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", level.switches.size(), level.name);
    if (level.gbps > 0) text += fmt::format(" ({:g} Gbit/s each)", level.gbps);
  }
  return text;
}

std::string weights_text(const PlacementPlan& plan) {
  std::string text;
  for (const topo::Family& family : plan.placement.shape.families) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", to_string(family.kind),
                        units(plan.objective.kinds.of(family.kind)));
  }
  return text;
}

std::string quality_text(const topo::Placement& placement) {
  const double gap = topo::gap_percent(placement);
  const std::string method(to_string(placement.method));
  if (gap == 0) return method + ", optimal (proven)";
  const std::int64_t bound = placement.bound.worst;
  if (bound > 0) return fmt::format("{}, at most {:.2g} % above the optimum", method, gap);
  return fmt::format("{}, at most {} above the optimum", method,
                     units(placement.score.cost.worst - bound));
}

std::vector<topo::NodeIndex> unused_of(const PlacementPlan& plan) {
  std::vector<bool> used(plan.cluster.nodes.size(), false);
  for (const topo::NodeIndex node : plan.placement.nodes) used[node] = true;
  for (const topo::NodeIndex node : plan.placement.spares) used[node] = true;
  std::vector<topo::NodeIndex> unused;
  for (topo::NodeIndex node = 0; node < used.size(); ++node) {
    if (!used[node]) unused.push_back(node);
  }
  return unused;
}

}  // namespace robustrun::cli
