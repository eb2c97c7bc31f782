#pragma once
// A worker as a fault on purpose sees it (inject.h).

#include <signal.h>
#include <sys/types.h>

#include <string>

namespace robustrun::agent {

// The boot module's handler takes orders that lie beside the record; the stack signal's default is
// SIGRTMIN+8.
inline int boot_signal() { return SIGRTMIN + 9; }

class Victim {
 public:
  virtual ~Victim() = default;
  // 0: not started yet, or dead.
  [[nodiscard]] virtual pid_t pid() const = 0;
  // Path of its progress record; empty with --inject=off.
  [[nodiscard]] virtual const std::string& record_path() const = 0;
  // To the worker's own process, not to its children.
  virtual void signal_itself(int signal) = 0;
};

}  // namespace robustrun::agent
