#pragma once
// What goes wrong between the supervisor and the others, and what they order at the worst time.

#include "tests/sim/cluster.h"

namespace robustrun::sim {

inline void Cluster::plan_orders() {
  const auto is_due = [this](Nanos at, Mishap what, std::size_t which) {
    return fates_.strikes(at, what, static_cast<std::uint32_t>(which), 1);
  };
  for (std::size_t i = 0; i < scenario_.volunteers.size(); ++i) {
    const Scenario::Volunteer& volunteer = scenario_.volunteers[i];
    if (!is_due(volunteer.at, Mishap::kVolunteer, i)) continue;
    queue_.at(volunteer.at, [this, &volunteer] {
      if (outcome_.exit_code) return;
      add_node();
      tell(nodes_.back().id(), {}, core::NodeOffered{volunteer.node});
    });
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

// In order, except on bad days.
inline void Cluster::transmit(Channel& channel, std::function<void()> deliver) {
  const std::uint32_t where = channel.number;
  if (strikes(Mishap::kLost, where, scenario_.lost)) return invariants_.disturbed();
  if (strikes(Mishap::kLate, where, scenario_.late)) {
    invariants_.disturbed();
    return queue_.after(channel.dice.between({}, seconds(20)), std::move(deliver));
  }
  if (strikes(Mishap::kTwice, where, scenario_.twice)) {
    queue_.after(channel.dice.between({}, seconds(5)), deliver);
  }
  channel.last = std::max(channel.last, queue_.now() + channel.dice.between({}, milliseconds(5)));
  queue_.at(channel.last, std::move(deliver));
}

// What agents notice about their machines, and what whoever owns these says.
inline void Cluster::follow_health() {
  if (outcome_.exit_code) return;
  for (const VirtualNode& node : nodes_) {
    const std::uint32_t where = node.id().value;
    if (strikes(Mishap::kNodeEnds, where, scenario_.node_ends)) {
      tell(node.id(), node.generation(), core::NodeEnding{"maintenance"});
    }
    const bool breaks = strikes(Mishap::kBreaks, where, scenario_.breaks);
    if (!breaks && !strikes(Mishap::kFlaps, where, scenario_.flaps)) continue;
    invariants_.disturbed();
    const bool is_over = !breaks && dice_.chance(0.3);
    tell(node.id(), node.generation(),
         core::NodeHealth{core::NodeHealth::Source::kKernel, "GPU 0", breaks ? "broken" : "flaps",
                          0, is_over});
  }
  queue_.after(minutes(1), [this] { follow_health(); });
}

// As the hang watch of a real driver: suspected, and then it passes, or is convicted. Ranks of
// several machines are named, of which some call something else than the others.
inline void Cluster::follow_hang(base::Attempt attempt) {
  if (!strikes(Mishap::kHang, 0, scenario_.hangs)) return;
  invariants_.disturbed();
  using Stage = core::Diagnosed::Stage;
  core::Diagnosed found{attempt, Stage::kSuspected, {}, {}, {}, {}};
  found.verdict.finding =
      dice_.chance(0.2) ? tracer::Finding::kMismatch : tracer::Finding::kNeverEntered;
  found.verdict.sentence = "ranks wait for another";
  for (std::uint64_t i = 1 + dice_.below(3); i > 0; --i) {
    found.verdict.culprits.push_back({static_cast<std::uint32_t>(dice_.below(world_size_ + 1))});
  }
  tell({}, {}, found);
  found.stage = dice_.chance(0.3) ? Stage::kPassed : Stage::kConvicted;
  queue_.after(dice_.between(seconds(1), seconds(40)), [this, found] { tell({}, {}, found); });
}

}  // namespace robustrun::sim
