#pragma once
// Sends the core's orders about workers and their states to the agents, and orders to spare nodes
// to keep standby workers like those of the group.
//
// Owned by the driver, on its loop.

#include <functional>
#include <optional>

#include "base/core/clock.h"
#include "supervisor/agents/node_table.h"
#include "supervisor/core/types/actions.h"
#include "supervisor/driver/spare_standbys.h"
#include "supervisor/run_request.h"

namespace robustrun::supervisor {

class WorkerOrders {
 public:
  struct Hands {
    // Called before the first start order of an attempt. `began`: no worker of the attempt started
    // before this time.
    std::function<void(const StartWorkers&, base::Nanos began)> on_attempt;
    // The node's workers cannot be started, and the agent got no order.
    std::function<void(WorkerStartFailed, base::NodeId)> on_failed;
  };
  // The references outlive this object.
  WorkerOrders(const base::Clock& clock, const RunRequest& request, NodeTable& nodes, Hands hands);

  void perform(const ReservePort& action);
  void perform(const StartWorkers& action);
  void perform(const StopWorkers& action);
  void perform(const ForwardSignal& action);
  void perform(const DismissAgent& action);
  void perform(const DemoteCheckpoint& action);
  void perform(const SaveHeldCopies& action);

  // `since`: the start of a run that another supervisor led before. Workers of the current attempt
  // may have started at any time since then.
  void take_over(base::Nanos since) { taken_over_since_ = since; }
  void on_report(base::NodeId node, const wire::StandbyModules& report);
  // The node's connection broke: it may have missed orders.
  void on_connected_again(base::NodeId node);
  // To be called now and then while workers run: sends a spare the newest order about standby
  // workers.
  void prepare_spare(base::NodeId node);

 private:
  const base::Clock& clock_;
  const RunRequest& request_;
  NodeTable& nodes_;
  const Hands hands_;
  SpareStandbys standbys_;
  std::optional<base::Attempt> started_;  // the attempt whose workers were ordered to start
  std::optional<base::Nanos> taken_over_since_;
};

}  // namespace robustrun::supervisor
