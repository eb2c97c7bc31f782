#pragma once
// A worker as the target of an injected fault (faults/inject.h).

#include <signal.h>
#include <sys/types.h>

#include <string>

namespace robustrun::agent {

// The signal that makes the boot module carry out the order in the file beside the worker's record.
// SIGRTMIN+8 is taken: it is the default of --stack-signal.
inline int boot_signal() { return SIGRTMIN + 9; }

class FaultTarget {
 public:
  virtual ~FaultTarget() = default;
  // 0: the worker is not started yet, or dead.
  [[nodiscard]] virtual pid_t pid() const = 0;
  // Path of the worker's progress record; empty: the worker has no record (--inject=off).
  [[nodiscard]] virtual const std::string& record_path() const = 0;
  // Signals the worker's own process, not its children.
  virtual void signal_itself(int signal) = 0;
};

}  // namespace robustrun::agent
