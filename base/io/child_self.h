#pragma once
// Signals to this very process.

namespace robustrun::base {

// For drills (`robustrun inject`): SIGKILL, as if somebody had killed it; no destructor, no
// handler.
[[noreturn]] void die_at_once();

// As if it had come from outside.
void signal_self(int signal);

}  // namespace robustrun::base
