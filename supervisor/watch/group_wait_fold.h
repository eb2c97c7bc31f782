#pragma once
// Finds the ranks for which others wait in init_process_group, from the stages that agents tell of
// their ranks (wire::StageNews). Pure; the caller gives the time.
//
// A rank has arrived once it has called init_process_group. That all ranks of the run belong to
// that group is assumed, as torchrun's environment has it.

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
  // Nodes outside the group are left out. `news`: the node's last news, by our clock; those of
  // another attempt count only for the node's own stage.
  void take(const NodeStatus& node, const wire::StageNews& news);
  // None: no rank waits, or none is missing.
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
