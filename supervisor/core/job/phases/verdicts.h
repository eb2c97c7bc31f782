#pragma once
// Decides what follows when nothing of an attempt is left: a restart, or the end of the run. It
// only decides; Conclusion acts.

#include <string>

#include "supervisor/core/fault/fault.h"
#include "supervisor/core/job/blame/broken_machine.h"
#include "supervisor/core/job/blame/restarts.h"
#include "supervisor/core/job/blame/updates.h"
#include "supervisor/core/job/facts/attempt_progress.h"
#include "supervisor/core/job/facts/nodes.h"
#include "supervisor/core/job/facts/workers.h"
#include "supervisor/core/job/phases/joining.h"
#include "supervisor/core/job/saves/checkpoints.h"
#include "supervisor/core/types/job_spec.h"

namespace robustrun::supervisor {

class Verdicts {
 public:
  Verdicts(const JobSpec& spec, const Nodes& nodes, const Workers& workers,
           const AttemptProgress& progress, const Checkpoints& checkpoints,
           const Restarts& restarts, const Updates& updates, const BrokenMachine& broken,
           const Joining& joining)
      : spec_(spec),
        nodes_(nodes),
        workers_(workers),
        progress_(progress),
        checkpoints_(checkpoints),
        restarts_(restarts),
        updates_(updates),
        broken_(broken),
        joining_(joining) {}

  [[nodiscard]] OutageVerdict of(const Outage& outage) const;

 private:
  const JobSpec& spec_;
  const Nodes& nodes_;
  const Workers& workers_;
  const AttemptProgress& progress_;
  const Checkpoints& checkpoints_;
  const Restarts& restarts_;
  const Updates& updates_;
  const BrokenMachine& broken_;
  const Joining& joining_;
};

// What the next hang at the same place of the script leads to. Empty: the fault is no hang in the
// script.
[[nodiscard]] std::string hangs_in_words(const Fault& root);

}  // namespace robustrun::supervisor
