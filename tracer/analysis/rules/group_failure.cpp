// R11: most ranks of a node are culprits at once, so the node is the culprit. This is ByteRobust's
// grouping of outliers (arXiv 2509.16293, section 5), by node.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/core/text.h"
#include "tracer/analysis/rules.h"

namespace robustrun::tracer {
namespace {

// The findings that a node can cause.
constexpr std::array kByNode = {
    Finding::kDied,       Finding::kStopped,         Finding::kNeverEntered,
    Finding::kInputStall, Finding::kGpuBeforeKernel, Finding::kGpuInKernel,
    Finding::kLeftBehind};

}  // namespace

std::optional<Verdict> rule_group_failure(const Case& facts, const Verdict& verdict) {
  if (std::ranges::find(kByNode, verdict.finding) == kByNode.end()) return std::nullopt;
  std::map<std::string_view, std::uint32_t> ranks_of;
  for (std::uint32_t at = 0; at < facts.view.rank_count(); ++at) {
    ++ranks_of[facts.view.rank(at).node];
  }
  std::map<std::string_view, std::uint32_t> culprits_of;
  bool all_ended_well = true;
  for (const base::Rank rank : verdict.culprits) {
    const std::optional<std::uint32_t> at = facts.view.find(rank);
    if (!at || facts.view.rank(*at).node.empty()) return std::nullopt;
    ++culprits_of[facts.view.rank(*at).node];
    all_ended_well = all_ended_well && facts.view.rank(*at).ended_well;
  }
  // A script that ends too early is no fault of its machine.
  if (verdict.finding == Finding::kDied && all_ended_well) return std::nullopt;
  // If more than half of the nodes are concerned, it is the job, not a node.
  if (culprits_of.empty() || culprits_of.size() * 2 > ranks_of.size()) return std::nullopt;
  for (const auto& [node, count] : culprits_of) {
    if (ranks_of[node] < 2 || count * 2 <= ranks_of[node]) return std::nullopt;
  }
  Verdict group = verdict;
  group.finding = Finding::kGroupFailure;
  std::vector<std::string> parts;
  for (const std::string& node : verdict.nodes) {
    parts.push_back(
        fmt::format("{} of the {} ranks of {}", culprits_of[node], ranks_of[node], node));
  }
  if (parts.size() > 3) {
    parts.resize(3);
    parts.push_back(fmt::format("{} more nodes", culprits_of.size() - 3));
  }
  group.sentence =
      fmt::format("{} are at fault together: {}", base::join(parts, ", "), verdict.sentence);
  return group;
}

}  // namespace robustrun::tracer
