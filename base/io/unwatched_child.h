#pragma once
// A child process that costs its parent no descriptor, for parents with many children.
//
// The owner learns by other means that the child may have ended (its channel closed) and then calls
// poll_exit(). The loop's own thread must spawn the child, because PR_SET_PDEATHSIG counts that
// thread as its parent, and no other code in this process may reap it.

#include <sys/types.h>

#include <optional>
#include <utility>

#include "base/core/exit_status.h"
#include "base/core/result.h"
#include "base/io/child.h"

namespace robustrun::base {

// The destructor does not kill the process; if the process has ended, the destructor reaps it.
class UnwatchedChild {
 public:
  static Result<UnwatchedChild> spawn(const ChildOptions& options);
  // Owns a process that was reparented to this process, a subreaper, and is not reaped yet.
  static UnwatchedChild adopt(pid_t pid) { return UnwatchedChild(pid); }
  UnwatchedChild(UnwatchedChild&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  UnwatchedChild& operator=(UnwatchedChild&& other) noexcept {
    std::swap(pid_, other.pid_);
    return *this;
  }
  ~UnwatchedChild() { static_cast<void>(poll_exit()); }

  [[nodiscard]] pid_t pid() const { return pid_; }
  // Reaps the process; nullopt: it is alive, or was reaped before.
  [[nodiscard]] std::optional<ExitStatus> poll_exit();
  // Continues the process if it was stopped since the last call; true if it was.
  bool continue_if_stopped();
  void kill();  // SIGKILL, unless it was reaped

 private:
  explicit UnwatchedChild(pid_t pid) : pid_(pid) {}
  pid_t pid_ = 0;  // 0: reaped
};

}  // namespace robustrun::base
