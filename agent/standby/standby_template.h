#pragma once
// The template: an interpreter that has imported the job's modules. Standby workers are forked from
// it; each is ready within milliseconds and shares the template's memory pages.
//
// The template is a child of the agent itself, without a shim, so that the shims of its standbys
// can become children of the agent (docs/formats/standby.md). It is not used if its imports left a
// second thread or a child process. It ends when the agent ends (parent-death signal).
//
// Owned by the StandbySet, on the agent's loop. Life: start() → `on_ready` → request(), any number
// of times → kill() or its own end → `on_gone`, always and last.

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
    LaunchSpec spawn;  // from standby_launch_spec()
    std::string modules;  // file that lists the modules to import
    // The list is from an earlier run, and this run's first workers wait for the template: it
    // imports at normal priority, and only if the program's files are the same as in that run.
    bool is_first = false;
  };
  struct Handlers {
    std::function<void()> on_ready;  // ready() has the report
    std::function<void()> on_gone;
  };
  static base::Result<std::unique_ptr<StandbyTemplate>> start(NodeContext& node, Plan plan,
                                                              Handlers handlers);
  virtual ~StandbyTemplate() = default;

  [[nodiscard]] virtual const LaunchSpec& spawn() const = 0;
  // What the template reported after its imports. Only after on_ready.
  [[nodiscard]] virtual const Ready& ready() const = 0;
  [[nodiscard]] virtual bool is_ready() const = 0;
  // Whether it has neither reported nor been killed by its owner.
  [[nodiscard]] virtual bool is_importing() const = 0;
  struct Order {
    ShimOptions shim;  // with the standby's descriptors and cgroup
    std::string socket;  // path of the socket on which the standby reports
    std::vector<std::string> changes;  // of the standby's environment, from fork_changes()
  };
  // Orders one standby. Only while is_ready(). `control`: as in ShimLink::adopt().
  virtual base::Status request(const Order& order, int control) = 0;
  // Gives its imports normal priority, because a restart waits for them.
  virtual void hurry() = 0;
  virtual void kill() = 0;
};

}  // namespace robustrun::agent
