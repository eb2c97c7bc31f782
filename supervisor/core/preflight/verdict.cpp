#include "supervisor/core/preflight/verdict.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/core/result.h"
#include "base/core/text.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

void Judgement::add(std::size_t place, Fitness level, std::string words) {
  NodeVerdict& verdict = verdicts[place];
  verdict.level = std::max(verdict.level, level);
  verdict.findings.push_back({level, std::move(words)});
}

std::vector<NodeVerdict> judge(const NodesChecked& checked, const std::vector<WantedNode>& wanted,
                               std::uint64_t world_size) {
  RR_ASSERT(checked.nodes.size() == wanted.size());
  Judgement judgement{checked, wanted, world_size};
  for (const NodeCheck& node : checked.nodes) {
    judgement.verdicts.push_back({node.node, Fitness::kFit, {}});
  }
  judge_local(judgement);
  judge_equal(judgement);
  judge_reach(judgement);
  judge_speed(judgement);
  judge_probe(judgement);
  for (NodeVerdict& verdict : judgement.verdicts) {  // the worst first
    std::ranges::stable_sort(verdict.findings, std::ranges::greater{}, &Finding::level);
  }
  return std::move(judgement.verdicts);
}

std::string names_in_words(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesShownMax); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  if (names.size() > kNamesShownMax)
    text += fmt::format(" and {} more", names.size() - kNamesShownMax);
  return text;
}

std::string said(const std::string& text) {
  return base::printable(std::string_view(text).substr(0, kFindingBytesMax));
}

}  // namespace robustrun::supervisor
