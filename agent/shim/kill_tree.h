#pragma once
// The shim's last act: kills whatever is left below it and returns when it is gone, or when what
// is left does not die (then survivor() of the result names one of them).

#include "base/io/strays.h"

namespace robustrun::agent::shim {

// `cgroup`: folder of the worker's cgroup, or null. `signals`: a signalfd that SIGCHLD wakes.
base::StrayKiller kill_tree(const char* cgroup, int signals, base::StrayKiller::ReapSink& sink);

base::Nanos monotonic_now();

}  // namespace robustrun::agent::shim
