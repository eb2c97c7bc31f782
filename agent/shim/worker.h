#pragma once
// Turns the shim's forked child into the user's program.
//
// This code runs between fork and exec, so it makes little but system calls. The child writes
// failures to the report pipe as Trouble records; the pipe closes with the exec.

#include <sys/resource.h>
#include <sys/types.h>

#include "agent/shim/protocol.h"

namespace robustrun::agent::shim {

// The shim's command line (protocol.h); null: the option is absent.
struct Options {
  const char* cgroup = nullptr;
  const char* cpus = nullptr;
  const char* memory = nullptr;
  rlim_t files = 0;  // the soft limit of open descriptors; 0: the shim's
  const char* directory = nullptr;
  const char* container = nullptr;  // a pid
  bool is_template = false;
  pid_t adopted = 0;  // pid of the existing worker; 0: the worker is to be started
  char** argv = nullptr;
};

struct Trouble {
  Stage stage;
  int os_errno;
};

// Sets the default disposition of every signal, including the two that the C library hides.
void reset_signal_dispositions();

// fork(2), directly into `cgroup` (null: none) if the kernel can (clone3(2), Linux 5.7), because
// moving a process into a cgroup later takes milliseconds. Sets *in_cgroup to true if the child is
// in `cgroup`.
pid_t fork_worker(const char* cgroup, bool* in_cgroup);

// Exits with 127 if a necessary step or the exec fails. `in_cgroup`: from fork_worker(). `shim`:
// pid of this process's parent.
[[noreturn]] void become_worker(const Options& options, bool in_cgroup, pid_t shim, int report_fd);

}  // namespace robustrun::agent::shim
