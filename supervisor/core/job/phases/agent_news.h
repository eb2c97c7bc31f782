#pragma once
// What each state of the job does when nodes and their agents come and go.

#include "supervisor/core/job/facts/group.h"
#include "supervisor/core/job/facts/nodes.h"
#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/job/facts/transitions.h"
#include "supervisor/core/job/facts/workers.h"
#include "supervisor/core/job/nodes/agents.h"
#include "supervisor/core/job/phases/backoff_wait.h"
#include "supervisor/core/job/phases/checking.h"
#include "supervisor/core/job/phases/finishing.h"
#include "supervisor/core/job/phases/growth.h"
#include "supervisor/core/job/phases/start_orders.h"
#include "supervisor/core/job/phases/stopping.h"
#include "supervisor/core/types/job_spec.h"

namespace robustrun::supervisor {

class AgentNews {
 public:
  AgentNews(Orders& orders, const JobSpec& spec, Nodes& nodes, const Group& group,
            const Workers& workers, Agents& agents, Checking& checking, Growth& growth,
            StartOrders& starts, Stopping& stopping, BackoffWait& wait, Finishing& finishing,
            Transitions& moves)
      : orders_(orders),
        spec_(spec),
        nodes_(nodes),
        group_(group),
        workers_(workers),
        agents_(agents),
        checking_(checking),
        growth_(growth),
        starts_(starts),
        stopping_(stopping),
        wait_(wait),
        finishing_(finishing),
        moves_(moves) {}

  void joined(const Event& event);
  void offered(const Event& event);
  void timer(const Event& event);
  void lost_idle(const Event& event);  // no worker runs
  void lost_waiting(const Event& event);  // in kBackoff
  void lost_working(const Event& event);  // starting or running
  void lost_stopping(const Event& event);
  void lost_finishing(const Event& event);
  void ending(const Event& event);
  void ending_working(const Event& event);  // starting or running
  void ending_stopping(const Event& event);

 private:
  [[nodiscard]] bool is_forming() const;  // kJoining or kPlacing
  bool note_leaving(const Event& event);
  [[nodiscard]] Fault departure(base::NodeId node) const;
  void report_departure(base::NodeId node);
  void see_off(const Event& event);

  Orders& orders_;
  const JobSpec& spec_;
  Nodes& nodes_;
  const Group& group_;
  const Workers& workers_;
  Agents& agents_;
  Checking& checking_;
  Growth& growth_;
  StartOrders& starts_;
  Stopping& stopping_;
  BackoffWait& wait_;
  Finishing& finishing_;
  Transitions& moves_;
};

}  // namespace robustrun::supervisor
