#pragma once
// From the first fault of an attempt until nothing of the attempt is left.

#include <optional>

#include "supervisor/core/job/blame/diagnoses.h"
#include "supervisor/core/job/blame/restarts.h"
#include "supervisor/core/job/blame/slow_machines.h"
#include "supervisor/core/job/facts/attempt_progress.h"
#include "supervisor/core/job/facts/group.h"
#include "supervisor/core/job/facts/nodes.h"
#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/job/facts/run.h"
#include "supervisor/core/job/facts/transitions.h"
#include "supervisor/core/job/facts/workers.h"
#include "supervisor/core/job/nodes/agents.h"
#include "supervisor/core/job/phases/backoff_wait.h"
#include "supervisor/core/job/phases/conclusion.h"
#include "supervisor/core/job/phases/finishing.h"
#include "supervisor/core/job/phases/growth.h"
#include "supervisor/core/job/phases/stop_orders.h"
#include "supervisor/core/job/phases/verdicts.h"
#include "supervisor/core/job/saves/copies.h"

namespace robustrun::supervisor {

class Stopping {
 public:
  Stopping(Orders& orders, const Run& run, Nodes& nodes, const Group& group, Workers& workers,
           const AttemptProgress& progress, Copies& copies, Agents& agents,
           const Restarts& restarts, SlowMachines& slow, Diagnoses& diagnoses, Growth& growth,
           StopOrders& stops, BackoffWait& wait, Finishing& finishing, const Verdicts& verdicts,
           Conclusion& conclusion)
      : orders_(orders),
        run_(run),
        nodes_(nodes),
        group_(group),
        workers_(workers),
        progress_(progress),
        copies_(copies),
        agents_(agents),
        restarts_(restarts),
        slow_(slow),
        diagnoses_(diagnoses),
        growth_(growth),
        stops_(stops),
        wait_(wait),
        finishing_(finishing),
        verdicts_(verdicts),
        conclusion_(conclusion) {}

  void break_down(Fault fault, FaultNotes notes);  // → kStopping
  // `explains_root`: the fault caused the failure that the outage began with (Outage::add).
  void add_fault(Fault fault, bool explains_root = false);
  // Whether the loss of this machine explains the failure that the outage began with. `last_word`:
  // when the machine was last heard of; none: unknown.
  [[nodiscard]] bool explains_root(base::NodeId lost, std::optional<base::Nanos> last_word) const;
  // Decides what follows, if nothing of the attempt is left.
  void conclude_if_gone();
  [[nodiscard]] FaultContext context(base::NodeId node) const;
  // Whether a restart will follow, as far as is known now.
  [[nodiscard]] bool will_restart() const;
  [[nodiscard]] StopReason stop_reason() const;
  // A worker asks by its exit code not to requeue the job: the run ends.
  void do_not_requeue(const Event& event);

  void worker_exited(const Event& event);
  void start_failed(const Event& event);
  void workers_gone(const Event& event);
  void looked_back(const Event& event);
  void overdue(const Event& event);

  template <class V>
  void fields(V& v) {
    v(20, "outage", outage_);
  }

 private:
  Orders& orders_;
  const Run& run_;
  Nodes& nodes_;
  const Group& group_;
  Workers& workers_;
  const AttemptProgress& progress_;
  Copies& copies_;
  Agents& agents_;
  const Restarts& restarts_;
  SlowMachines& slow_;
  Diagnoses& diagnoses_;
  Growth& growth_;
  StopOrders& stops_;
  BackoffWait& wait_;
  Finishing& finishing_;
  const Verdicts& verdicts_;
  Conclusion& conclusion_;
  std::optional<Outage> outage_;
};

}  // namespace robustrun::supervisor
