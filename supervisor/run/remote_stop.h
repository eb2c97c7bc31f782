#pragma once
// `robustrun stop` on another machine than the supervisor's, by means of the run directory.

#include <string>

#include "base/core/result.h"
#include "supervisor/control/operation_request.h"

namespace robustrun::supervisor {

// Tells the supervisor to stop the run. Blocks for at most a few seconds per endpoint. kNotFound:
// the run has no endpoints, as it is on one machine. kPermission, kCorrupt: the file with the run's
// key cannot be used. Other errors are those of wire::call_to_stop().
[[nodiscard]] base::Status stop_remotely(const std::string& run_directory,
                                         const StopRequest& request);
// Asks whether the supervisor is there; nothing is stopped. The errors are the same.
[[nodiscard]] base::Status reach_remotely(const std::string& run_directory);

}  // namespace robustrun::supervisor
