#pragma once
// A child process that costs its parent no descriptor, for where there are many.
//
// Whoever starts it learns in another way that it may have ended (a channel to it that closed), and
// asks. Else as base/io/child.h: from the loop's own thread, and nothing else of this process reaps
// it.

#include <sys/types.h>

#include <optional>
#include <utility>

#include "base/core/exit_status.h"
#include "base/core/result.h"
#include "base/io/child.h"

namespace robustrun::base {

// Not killed by the destructor, which reaps it if it is dead.
class UnwatchedChild {
 public:
  static Result<UnwatchedChild> spawn(const ChildOptions& options);
  UnwatchedChild(UnwatchedChild&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  UnwatchedChild& operator=(UnwatchedChild&& other) noexcept {
    std::swap(pid_, other.pid_);
    return *this;
  }
  ~UnwatchedChild() { static_cast<void>(poll_exit()); }

  [[nodiscard]] pid_t pid() const { return pid_; }
  // Reaps it; none: it lives, or was reaped before.
  [[nodiscard]] std::optional<ExitStatus> poll_exit();

 private:
  explicit UnwatchedChild(pid_t pid) : pid_(pid) {}
  pid_t pid_ = 0;  // 0: reaped
};

}  // namespace robustrun::base
