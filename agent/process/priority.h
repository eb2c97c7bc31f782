#pragma once
// The priority of a process that has lowered its own (python/robustrun/_boot/standby.py).

#include <sys/types.h>

namespace robustrun::agent {

// Gives `pid` and all its threads this process's nice value, and its session that with which a
// session begins (autogroups in sched(7): 0, whatever the nice value of its processes). Does what
// is permitted; says nothing of the rest.
void restore_priority(pid_t pid);

}  // namespace robustrun::agent
