#include "launcher/slurm/node_states.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <utility>

#include "base/core/text.h"
#include "base/io/tool.h"
#include "launcher/limits.h"
#include "launcher/slurm/fields.h"

namespace robustrun::launcher {
namespace {

// Flags behind a node's state, the gravest first: a node that is to be rebooted drains as well.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kPlans = {{
    {"REBOOT", "it is to be rebooted"},
    {"MAINT", "it is under maintenance"},
    {"FAIL", "Slurm calls it failing"},
    {"DRAIN", "it is draining"},
    {"@", "it is to be rebooted"},
    {"$", "it is under maintenance"},
}};

std::string_view plan_of(std::string_view state) {
  for (const auto& [flag, words] : kPlans) {
    if (state.find(flag) != std::string_view::npos) return words;
  }
  return {};
}

// The reason may contain blanks; "[user@time]" ends it, or the next field.
std::string reason_of(std::string_view line) {
  constexpr std::string_view kField = " Reason=";
  const auto at = line.find(kField);
  if (at == std::string_view::npos) return {};
  std::string_view rest = line.substr(at + kField.size());
  for (const std::string_view end : {" [", " Comment=", " Extra="}) {
    rest = rest.substr(0, rest.find(end));
  }
  return base::printable(base::trim(rest).substr(0, kSlurmReasonBytesMax));
}

}  // namespace

std::vector<SlurmNodeState> read_node_states(std::string_view shown) {
  std::vector<SlurmNodeState> states;
  for (const std::string_view line : base::split(shown, '\n')) {
    const SlurmFields fields(line);
    const std::string_view state = fields.value("State");
    if (fields.value("NodeName").empty() || state.empty()) continue;
    SlurmNodeState one{std::string(fields.value("NodeName")), std::string(plan_of(state))};
    const std::string reason = one.trouble.empty() ? std::string() : reason_of(line);
    if (!reason.empty()) one.trouble += fmt::format(" ({})", reason);
    states.push_back(std::move(one));
  }
  return states;
}

base::Result<std::vector<SlurmNodeState>> ask_node_states(const SlurmOptions& options,
                                                          const std::vector<std::string>& nodes) {
  std::vector<SlurmNodeState> all;
  for (std::span<const std::string> rest(nodes); !rest.empty();) {
    const std::size_t count = std::min(rest.size(), kSlurmNodesAtOnce);
    const auto done = RR_TRY(base::run_tool({options.commands + "/scontrol", "show", "node",
                                             "--oneliner", base::join(rest.first(count), ",")},
                                            kSlurmCommandWait));
    std::vector<SlurmNodeState> states = read_node_states(done.out);
    if (!done.status.success() && states.empty()) {
      return base::fail(base::Errc::kUnavailable,
                        fmt::format("scontrol ended with {}: {}", base::describe(done.status),
                                    base::printable(base::trim(done.err))));
    }
    std::ranges::move(states, std::back_inserter(all));
    rest = rest.subspan(count);
  }
  return all;
}

}  // namespace robustrun::launcher
