#pragma once
// Long-lived child processes (agents, templates), started by posix_spawn(3) and watched through a
// pidfd on an Asio loop.
//
// There is no SIGCHLD handler and no waitpid(-1), so that no exit is missed or stolen: each Child
// reaps only its own process. Must be spawned from the loop's own thread, because PR_SET_PDEATHSIG
// in the child counts that thread as its parent. The child starts with all signals unblocked and
// with their default actions.

#include <sys/types.h>

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/core/exit_status.h"
#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::base {

struct ChildOptions {
  std::string executable;  // absolute path
  std::vector<std::string> argv;  // including argv[0]
  std::vector<std::string> environment;  // NAME=VALUE, complete
  // The child's descriptor i is a copy of our descriptors[i]; -1, or no entry for 0 to 2, means
  // /dev/null. All others are closed.
  std::vector<int> descriptors;
  bool new_session = true;  // setsid(2)
};

// Whether the kernel has pidfd_open(2) and waitid(2) with P_PIDFD, which Child needs: Linux 5.4, or
// an older one whose distributor added them.
[[nodiscard]] bool has_pidfd();

class Child {
 public:
  using ExitHandler = std::function<void(ExitStatus)>;
  // A failed exec is returned as an error. `on_exit` is called once, from the loop.
  static Result<std::unique_ptr<Child>> spawn(boost::asio::any_io_executor executor,
                                              const ChildOptions& options, ExitHandler on_exit);
  // Does not kill the process; the exit is not reported any more. Reaps the process if it has
  // ended.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  [[nodiscard]] pid_t pid() const { return pid_; }
  // Sent through the pidfd, so it never hits a recycled pid. kNotFound once the process was reaped.
  Status signal(int signal);

 private:
  struct Watch;
  Child(pid_t pid, std::shared_ptr<Watch> watch) : pid_(pid), watch_(std::move(watch)) {}
  static void await_exit(const std::shared_ptr<Watch>& watch);

  const pid_t pid_;
  const std::shared_ptr<Watch> watch_;
};

}  // namespace robustrun::base
