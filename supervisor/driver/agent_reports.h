#pragma once
// Turns agents' reports about their machines and workers into events: with ranks instead of local
// ranks, times of our clock, and checked texts. Other parts of the driver take the reports about
// progress, hangs and connections.
//
// Owned by the driver, on its loop. A report of a worker that the attempt does not have is ignored.

#include <functional>

#include "supervisor/agents/node_table.h"
#include "supervisor/core/job/job.h"
#include "supervisor/core/types/events.h"
#include "supervisor/driver/group_progress.h"
#include "wire/messages/messages.h"

namespace robustrun::supervisor {

class AgentReports {
 public:
  struct Hands {
    std::function<void(EventBody, base::NodeId)> on_event;
    // The node has workers that another supervisor ordered.
    std::function<void(base::NodeId)> on_foreign;
    std::function<void()> on_ended_well;  // a worker of the current attempt has ended well
    // True: the port was for a replay.
    std::function<bool(base::NodeId, const wire::PortReserved&)> takes_port;
  };
  // `traced`: workers' collectives are recorded. The references outlive this object.
  AgentReports(const Job& job, NodeTable& nodes, GroupProgress& progress, bool traced, Hands hands);

  void on_report(base::NodeId node, const wire::WorkerStarted& report);
  void on_report(base::NodeId node, const wire::WorkerStartFailed& report);
  void on_report(base::NodeId node, wire::WorkerExited& report);
  void on_report(base::NodeId node, wire::WorkersGone& report);
  void on_report(base::NodeId node, wire::PortReserved& report);
  void on_report(base::NodeId node, const wire::SavingOver& report);
  void on_report(base::NodeId node, wire::NodeHealth& report);
  void on_report(base::NodeId node, wire::CheckpointDemoted& report);
  void on_report(base::NodeId node, wire::CheckpointMoved& report);
  void on_report(base::NodeId node, wire::HeldCopiesSaved& report);
  void on_report(base::NodeId node, const wire::NodeStages& report);
  // Only keeps the news for the status.
  void on_report(base::NodeId node, wire::StageNews& report);
  // Logs a line of the agent's log.
  void on_report(base::NodeId node, const wire::Notice& report);

 private:
  const Job& job_;
  NodeTable& nodes_;
  GroupProgress& progress_;
  const bool traced_;
  const Hands hands_;
};

}  // namespace robustrun::supervisor
