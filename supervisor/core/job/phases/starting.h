#pragma once
// From a group to running workers: a port is reserved (kReserving), then workers start (kStarting).

#include <string>
#include <vector>

#include "supervisor/core/job/blame/diagnoses.h"
#include "supervisor/core/job/blame/early_ends.h"
#include "supervisor/core/job/blame/restarts.h"
#include "supervisor/core/job/blame/slow_machines.h"
#include "supervisor/core/job/blame/updates.h"
#include "supervisor/core/job/facts/attempt_progress.h"
#include "supervisor/core/job/facts/group.h"
#include "supervisor/core/job/facts/nodes.h"
#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/job/facts/transitions.h"
#include "supervisor/core/job/facts/workers.h"
#include "supervisor/core/job/phases/backoff_wait.h"
#include "supervisor/core/job/phases/running.h"
#include "supervisor/core/job/phases/start_orders.h"
#include "supervisor/core/job/saves/checkpoints.h"
#include "supervisor/core/job/saves/copies.h"
#include "supervisor/core/types/job_spec.h"

namespace robustrun::supervisor {

class Starting {
 public:
  Starting(Orders& orders, const JobSpec& spec, const Nodes& nodes, const Group& group,
           Workers& workers, AttemptProgress& progress, Copies& copies, Checkpoints& checkpoints,
           EarlyEnds& early_ends, SlowMachines& slow, Diagnoses& diagnoses, Updates& updates,
           Restarts& restarts, StartOrders& starts, Running& running, BackoffWait& wait,
           Transitions& moves)
      : orders_(orders),
        spec_(spec),
        nodes_(nodes),
        group_(group),
        workers_(workers),
        progress_(progress),
        copies_(copies),
        checkpoints_(checkpoints),
        early_ends_(early_ends),
        slow_(slow),
        diagnoses_(diagnoses),
        updates_(updates),
        restarts_(restarts),
        starts_(starts),
        running_(running),
        wait_(wait),
        moves_(moves) {}

  void begin();  // → kReserving; → kStarting if the port is given; → kBackoff if copies must be
                 // saved first
  void reserve_port();
  void port_reserved(const Event& event);
  void port_overdue(const Event& event);
  void worker_started(const Event& event);
  void start_failed(const Event& event);
  void overdue(const Event& event);
  void check_all_started();  // → kRunning, if all have started

  template <class V>
  void fields(V& v) {
    v(81, "cold_reasons", cold_reasons_);
  }

 private:
  void start_workers();  // → kStarting
  void note_cold(const WorkerStarted& started);

  Orders& orders_;
  const JobSpec& spec_;
  const Nodes& nodes_;
  const Group& group_;
  Workers& workers_;
  AttemptProgress& progress_;
  Copies& copies_;
  Checkpoints& checkpoints_;
  EarlyEnds& early_ends_;
  SlowMachines& slow_;
  Diagnoses& diagnoses_;
  Updates& updates_;
  Restarts& restarts_;
  StartOrders& starts_;
  Running& running_;
  BackoffWait& wait_;
  Transitions& moves_;
  std::vector<std::string> cold_reasons_;  // reported reasons of starts without a standby worker
};

}  // namespace robustrun::supervisor
