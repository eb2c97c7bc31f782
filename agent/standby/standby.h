#pragma once
// One standby worker: an interpreter below its shim that has imported what the job's workers
// import, and waits to be told which worker it is.
//
// Owned by the StandbySet until it is taken, on the agent's loop. Life: start() → `on_ready` once
// it waits → take(), or kill() and `on_gone`, which comes whatever ends it, but not after take().

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/node/node_context.h"
#include "agent/process/cgroup.h"
#include "agent/process/shim_link.h"
#include "agent/spawn/standby_match.h"
#include "base/core/result.h"
#include "base/io/fd.h"
#include "base/io/request_socket.h"

namespace robustrun::agent {

class Standby {
 public:
  struct Plan {
    Spawn spawn;              // as of standby_spawn()
    std::string modules;      // file with what it imports
    std::string stem;         // of its socket's name
    base::Rank rank;          // of the worker that it is like
    std::uint64_t serial = 0; // of its cgroup's name
  };
  struct Handlers {
    std::function<void(const Ready&)> on_ready;
    std::function<void()> on_gone;  // nothing is left of it
  };
  // A worker's process, running, and what belongs to it. `door` is kept for as long as the worker.
  struct Taken {
    std::unique_ptr<ShimLink> shim;
    std::unique_ptr<base::RequestSocket> door;
    std::optional<Cgroup> cgroup;
    base::Fd out, err;  // read ends; invalid where the stream is not captured
    pid_t pid = 0;
  };
  static base::Result<std::unique_ptr<Standby>> start(NodeContext& node, Plan plan,
                                                      Handlers handlers);
  virtual ~Standby() = default;
  // It waits, and neither died nor was stopped a moment ago.
  [[nodiscard]] virtual bool is_ready() const = 0;
  [[nodiscard]] virtual const Ready& ready() const = 0;
  [[nodiscard]] virtual const Spawn& spawn() const = 0;
  // Only when is_ready(). `changes`: as of become(). It begins with the user's program when the
  // loop turns; the object may then go.
  virtual Taken take(const std::vector<std::string>& changes) = 0;
  virtual void kill() = 0;
  // Something waits for it now: its imports need not give way any longer.
  virtual void hurry() = 0;
};

// How a process like that is started, but for its cgroup, 1 and 2.
ShimOptions shim_options(const NodeContext& node, const Spawn& spawn);

}  // namespace robustrun::agent
