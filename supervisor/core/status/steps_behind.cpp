#include "supervisor/core/status/steps_behind.h"

#include <algorithm>
#include <vector>

namespace robustrun::supervisor {
namespace {

constexpr double kStepsMin = 2;
constexpr double kSecondsMin = 5;

}  // namespace

StepsBehind::StepsBehind(const RunStatus& status)
    : least_(std::max(kStepsMin, kSecondsMin * status.steps_per_second.value_or(0))) {
  std::vector<std::uint64_t> steps;
  for (const NodeStatus& node : status.nodes) {
    for (const RankStatus& rank : node.ranks) steps.push_back(rank.steps);
  }
  if (steps.empty()) return;
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::ranges::nth_element(steps, middle);
  median_ = *middle;
}

bool StepsBehind::is_behind(std::uint64_t steps) const {
  return static_cast<double>(steps) + least_ <= static_cast<double>(median_);
}

}  // namespace robustrun::supervisor
