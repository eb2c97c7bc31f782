#pragma once
// `robustrun agent`: turns start orders into running workers on this node and tells the truth
// about them. Never decides: policy is the supervisor's.

#include "base/io/fd.h"

namespace robustrun::agent {

// Serves the supervisor at the other end of `channel` until it dismisses us or the channel closes
// (then everything that was started is killed). Returns the process's exit code.
int run_agent(base::Fd channel);

}  // namespace robustrun::agent
