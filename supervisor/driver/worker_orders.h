#pragma once
// The core's orders about workers and their states, as messages to the agents. And orders to
// spare nodes to keep standby workers like those of the group.
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
    // Before the first start order of an attempt; `began`: no save of it began earlier.
    std::function<void(const StartWorkers&, base::Nanos began)> on_attempt;
    // Nothing was ordered.
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

  // When the run began, which another supervisor led before: workers of an attempt that is under
  // way may have started as early as that.
  void take_over(base::Nanos since) { taken_over_since_ = since; }
  void on_report(base::NodeId node, const wire::StandbyModules& report);
  // The node's connection broke: it may have missed orders.
  void on_connected_again(base::NodeId node);
  // Call it now and then while workers run: a spare gets the newest order about standby workers.
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
