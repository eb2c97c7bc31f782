#include "supervisor/core/job/phases/growth.h"

#include <fmt/core.h>

#include <algorithm>

#include "supervisor/core/fault/backoff.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

// Before there is progress, growing costs only a start; but growing again and again must not keep
// the job from ever making progress.
base::Nanos Growth::may_grow_at() const {
  if (progress_.made || growths_ == 0) return progress_.attempt_started;
  return progress_.attempt_started + doubled(kGrowAgainFirst, growths_ - 1, kGrowAgainMax);
}

void Growth::consider() {
  if (group_.size() >= nodes_.max_wanted() || workers_.succeeded() > 0) return;
  if (orders_.now() < may_grow_at()) return;
  if (!restarts_.budget().allows(FaultClass::kInfrastructure)) return;
  const GroupChoice choice = formation_.choice();
  const auto reliable = std::ranges::find_if(choice.newcomers, [this](base::NodeId node) {
    return nodes_.at(node).losses <= kLossesToGrowWithMax;
  });
  if (reliable == choice.newcomers.end() || choice.members.size() <= group_.size()) return;
  moves_.break_down(infrastructure_fault(
      Rule::kGroupGrew,
      fmt::format("{} is there: the group grows from {} to {} nodes", nodes_.name(*reliable),
                  group_.size(), choice.members.size()),
      moves_.context(*reliable)));
}

}  // namespace robustrun::supervisor
