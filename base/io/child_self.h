#pragma once
// Signals to this process itself.

namespace robustrun::base {

// SIGKILL, for `robustrun inject`: no destructor or handler runs.
[[noreturn]] void die_at_once();

void signal_self(int signal);

}  // namespace robustrun::base
