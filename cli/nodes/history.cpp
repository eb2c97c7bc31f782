#include "cli/nodes/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/placement/places.h"
#include "supervisor/core/status/node_standing.h"

namespace robustrun::cli {

std::string history_folder(const std::string& asked, const Surroundings& around) {
  if (asked == "off" || asked.empty()) return "";
  if (asked != "auto") {
    return asked.front() == '/' ? asked : around.working_directory + "/" + asked;
  }
  const std::string state = state_folder(around);
  return state.empty() ? "" : state + "/nodes";
}

void plan_history(const Settings& settings, const Surroundings& around, std::uint32_t working,
                  NodesPlan& plan) {
  plan.history = history_folder(settings.text(OptionId::kNodeHistory), around);
  if (plan.history.empty()) return;
  const auto history = around.machine->node_history(plan.history);
  if (!history) {
    plan.warnings.push_back(
        fmt::format("the history of earlier runs is ignored: {}", history.error().what));
    return;
  }
  std::map<std::string, std::string> why;
  for (const auto& standing : supervisor::standings(history->notes, around.wall_time)) {
    if (standing.is_offender) why.emplace(standing.host, supervisor::in_words(standing));
  }
  for (const launcher::Host& host : plan.hosts) {
    if (why.contains(host.name)) plan.offenders.insert(host.name);
  }
  if (plan.offenders.empty()) return;
  const bool can_choose = plan.hosts.size() > working;
  if (can_choose) {
    // --rank0 is the user's choice, and stays first.
    const auto movable = plan.hosts.begin() + (settings.text(OptionId::kRank0).empty() ? 0 : 1);
    std::stable_partition(movable, plan.hosts.end(), [&](const launcher::Host& host) {
      return !plan.offenders.contains(host.name);
    });
  }
  for (const std::string& host : plan.offenders) {
    plan.warnings.push_back(fmt::format(
        "{} has failed earlier runs ({}), and {}; `robustrun nodes {}` shows more", host,
        why.at(host), can_choose ? "is taken last" : "no other host can replace it", host));
  }
}

}  // namespace robustrun::cli
