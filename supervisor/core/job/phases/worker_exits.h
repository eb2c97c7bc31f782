#pragma once
// Workers that end while an attempt starts or runs, and what follows for the attempt and the run.

#include <string>
#include <vector>

#include "supervisor/core/job/blame/early_ends.h"
#include "supervisor/core/job/facts/group.h"
#include "supervisor/core/job/facts/nodes.h"
#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/job/facts/transitions.h"
#include "supervisor/core/job/facts/workers.h"
#include "supervisor/core/job/phases/starting.h"
#include "supervisor/core/job/phases/stopping.h"
#include "supervisor/core/job/saves/copies.h"
#include "supervisor/core/types/job_spec.h"

namespace robustrun::supervisor {

class WorkerExits {
 public:
  WorkerExits(Orders& orders, const JobSpec& spec, const Nodes& nodes, const Group& group,
              Workers& workers, Copies& copies, EarlyEnds& early_ends, Starting& starting,
              Stopping& stopping, Transitions& moves)
      : orders_(orders),
        spec_(spec),
        nodes_(nodes),
        group_(group),
        workers_(workers),
        copies_(copies),
        early_ends_(early_ends),
        starting_(starting),
        stopping_(stopping),
        moves_(moves) {}

  void exited(const Event& event);
  void gone(const Event& event);
  // The scripts of all workers have returned; some processes may be left. `note`: added to the
  // decision's text.
  void succeed(const std::string& note, std::vector<std::string> evidence);

 private:
  void note_success();

  Orders& orders_;
  const JobSpec& spec_;
  const Nodes& nodes_;
  const Group& group_;
  Workers& workers_;
  Copies& copies_;
  EarlyEnds& early_ends_;
  Starting& starting_;
  Stopping& stopping_;
  Transitions& moves_;
};

}  // namespace robustrun::supervisor
