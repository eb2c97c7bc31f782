#pragma once
// Injects faults on this node (`robustrun inject`) and reports each fault to the supervisor.
//
// Owned by the NodeAgent, on its loop. Every order is answered by one Injected; it is sent before a
// fault that would delay or prevent it. A lasting fault ends when its time is over. A filled disk
// is also free again when the agent ends, even by SIGKILL. Faults inside the interpreter are
// carried out by the boot module (python/robustrun/_boot/faults.py): the agent writes an order to a
// file beside the worker's record (docs/formats/progress-record.md) and sends a real-time signal.

#include <functional>
#include <memory>

#include "agent/node/fault_target.h"
#include "agent/node/node_context.h"
#include "base/io/child_self.h"
#include "wire/messages/messages.h"

namespace robustrun::agent {

class FaultInjector {
 public:
  struct Hooks {
    // Returns nullptr if the current attempt has no such worker. Called again before every use.
    std::function<FaultTarget*(base::Attempt, base::LocalRank)> target;
    // Calls DisturbedLink::disturb().
    std::function<void(wire::FaultKind, base::Nanos duration, base::Nanos delay)> disturb;
    std::function<void()> die = base::die_at_once;  // kills the agent
  };
  FaultInjector(NodeContext& node, Hooks hooks);
  ~FaultInjector();
  FaultInjector(const FaultInjector&) = delete;
  FaultInjector& operator=(const FaultInjector&) = delete;

  void inject(const wire::Inject& order);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace robustrun::agent
