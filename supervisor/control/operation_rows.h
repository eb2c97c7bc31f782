#pragma once
// The rows "status", "stop" and "output" of the control server's table: the daily operations.

#include <functional>
#include <vector>

#include "supervisor/control/operation_request.h"
#include "supervisor/control/server.h"

namespace robustrun::supervisor {

struct OperationHands {
  std::function<RunStatus()> status;
  std::function<void(const StopRequest&)> stop;
  std::function<void(OutputNews&)> tell;   // fills in everything but the output
};

// `hub` and everything that the hands use must outlive the server.
[[nodiscard]] std::vector<ControlServer::Row> operation_rows(OutputHub& hub, OperationHands hands);

}  // namespace robustrun::supervisor
