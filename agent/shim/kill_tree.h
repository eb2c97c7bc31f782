#pragma once
// The shim's last act: kills everything that is left below it, and returns when that is gone or
// does not die (survivor() of the result then names one such process).

#include "base/io/strays.h"

namespace robustrun::agent::shim {

// `cgroup`: folder of the worker's cgroup, or null. `signals`: a signalfd that SIGCHLD wakes.
base::StrayKiller kill_tree(const char* cgroup, int signals, base::StrayKiller::ReapSink& sink);

base::Nanos monotonic_now();

}  // namespace robustrun::agent::shim
