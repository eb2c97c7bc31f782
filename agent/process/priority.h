#pragma once
// The priority of a process that has lowered its own (python/robustrun/_boot/standby.py).

#include <sys/types.h>

namespace robustrun::agent {

// Gives `pid`, all its threads, and its session (sched_autogroup) this process's nice value. Does
// what is permitted; says nothing of the rest.
void restore_priority(pid_t pid);

}  // namespace robustrun::agent
