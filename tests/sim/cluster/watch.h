#pragma once
// Passes events and actions to the observers: incidents, budgets, liveness, the job's shadow.

#include "tests/sim/cluster/cluster.h"

namespace robustrun::sim {

// Before the core gets the event, and whether it does or not.
inline void Cluster::watch(const core::Event& event, bool is_past) {
  invariants_.on_event(event);
  invariants_.holds("every_incident_is_closed",
                    watches_.incidents.on_event(event, is_past, invariants_.groups()));
  watches_.budgets.on_event(event);
  coverage_.on_event(event);
  if (!is_past) check_order_of(event);
}

// Before the actions are carried out.
inline void Cluster::watch(Nanos now, const std::vector<core::Action>& actions) {
  watches_.calm.on_actions(actions, invariants_.groups());
  invariants_.on_actions(now, actions);
  invariants_.holds("every_incident_is_closed", watches_.incidents.on_actions(now, actions));
  const BudgetWatch::Broken broken = watches_.budgets.on_actions(now, actions);
  if (broken.rule != nullptr) invariants_.holds(broken.rule, broken.what);
  invariants_.holds("rungs_are_taken_so_often", coverage_.on_actions(now, actions));
}

// Long after the last mishap. A run that still goes on is stopped by its user.
inline void Cluster::check_calm() {
  if (outcome_.exit_code) return;
  ++outcome_.calm_runs;
  std::vector<CalmWatch::Machine> machines;
  std::uint32_t lives = 0;
  for (const VirtualNode& node : nodes_) {
    machines.push_back({node.id(), node.has_power()});
    if (followed_.value > 0) lives += node.alive({followed_.value - 1});
  }
  const bool gets_on = !is_down_ && (steps_ > 0 || !scenario_.reports_steps);
  invariants_.holds("calm_runs_get_on",
                    watches_.calm.on_calm(machines, invariants_.groups(), lives, gets_on));
  core::SignalReceived end{SIGTERM, false};
  end.by = "robustrun stop";
  tell({}, {}, end);
}

}  // namespace robustrun::sim
