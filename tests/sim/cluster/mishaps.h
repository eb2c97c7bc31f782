#pragma once
// Disturbances from outside the agents, and orders at the worst time.

#include "tests/sim/cluster/cluster.h"

namespace robustrun::sim {

inline void Cluster::plan_orders() {
  const auto is_due = [this](Nanos at, Mishap what, std::size_t which) {
    return fates_.strikes(at, what, static_cast<std::uint32_t>(which), 1);
  };
  for (std::size_t i = 0; i < scenario_.volunteers.size(); ++i) {
    const Scenario::Volunteer& volunteer = scenario_.volunteers[i];
    if (!is_due(volunteer.at, Mishap::kVolunteer, i)) continue;
    queue_.at(volunteer.at, [this, &volunteer] { offer(volunteer.node); });
  }
  for (std::size_t i = 0; i < scenario_.signals.size(); ++i) {
    const Scenario::Signal& signal = scenario_.signals[i];
    if (!is_due(signal.at, Mishap::kSignal, i)) continue;
    queue_.at(signal.at, [this, &signal] {
      core::SignalReceived received{signal.number, signal.forward_only};
      received.cause = signal.cause;
      if (signal.cause != core::SignalReceived::Cause::kNone) received.by = "the scheduler";
      tell({}, {}, received);
    });
  }
  for (std::size_t i = 0; i < scenario_.updates.size(); ++i) {
    const UpdateWish& update = scenario_.updates[i];
    if (!is_due(update.at, Mishap::kUpdate, i)) continue;
    queue_.at(update.at, [this, &update] {
      const auto newest = static_cast<std::uint32_t>(job_.versions().all.size());
      tell({}, {},
           core::UpdateRequested{
               std::min(update.version, newest), {"env A=1"}, {}, update.now, update.within});
    });
  }
}

// A node that offers itself while no supervisor is there tries again.
inline void Cluster::offer(const core::NodeSpec& spec) {
  if (outcome_.exit_code) return;
  if (is_down_) return queue_.after(seconds(5), [this, &spec] { offer(spec); });
  add_node();
  tell(nodes_.back().id(), {}, core::NodeOffered{spec});
}

// Health findings of agents, and announcements of the machines' owner.
inline void Cluster::follow_health() {
  if (outcome_.exit_code) return;
  for (VirtualNode& node : nodes_) {
    const std::uint32_t where = node.id().value;
    if (strikes(Mishap::kNodeEnds, where, scenario_.node_ends)) {
      speak(node.id(), node.generation(), core::NodeEnding{"maintenance"});
    }
    if (strikes(Mishap::kDeparts, where, scenario_.departs)) node.depart();
    const bool breaks = strikes(Mishap::kBreaks, where, scenario_.breaks);
    if (!breaks && !strikes(Mishap::kFlaps, where, scenario_.flaps)) continue;
    invariants_.disturbed();
    const bool is_over = !breaks && dice_.chance(0.3);
    speak(node.id(), node.generation(),
          core::NodeHealth{core::NodeHealth::Source::kKernel, "GPU 0", breaks ? "broken" : "flaps",
                           0, is_over});
  }
  queue_.after(minutes(1), [this] { follow_health(); });
}

}  // namespace robustrun::sim
