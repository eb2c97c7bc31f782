#pragma once
// Liveness: some time after the last mishap the run has ended, or a group of the wanted size makes
// progress.

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "supervisor/core/types/limits.h"
#include "tests/sim/watch/group.h"

namespace robustrun::sim {

class CalmWatch {
 public:
  explicit CalmWatch(const core::JobSpec& spec) : spec_(spec) {}

  // A machine, and whether it can take part.
  struct Machine {
    base::NodeId node;
    bool has_power = true;
  };

  // Call before GroupWatch gets the actions.
  void on_actions(const std::vector<core::Action>& actions, const GroupWatch& groups) {
    for (const core::Action& action : actions) {
      const auto* launch = std::get_if<core::LaunchAgent>(&action);
      if (launch == nullptr || launch->node.value >= groups.nodes().size()) continue;
      if (groups.nodes()[launch->node.value].joined) ++losses_[launch->node];
    }
  }

  // `lives`: workers of the newest attempt; `gets_on`: they do steps. Returns what is wrong; empty:
  // nothing.
  [[nodiscard]] std::string on_calm(const std::vector<Machine>& machines, const GroupWatch& groups,
                                    std::uint32_t lives, bool gets_on) const {
    const std::vector<core::GroupMember>& group = groups.group();
    const std::size_t usable = static_cast<std::size_t>(
        std::ranges::count_if(machines, [&](const Machine& one) { return counts(one, groups); }));
    const std::size_t wanted = std::min<std::size_t>(max_nodes(), usable);
    if (group.size() < wanted) {
      return fmt::format("{} machines run workers, and {} could", group.size(), wanted);
    }
    if (lives != world_size_of(group)) {
      return fmt::format("{} of {} workers live", lives, world_size_of(group));
    }
    return gets_on ? "" : "no rank does steps";
  }

 private:
  // Not machines that were lost repeatedly: the core does not restart for those.
  [[nodiscard]] bool counts(const Machine& machine, const GroupWatch& groups) const {
    const GroupWatch::Node& node = groups.nodes()[machine.node.value];
    const auto lost = losses_.find(machine.node);
    const std::uint32_t losses = (lost == losses_.end() ? 0 : lost->second) + node.returns;
    if (node.unfit || losses > core::kLossesToGrowWithMax) return false;
    const bool comes_by_itself = spec_.group.open;
    return comes_by_itself ? groups.is_admitted(machine.node) : machine.has_power;
  }
  [[nodiscard]] std::size_t max_nodes() const {
    return spec_.group.max_nodes == 0 ? spec_.nodes.size() : spec_.group.max_nodes;
  }

  const core::JobSpec& spec_;
  std::map<base::NodeId, std::uint32_t> losses_;  // of agents that had joined
};

}  // namespace robustrun::sim
