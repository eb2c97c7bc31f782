#pragma once
// `robustrun stop` on another machine than the supervisor's, by what the run directory holds.

#include <string>

#include "base/core/result.h"
#include "supervisor/control/operation_request.h"

namespace robustrun::supervisor {

// Blocks for at most a few seconds an endpoint. kNotFound: the run has nothing to be called by
// (it was on one machine); kPermission, kCorrupt: of the file that holds the key; else as
// wire::call_to_stop.
[[nodiscard]] base::Status stop_remotely(const std::string& run_directory,
                                         const StopRequest& request);

}  // namespace robustrun::supervisor
