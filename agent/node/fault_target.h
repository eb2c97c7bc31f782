#pragma once
// A worker as the target of an injected fault (faults/inject.h).

#include <signal.h>
#include <sys/types.h>

#include <string>

namespace robustrun::agent {

// The signal that makes the boot module take an order from the file beside the record. The default
// of --stack-signal is SIGRTMIN+8.
inline int boot_signal() { return SIGRTMIN + 9; }

class FaultTarget {
 public:
  virtual ~FaultTarget() = default;
  // 0: not started yet, or dead.
  [[nodiscard]] virtual pid_t pid() const = 0;
  // Path of its progress record; empty with --inject=off.
  [[nodiscard]] virtual const std::string& record_path() const = 0;
  // Signals the worker's own process, not its children.
  virtual void signal_itself(int signal) = 0;
};

}  // namespace robustrun::agent
