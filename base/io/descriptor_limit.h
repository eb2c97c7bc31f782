#pragma once
// The limit of open descriptors (RLIMIT_NOFILE, getrlimit(2)).
//
// robustrun raises its own soft limit to the hard one: a supervisor has a connection for each node,
// the job's store one for each rank, and login shells often allow 1,024. What it starts gets the
// soft limit with which robustrun itself was started, as under torchrun: programs may use select(2)
// or close every descriptor up to the limit.

#include <sys/resource.h>

namespace robustrun::base {

// At the start, before there are threads, and once more when the process is known to go on: the
// process that started it lowers the limit right after the start (Child::spawn), maybe later than
// the first call.
void raise_descriptor_limit();

// The soft limit for programs that this process starts.
[[nodiscard]] rlim_t inherited_descriptor_limit();

// In a child before its exec, or for `pid` after it. Uses system calls only. Without effect if this
// process has not raised its limit.
void give_inherited_descriptor_limit(int pid = 0);

}  // namespace robustrun::base
