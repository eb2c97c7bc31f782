#include "supervisor/core/job/nodes/evictions.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/core/words.h"
#include "supervisor/core/preflight/verdict.h"
#include "supervisor/core/types/exit_code.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

using Agent = NodeState::Agent;

Obstacle Evictions::obstacle(const std::vector<base::NodeId>& suspects, bool may_shrink) const {
  if (suspects.empty()) return {Obstacle::Kind::kNoSuspect};
  std::size_t left = nodes_.there();
  for (auto node = suspects.begin(); node != suspects.end(); ++node) {
    const bool is_there = nodes_.at(*node).is_there();
    if (is_there && std::find(suspects.begin(), node, *node) == node) --left;
  }
  const std::size_t needed = may_shrink ? nodes_.min_wanted() : group_.size();
  if (left >= needed) return {};
  return {Obstacle::Kind::kTooFewMachines, left, needed};
}

// Machines that are evicted together are tested while the run goes on: a fit one comes back as a
// spare, at most kReturnsMax times.
void Evictions::evict(const std::vector<base::NodeId>& suspects, const Classification& looks) {
  std::vector<std::string> names;
  for (const base::NodeId node : suspects) {
    NodeState& evicted = nodes_.at(node);
    nodes_.set_presence(evicted, evicted.agent, true);
    evicted.trouble = looks.name;
    evicted.left_drained = false;
    evicted.on_probation = suspects.size() > 1 && evicted.returns < kReturnsMax;
    // A lost agent is not launched again: its successor would kill what that one still runs.
    if (evicted.agent == Agent::kLost) {
      orders_.give(DismissAgent{node, exit_code_for_infrastructure(spec_.compat)});
    }
    evicted.retry_at = kNever;
    names.push_back(nodes_.name(node));
  }
  std::string waits;
  if (group_.is_formed() && nodes_.there() < nodes_.min_wanted()) {
    waits = fmt::format("; there is no spare: waiting up to {} for a node (--wait-for-nodes)",
                        base::in_seconds(spec_.group.wait_for_nodes));
  }
  const std::string evicted = names_in_words(names);
  const bool is_one = names.size() == 1;
  orders_.decide_on(
      suspects, Rule::kNodeEvicted,
      fmt::format("{} {} evicted{}: {}{}", evicted, is_one ? "is" : "are",
                  is_one ? "" : ", because any of them may be to blame", looks.name, waits),
      is_one ? std::vector<std::string>{} : std::move(names));
  if (!is_one) probation_.check(suspects);
}

}  // namespace robustrun::supervisor
