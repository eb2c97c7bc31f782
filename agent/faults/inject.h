#pragma once
// Injects faults on this node (`robustrun inject`) and reports what was done.
//
// Owned by the NodeAgent, on its loop. Every order is answered by one Injected, sent before a fault
// that would keep it from being sent. A lasting fault is undone when its time is over and when the
// agent ends: a filled disk is free again even after SIGKILL. Faults inside the interpreter are
// ordered through a file beside the worker's record and a real-time signal, and carried out by the
// boot module (python/robustrun/_boot/faults.py); docs/formats/progress-record.md describes the
// file.

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
    // nullptr: no such worker in the current attempt. Called again before every use.
    std::function<FaultTarget*(base::Attempt, base::LocalRank)> target;
    // DisturbedLink::disturb().
    std::function<void(wire::FaultKind, base::Nanos duration, base::Nanos delay)> disturb;
    std::function<void()> die = base::die_at_once;
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
