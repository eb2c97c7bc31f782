#pragma once
// The agent's side of one shim: starts it, passes orders, turns its records into callbacks.

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
  std::string shim;                      // absolute path of robustrun-shim
  std::vector<std::string> argv;         // the worker's
  std::vector<std::string> environment;  // the worker's
  std::string working_directory;
  int in_fd = -1, out_fd = -1, err_fd = -1;  // the worker's 0, 1, 2; -1: /dev/null
  std::string cgroup;                    // folder of a cgroup v2; empty: none
  std::string cpus;                      // "0-3,8"; empty: no binding
};

class ShimLink {
 public:
  // Exactly one of on_started / on_start_failed first (unless the shim is lost before it);
  // on_exited follows on_started; on_gone is always the last and always comes: it says that
  // nothing of this worker's tree is left below the shim.
  struct Handlers {
    std::function<void(pid_t worker)> on_started;
    std::function<void(int os_errno, const std::string& what)> on_start_failed;
    // `shim_lost`: somebody killed the shim; the status is inferred (SIGKILL).
    std::function<void(base::ExitStatus, base::Nanos at, bool shim_lost)> on_exited;
    std::function<void(unsigned killed, const std::string& unkillable)> on_gone;
  };
  static base::Result<std::unique_ptr<ShimLink>> start(boost::asio::any_io_executor executor,
                                                       const ShimOptions& options,
                                                       Handlers handlers);
  virtual ~ShimLink() = default;   // closes the lifeline: the shim kills its tree
  virtual void signal_group(int signal) = 0;
  virtual void kill_tree() = 0;
  [[nodiscard]] virtual pid_t shim_pid() const = 0;
};

}  // namespace robustrun::agent
