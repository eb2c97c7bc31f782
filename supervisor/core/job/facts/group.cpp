#include "supervisor/core/job/facts/group.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/core/words.h"

namespace robustrun::supervisor {

bool Group::has(base::NodeId node) const {
  return std::ranges::find(members_, node) != members_.end();
}

std::vector<bool> Group::membership(std::size_t nodes) const {
  std::vector<bool> is_member(nodes, false);
  for (const base::NodeId node : members_) is_member[node.value] = true;
  return is_member;
}

std::string Group::workers_in_words() const {
  return fmt::format("{} on {}", base::counted(plan_.world_size(), "worker"),
                     base::counted(members_.size(), "node"));
}

}  // namespace robustrun::supervisor
