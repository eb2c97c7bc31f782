#pragma once
// The worker's side of the fork: from the shim's child to the user's program.
//
// Runs between fork and exec, so it uses hardly more than system calls. Failures are written to the
// report pipe as Trouble records; the pipe closes with the exec.

#include <sys/resource.h>
#include <sys/types.h>

#include "agent/shim/protocol.h"

namespace robustrun::agent::shim {

struct Options {
  const char* cgroup = nullptr;
  const char* cpus = nullptr;
  const char* memory = nullptr;
  rlim_t files = 0;  // the soft limit of open descriptors; 0: the shim's
  const char* directory = nullptr;
  const char* container = nullptr;  // a pid
  bool is_template = false;
  pid_t adopted = 0;  // 0: the worker is to be started
  char** argv = nullptr;
};

struct Trouble {
  Stage stage;
  int os_errno;
};

// Default disposition for every signal, including the two that the C library hides.
void reset_signal_dispositions();

// fork(), straight into `cgroup` (null: none) where the kernel can (clone3(2), Linux 5.7): moving a
// living process into a cgroup takes milliseconds (an RCU grace period). `in_cgroup`: whether it
// did.
pid_t fork_worker(const char* cgroup, bool* in_cgroup);

// Exits with 127 when the program cannot be executed. `shim`: this process's parent.
[[noreturn]] void become_worker(const Options& options, bool in_cgroup, pid_t shim, int report_fd);

}  // namespace robustrun::agent::shim
