#pragma once
// The limit of open descriptors (RLIMIT_NOFILE, getrlimit(2)).
//
// robustrun raises its own soft limit to the hard one: a supervisor has a connection for each node,
// the job's store one for each rank, and login shells often allow 1,024. What it starts gets the
// soft limit with which robustrun itself was started, as under torchrun: programs may use select(2)
// or close every descriptor up to the limit.

#include <sys/resource.h>

namespace robustrun::base {

// To be called at the start, before there are threads, and again once it is known that the process
// goes on: its parent lowers the limit right after the start (Child::spawn), perhaps after the
// first call. If the limit cannot be raised, it stays as it is.
void raise_descriptor_limit();

// The soft limit for programs that this process starts.
[[nodiscard]] rlim_t inherited_descriptor_limit();

// Gives a child that limit: in the child itself before its exec (0), or for `pid` after its exec.
// Makes only system calls. Has no effect if this process has not raised its own limit.
void give_inherited_descriptor_limit(int pid = 0);

}  // namespace robustrun::base
