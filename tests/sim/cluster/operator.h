#pragma once
// Commands that reach the supervisor after an event was decided, before anything was done about it
// or reached an agent.

#include "tests/sim/cluster/cluster.h"

namespace robustrun::sim {

inline void Cluster::type_commands() {
  auto dice = fates_.draw(queue_.now(), Mishap::kOperator, 0, scenario_.commands);
  if (!dice) return;
  for (const Command& command : draw_commands(*dice)) {
    queue_.after(command.at, [this, command] { type(command); });
  }
}

// As the control socket does it: nonsense is refused there and is not an event.
inline void Cluster::type(const Command& command) {
  using Verb = Command::Verb;
  if (outcome_.exit_code || job_.state() == core::JobState::kIdle) return;
  const auto versions = static_cast<std::uint32_t>(job_.versions().all.size());
  if (command.verb == Verb::kStop) {
    return tell({}, {},
                core::SignalReceived{command.signal, false, command.grace, "robustrun stop"});
  }
  if (command.verb == Verb::kForward) {
    return tell({}, {}, core::SignalReceived{SIGUSR1, true, {}, {}});
  }
  if (command.verb == Verb::kUpdate) {
    const std::uint32_t version = command.is_new ? versions : command.number % versions;
    return tell({}, {},
                core::UpdateRequested{version, {"env B=1"}, {}, command.now, command.within});
  }
  if (nodes_.empty()) return;
  VirtualNode& victim = nodes_[command.number % nodes_.size()];
  core::FaultInjected fault{"kill", job_.attempt(), victim.id(), {}, 1, "SIGKILL"};
  invariants_.disturbed();
  if (command.verb == Verb::kInjectAgent) {
    fault.kind = "agent-death";
    victim.kill_agent_process();
  } else {
    const base::Rank rank{command.number % std::max(world_size_, 1U)};
    fault.victim = rank;
    for (VirtualNode& node : nodes_) node.kill_worker(rank);
  }
  tell({}, {}, fault);
}

}  // namespace robustrun::sim
