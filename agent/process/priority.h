#pragma once
// Restores the priority of standby workers, which lower their own priority while they import
// (python/robustrun/_boot/standby.py).

#include <sys/types.h>

namespace robustrun::agent {

// Gives all threads of `pid` this process's nice value, and the autogroup of `pid` the nice value
// 0, with which every autogroup begins (sched(7)). Skips silently what is not permitted.
void restore_priority(pid_t pid);

}  // namespace robustrun::agent
