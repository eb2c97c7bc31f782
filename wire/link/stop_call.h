#pragma once
// Ends a run from another machine than its supervisor's: whoever has the key of the run's authority
// is its owner. Blocks, with a loop of its own.

#include <chrono>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "wire/messages/orders.h"
#include "wire/tls/identity.h"

namespace robustrun::wire {

// Tries the endpoints (numeric, with a port) one after the other. Done when the supervisor says
// that it has heard. kUnavailable, kTimeout: nobody answered; kPermission: somebody else did, or
// it refused.
[[nodiscard]] base::Status call_to_stop(const Authority& authority,
                                        const std::vector<std::string>& endpoints,
                                        const StopRun& order);

}  // namespace robustrun::wire
