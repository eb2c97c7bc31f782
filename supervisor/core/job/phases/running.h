#pragma once
// All workers run (kRunning). Progress is counted in steps or, if the workers report none, in
// uptime.

#include "supervisor/core/job/blame/diagnoses.h"
#include "supervisor/core/job/blame/remedies.h"
#include "supervisor/core/job/blame/restarts.h"
#include "supervisor/core/job/blame/slow_machines.h"
#include "supervisor/core/job/blame/updates.h"
#include "supervisor/core/job/facts/attempt_progress.h"
#include "supervisor/core/job/facts/group.h"
#include "supervisor/core/job/facts/nodes.h"
#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/job/phases/growth.h"
#include "supervisor/core/types/job_spec.h"

namespace robustrun::supervisor {

class Running {
 public:
  Running(Orders& orders, const JobSpec& spec, const Nodes& nodes, const Group& group,
          AttemptProgress& progress, Restarts& restarts, SlowMachines& slow, Diagnoses& diagnoses,
          Remedies& remedies, Updates& updates, Growth& growth)
      : orders_(orders),
        spec_(spec),
        nodes_(nodes),
        group_(group),
        progress_(progress),
        restarts_(restarts),
        slow_(slow),
        diagnoses_(diagnoses),
        remedies_(remedies),
        updates_(updates),
        growth_(growth) {}

  void begin();  // → kRunning
  void progress(const Event& event);
  void uptime(const Event& event);
  void update_requested(const Event& event);

  template <class V>
  void fields(V& v) {
    v(83, "uptime_due", uptime_due_);
  }

 private:
  void note_progress();
  void arm_timer();

  Orders& orders_;
  const JobSpec& spec_;
  const Nodes& nodes_;
  const Group& group_;
  AttemptProgress& progress_;
  Restarts& restarts_;
  SlowMachines& slow_;
  Diagnoses& diagnoses_;
  Remedies& remedies_;
  Updates& updates_;
  Growth& growth_;
  base::Nanos uptime_due_{};  // when uptime next counts as progress
};

}  // namespace robustrun::supervisor
