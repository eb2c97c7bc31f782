#pragma once
// For drills (`robustrun inject`): this process dies as if somebody had killed it.

namespace robustrun::base {

// SIGKILL to ourselves: no destructor, no handler, no farewell.
[[noreturn]] void die_at_once();

}  // namespace robustrun::base
