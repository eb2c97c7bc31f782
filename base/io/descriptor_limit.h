#pragma once
// The limit of open descriptors (RLIMIT_NOFILE, getrlimit(2)).
//
// robustrun raises its own soft limit to the hard one: a supervisor has a connection for each node,
// the job's TCPStore has one for each rank, and login shells often allow only 1,024. Programs that
// robustrun starts get the soft limit with which robustrun itself was started, as under torchrun:
// they may use select(2) or close every descriptor up to the limit.

#include <sys/resource.h>

namespace robustrun::base {

// To be called at the start, before there are threads, and again when an agent or a run begins,
// because the parent's Child::spawn lowers the limit of this process, perhaps after the first call.
// If the limit cannot be raised, it stays as it is.
void raise_descriptor_limit();

// The soft limit for programs that this process starts.
[[nodiscard]] rlim_t inherited_descriptor_limit();

// Gives a child inherited_descriptor_limit(). `pid`: the child, after its exec; 0: this process,
// which is the child before its exec. Makes only system calls. Has no effect if
// raise_descriptor_limit() has not raised the limit.
void give_inherited_descriptor_limit(int pid = 0);

}  // namespace robustrun::base
