#pragma once
// The shim's last step: kills all processes below it. Returns when they are gone or the rest does
// not die; survivor() of the result is then one process of the rest.

#include "base/io/strays.h"

namespace robustrun::agent::shim {

// `cgroup`: folder of the worker's cgroup, or null. `signals`: a signalfd that SIGCHLD wakes.
base::StrayKiller kill_tree(const char* cgroup, int signals, base::StrayKiller::ReapSink& sink);

base::Nanos monotonic_now();

}  // namespace robustrun::agent::shim
