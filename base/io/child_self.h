#pragma once
// Signals to this process itself.

namespace robustrun::base {

// For drills (`robustrun inject`): SIGKILL, as if sent from outside; no destructor or handler runs.
[[noreturn]] void die_at_once();

// Delivers `signal` as if it had been sent from outside.
void signal_self(int signal);

}  // namespace robustrun::base
