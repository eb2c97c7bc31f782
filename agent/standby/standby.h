#pragma once
// One standby worker: an interpreter below its shim that has imported the job's modules and waits
// to become a worker. It is a new interpreter, or forked from a template (standby_template.h).
//
// Owned by the StandbySet until it is taken, on the agent's loop. Life: start() → `on_ready` once
// it waits → take(), or kill() and `on_gone`. `on_gone` comes after every end of the standby, but
// not after take().

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/node/node_context.h"
#include "agent/process/cgroup.h"
#include "agent/process/shim_link.h"
#include "agent/spawn/standby_match.h"
#include "agent/standby/standby_template.h"
#include "base/core/result.h"
#include "base/io/fd.h"
#include "base/io/request_socket.h"
#include "base/io/timer.h"

namespace robustrun::agent {

class Standby {
 public:
  struct Plan {
    LaunchSpec spawn;  // from standby_launch_spec()
    std::string modules;  // file that lists the modules to import
    std::string stem;  // of its socket's path
    base::Rank rank;  // of the worker that it can become
    std::uint64_t serial = 0;  // for its cgroup's name
    // The ready template that the standby is forked from, with `changes` to the environment
    // (fork_changes()). Null: a new interpreter is started.
    StandbyTemplate* made = nullptr;
    std::vector<std::string> changes{};
  };
  struct Handlers {
    std::function<void(const Ready&)> on_ready;
    std::function<void()> on_gone;  // none of its processes is left
  };
  // The running process that becomes a worker, with everything it owns. `socket` is kept as long as
  // the worker.
  struct Taken {
    std::unique_ptr<ShimLink> shim;
    std::unique_ptr<base::RequestSocket> socket;
    std::optional<Cgroup> cgroup;
    base::Fd out, err;  // read ends; invalid where a stream is not captured
    pid_t pid = 0;
  };
  static base::Result<std::unique_ptr<Standby>> start(NodeContext& node, Plan plan,
                                                      Handlers handlers);
  // Whether it waits to become a worker, and was neither dead nor stopped a moment ago.
  [[nodiscard]] bool is_ready() const;
  [[nodiscard]] const Ready& ready() const { return *ready_; }
  [[nodiscard]] const LaunchSpec& spawn() const { return plan_.spawn; }
  // Makes the standby a worker. Only if is_ready(). `changes`: from become(). The user's program
  // begins no sooner than at the loop's next turn; this object may be destroyed before.
  Taken take(const std::vector<std::string>& changes);
  void kill();
  // Gives its imports normal priority, because a restart waits for them.
  void hurry();

 private:
  Standby(NodeContext& node, Plan plan, Handlers handlers)
      : plan_(std::move(plan)), handlers_(std::move(handlers)), patience_(node.executor) {}
  base::Status launch(NodeContext& node);
  void on_message(std::string_view message, base::RequestSocket::Reply reply);
  void tell_ready();
  ShimLink::Handlers shim_handlers();

  const std::shared_ptr<Standby*> self_ = std::make_shared<Standby*>(this);
  const Plan plan_;
  Handlers handlers_;
  base::Timer patience_;
  std::unique_ptr<base::RequestSocket> socket_;
  base::RequestSocket::Reply order_;  // the answer that makes the standby a worker
  std::optional<Cgroup> cgroup_;
  base::Fd out_, err_;
  std::optional<Ready> ready_;
  std::unique_ptr<ShimLink> shim_;
  pid_t pid_ = 0;
};

// The shim's options for a process as in `spawn`, without cgroup, stdout and stderr.
ShimOptions shim_options(const NodeContext& node, const LaunchSpec& spawn);

}  // namespace robustrun::agent
