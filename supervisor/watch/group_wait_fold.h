#pragma once
// Finds the ranks for which others wait in init_process_group, from the stages of ranks that agents
// report (wire::StageNews). Pure; the caller gives the time.
//
// A rank is missing until it has called init_process_group. It is assumed that all ranks of the run
// belong to the group, as torchrun's environment says.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "supervisor/core/status/group_wait.h"
#include "supervisor/core/status/status.h"
#include "wire/messages/stages.h"

namespace robustrun::supervisor {

// Whether the rank waits in init_process_group.
[[nodiscard]] bool waits_in_group(const wire::RankStage& rank);

// One look at an attempt, node by node.
class GroupWaitFold {
 public:
  GroupWaitFold(base::Attempt attempt, base::Nanos now) : attempt_(attempt), now_(now) {}
  // Nodes outside the group are left out. `news`: the node's last news, with times of our clock;
  // from news of another attempt only the node's own stage is used.
  void take(const NodeStatus& node, const wire::StageNews& news);
  // nullopt: no rank waits, or no rank is missing.
  [[nodiscard]] std::optional<GroupWait> result();

 private:
  [[nodiscard]] MissingRank missing(const NodeStatus& node, std::uint32_t local,
                                    const wire::StageNews& news) const;
  [[nodiscard]] base::Nanos since(base::Nanos at) const;

  base::Attempt attempt_;
  base::Nanos now_;
  GroupWait wait_;
};

}  // namespace robustrun::supervisor
