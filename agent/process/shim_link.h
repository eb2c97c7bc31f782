#pragma once
// The agent's side of one shim: starts it, passes on orders, turns its records into callbacks.
//
// Used on the agent's loop, in a process that has called base::become_subreaper(): what a killed
// shim leaves behind is reparented to this process and killed here before on_gone. A handler may
// destroy the link; none is called after that, and none from within start().

#include <sys/types.h>

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/exit_status.h"
#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::agent {

struct ShimOptions {
  std::string shim;  // absolute path of robustrun-shim
  std::vector<std::string> argv;  // the worker's
  std::vector<std::string> environment;  // the worker's
  std::string working_directory;  // empty: the agent's
  int in_fd = -1, out_fd = -1, err_fd = -1;  // the worker's 0, 1, 2; -1: /dev/null
  std::string cgroup;  // folder of a cgroup v2; empty: none
  std::string cpus;  // "0-3,8"; empty: no binding
  std::string memory;  // "bind:0-1", "prefer:0-1" (NUMA nodes); empty: none
  pid_t container = 0;  // whose namespaces the worker enters; 0: none
  // Returns the children of this process that are neither shims nor orphans. Called after a shim
  // was lost; all further children are then killed as orphans. Null: there are none.
  std::function<std::vector<pid_t>()> other_children;
};

class ShimLink {
 public:
  // Exactly one of on_started and on_start_failed comes, before all others but on_notice and
  // on_signalled; on_exited follows on_started. on_gone is always the last and always comes:
  // nothing of this worker's tree is left, except `unkillable` (which names a process and what it
  // waits for).
  struct Handlers {
    std::function<void(pid_t worker)> on_started;
    std::function<void(int os_errno, const std::string& what)> on_start_failed;
    // `shim_lost`: the shim was killed. The status is then assumed to be SIGKILL, as it also is if
    // the worker cannot be killed.
    std::function<void(base::ExitStatus, base::Nanos at, bool shim_lost)> on_exited;
    std::function<void(unsigned killed, const std::string& unkillable)> on_gone;
    // What the worker has to run without (cgroup, processor binding, memory policy); may be null.
    std::function<void(const std::string& what)> on_notice;
    // The shim, which is the worker's parent, got a signal from another process; null: it is
    // ignored.
    std::function<void(int signal)> on_signalled;
  };
  static base::Result<std::unique_ptr<ShimLink>> start(boost::asio::any_io_executor executor,
                                                       const ShimOptions& options,
                                                       Handlers handlers);
  // The same, but another process forks the worker, and the worker's parent becomes the shim
  // (--adopt in agent/shim/protocol.h). `order` requests that: it gets the descriptor that is to be
  // descriptor 3 of the shim, and passes on a copy of it.
  static base::Result<std::unique_ptr<ShimLink>> adopt(
      boost::asio::any_io_executor executor, const ShimOptions& options, Handlers handlers,
      const std::function<base::Status(int control)>& order);
  // The argv of that shim, without --adopt=PID, which the other process inserts after argv[0].
  static std::vector<std::string> adopting_argv(const ShimOptions& options);
  // Replaces the handlers of start().
  virtual void set_handlers(Handlers handlers) = 0;
  virtual ~ShimLink() = default;  // closes the lifeline: the shim kills its tree
  virtual void signal_group(int signal) = 0;
  virtual void signal_worker(int signal) = 0;  // the worker itself, not its children
  virtual void kill_tree() = 0;
  // Continues a shim that was stopped: it could neither report its worker's end nor obey. One
  // that is stopped again and again is killed, and its worker with it. To be called regularly.
  virtual void keep_going() = 0;
  [[nodiscard]] virtual pid_t shim_pid() const = 0;
};

}  // namespace robustrun::agent
