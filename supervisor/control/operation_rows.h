#pragma once
// The rows "status", "changes", "stop" and "output" of the control server's table.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "supervisor/control/operation_request.h"
#include "supervisor/control/server.h"

namespace robustrun::supervisor {

struct OperationHands {
  std::function<RunStatus()> status;
  std::function<void(const StopRequest&)> stop;
  std::function<void(OutputNews&)> tell;   // fills in all members but `output`
};

// `hub` and everything that the hands use must outlive the server.
[[nodiscard]] std::vector<ControlServer::Row> operation_rows(OutputHub& hub, OperationHands hands);

// Asks for the changes of the status after the version `since`, an earlier StatusNews::version (0:
// everything), with all details of `rank`.
[[nodiscard]] ControlFields changes_request(std::uint64_t since, std::optional<std::uint32_t> rank);

}  // namespace robustrun::supervisor
