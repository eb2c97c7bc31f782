#pragma once
// An interpreter that has imported what the job's workers import, and from which standby workers
// are forked: each is ready within milliseconds, and shares its memory pages.
//
// A child of the agent itself, without a shim, so that the standbys forked from it can become
// children of shims that are the agent's own children (docs/formats/standby.md). It has only one
// thread and no child, else it is not used. It ends when the agent ends (parent-death signal).
//
// Owned by the StandbySet, on the agent's loop. Life: start() → `on_ready` → request(), any number
// of times → kill() or its own end → `on_gone`, which always comes and is the last.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/node/node_context.h"
#include "agent/process/shim_link.h"
#include "agent/spawn/standby_match.h"
#include "base/core/result.h"

namespace robustrun::agent {

class StandbyTemplate {
 public:
  struct Plan {
    LaunchSpec spawn;  // as of standby_launch_spec()
    std::string modules;  // file that lists its imports
    // An earlier run listed them, and this run's first workers wait for them: it imports with
    // normal priority, and only if the program's files are those of that run.
    bool is_first = false;
  };
  struct Handlers {
    std::function<void()> on_ready;  // with ready()
    std::function<void()> on_gone;
  };
  static base::Result<std::unique_ptr<StandbyTemplate>> start(NodeContext& node, Plan plan,
                                                              Handlers handlers);
  virtual ~StandbyTemplate() = default;

  [[nodiscard]] virtual const LaunchSpec& spawn() const = 0;
  // What the template reported after its imports. If `unforkable` is not empty, no standby can be
  // forked from it, and it says why. Only after on_ready.
  [[nodiscard]] virtual const Ready& ready() const = 0;
  [[nodiscard]] virtual bool is_ready() const = 0;
  // It has neither reported nor been killed by its owner.
  [[nodiscard]] virtual bool is_importing() const = 0;
  struct Order {
    ShimOptions shim;  // with the standby's descriptors and cgroup
    std::string socket;  // on which it reports
    std::vector<std::string> changes;  // of its environment, as of fork_changes()
  };
  // Orders one standby. Only while is_ready(). `control`: as in ShimLink::adopt().
  virtual base::Status request(const Order& order, int control) = 0;
  // A restart waits for it: its imports get normal priority.
  virtual void hurry() = 0;
  virtual void kill() = 0;
};

}  // namespace robustrun::agent
