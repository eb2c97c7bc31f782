#pragma once
// Ends a run from a machine other than its supervisor's: the key of the run's authority proves
// ownership. Blocks, with a loop of its own.

#include <chrono>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "wire/messages/orders.h"
#include "wire/tls/identity.h"

namespace robustrun::wire {

// Tries `endpoints` (numeric, with a port) in order until a supervisor confirms the order.
// kPermission: another TLS server answered, or the supervisor refused; no further endpoint is
// tried. Any other error: no supervisor answered.
[[nodiscard]] base::Status call_to_stop(const Authority& authority,
                                        const std::vector<std::string>& endpoints,
                                        const StopRun& order);

}  // namespace robustrun::wire
