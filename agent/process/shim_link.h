#pragma once
// The agent's side of one shim: starts it, sends it orders, and calls handlers for its reports.
//
// Used on the agent's loop, in a process that has called base::become_subreaper(): processes that a
// killed shim leaves behind are reparented to this process, which kills them before on_gone. A
// handler may destroy the link; no handler is called after that. start() calls none.

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
  int in_fd = -1, out_fd = -1, err_fd = -1;  // the worker's descriptors 0, 1, 2; -1: /dev/null
  std::string cgroup;  // folder of a cgroup v2; empty: none
  std::string cpus;  // "0-3,8"; empty: no binding
  std::string memory;  // "bind:0-1", "prefer:0-1" (NUMA nodes); empty: none
  pid_t container = 0;  // pid whose namespaces the worker enters; 0: none
  // Returns the children of this process that are neither shims nor orphans. Called after a shim
  // was killed; all other children are then killed as orphans. Null: no such child exists.
  std::function<std::vector<pid_t>()> other_children;
};

class ShimLink {
 public:
  // Either on_started or on_start_failed comes. on_exited follows on_started. on_gone always comes,
  // as the last. on_notice comes before on_started, on_signalled at any time. Handlers may be null.
  struct Handlers {
    std::function<void(pid_t worker)> on_started;
    std::function<void(int os_errno, const std::string& what)> on_start_failed;
    // `at`: monotonic time. `shim_lost`: the shim was killed before it could report the worker's
    // exit; the status is then assumed to be SIGKILL. The same is assumed if the worker does not
    // die.
    std::function<void(base::ExitStatus, base::Nanos at, bool shim_lost)> on_exited;
    // No process of the worker's tree is left, or the rest cannot be killed. `killed`: descendants
    // that had to be killed. `unkillable`: one process of the rest and what it waits for, or empty.
    std::function<void(unsigned killed, const std::string& unkillable)> on_gone;
    // `what`: which setting (cgroup, processor binding, memory policy) the worker runs without, and
    // why.
    std::function<void(const std::string& what)> on_notice;
    // Another process sent a signal to the shim, which is the worker's parent.
    std::function<void(int signal)> on_signalled;
  };
  static base::Result<std::unique_ptr<ShimLink>> start(boost::asio::any_io_executor executor,
                                                       const ShimOptions& options,
                                                       Handlers handlers);
  // The same for a worker that the template forks: the worker's parent then becomes the shim
  // (--adopt in agent/shim/protocol.h). `order` requests the fork from the template; it gets the
  // descriptor that is to be descriptor 3 of the shim, and passes on a copy of it.
  static base::Result<std::unique_ptr<ShimLink>> adopt(
      boost::asio::any_io_executor executor, const ShimOptions& options, Handlers handlers,
      const std::function<base::Status(int control)>& order);
  // The argv of a shim for adopt(), without --adopt=PID, which the template inserts after argv[0].
  static std::vector<std::string> adopting_argv(const ShimOptions& options);
  // Replaces all handlers.
  virtual void set_handlers(Handlers handlers) = 0;
  virtual ~ShimLink() = default;  // closes the lifeline: the shim kills its tree
  virtual void signal_group(int signal) = 0;
  virtual void signal_worker(int signal) = 0;  // the worker itself, not its children
  virtual void kill_tree() = 0;
  // Continues the shim if it was stopped: a stopped shim can neither report its worker's end nor
  // obey. A shim that is stopped again and again is killed, and its worker with it. To be called
  // regularly.
  virtual void keep_going() = 0;
  [[nodiscard]] virtual pid_t shim_pid() const = 0;  // 0: not adopted yet
};

}  // namespace robustrun::agent
