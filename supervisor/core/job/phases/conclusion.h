#pragma once
// What is done when nothing of an attempt is left. The cause is settled with all evidence. Then the
// step of the policy is taken and the next attempt announced, or the run ends.

#include <optional>
#include <string>
#include <vector>

#include "supervisor/core/job/blame/broken_machine.h"
#include "supervisor/core/job/blame/remedies.h"
#include "supervisor/core/job/blame/restarts.h"
#include "supervisor/core/job/blame/updates.h"
#include "supervisor/core/job/facts/attempt_progress.h"
#include "supervisor/core/job/facts/group.h"
#include "supervisor/core/job/facts/nodes.h"
#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/job/facts/workers.h"
#include "supervisor/core/job/nodes/drains.h"
#include "supervisor/core/job/nodes/evictions.h"
#include "supervisor/core/job/phases/checking.h"
#include "supervisor/core/job/phases/finishing.h"
#include "supervisor/core/job/phases/replaying.h"
#include "supervisor/core/job/phases/verdicts.h"
#include "supervisor/core/job/saves/checkpoints.h"

namespace robustrun::supervisor {

class Conclusion {
 public:
  Conclusion(Orders& orders, const Nodes& nodes, const Group& group, const Workers& workers,
             const AttemptProgress& progress, Checkpoints& checkpoints, Evictions& evictions,
             Drains& drains, const BrokenMachine& broken, Remedies& remedies, Updates& updates,
             Restarts& restarts, Checking& checking, Replaying& replaying, Finishing& finishing,
             const Verdicts& verdicts)
      : orders_(orders),
        nodes_(nodes),
        group_(group),
        workers_(workers),
        progress_(progress),
        checkpoints_(checkpoints),
        evictions_(evictions),
        drains_(drains),
        broken_(broken),
        remedies_(remedies),
        updates_(updates),
        restarts_(restarts),
        checking_(checking),
        replaying_(replaying),
        finishing_(finishing),
        verdicts_(verdicts) {}

  // The wait before the next attempt; none: the run has ended.
  std::optional<base::Nanos> conclude(Outage& outage);

 private:
  [[nodiscard]] std::string next_workers_in_words() const;
  void take_step(Step step, const Outage& outage);
  void give_up_by_policy(const Outage& outage, StepChoice last, std::vector<std::string> evidence);

  Orders& orders_;
  const Nodes& nodes_;
  const Group& group_;
  const Workers& workers_;
  const AttemptProgress& progress_;
  Checkpoints& checkpoints_;
  Evictions& evictions_;
  Drains& drains_;
  const BrokenMachine& broken_;
  Remedies& remedies_;
  Updates& updates_;
  Restarts& restarts_;
  Checking& checking_;
  Replaying& replaying_;
  Finishing& finishing_;
  const Verdicts& verdicts_;
};

}  // namespace robustrun::supervisor
