#pragma once
// The requests of other commands over the control socket: status, changes, stop, output, inject,
// diagnose, use, stacks, evict, update.
//
// Owned by the driver, on its loop. If no socket can be opened, the run goes on without one.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "supervisor/agents/node_table.h"
#include "supervisor/console/output_hub.h"
#include "supervisor/control/injector.h"
#include "supervisor/control/operation_rows.h"
#include "supervisor/control/server.h"
#include "supervisor/core/job/job.h"
#include "supervisor/driver/worker_looks.h"
#include "supervisor/run_request.h"

namespace robustrun::supervisor {

class RunControl {
 public:
  // All outlive this object.
  struct Sources {
    const RunRequest& request;
    const Job& job;
    NodeTable& nodes;
    WorkerLooks& looks;
    OutputHub& hub;
  };
  struct Hands {
    std::function<RunStatus()> status;
    std::function<void(OutputNews&)> tell;  // fills in all members but `output`
    std::function<bool()> is_over;  // the run is over: agents take no orders any more
    std::function<void(EventBody, base::NodeId)> on_event;
  };
  RunControl(boost::asio::any_io_executor executor, const Sources& sources, Hands hands);

  void open();
  // The table of the control server.
  [[nodiscard]] std::vector<ControlServer::Row> rows();
  void on_report(base::NodeId node, const wire::Injected& report) {
    injector_.on_report(node, report);
  }
  void on_agent_lost(base::NodeId node) { injector_.on_agent_lost(node); }

 private:
  [[nodiscard]] ControlServer::Row until_over(ControlServer::Row row) const;
  [[nodiscard]] Injector::Group reachable_group() const;
  [[nodiscard]] base::Status evict(const std::string& name);

  const boost::asio::any_io_executor executor_;
  const Sources of_;
  const Hands hands_;
  Injector injector_;
  std::unique_ptr<ControlServer> server_;  // null: no other command can reach the run
};

}  // namespace robustrun::supervisor
