#pragma once
// A worker as a fault on purpose sees it (inject.h).

#include <sys/types.h>

#include <string>

namespace robustrun::agent {

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
