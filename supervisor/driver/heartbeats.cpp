// Leases of agents: a node is suspect after a short silence, and lost on evidence.
//
// Evidence is a broken connection together with a machine that does not answer on the second
// channel either, or that has not reconnected; or a silence that outlasts the lease. The lease is
// extended while other ranks do steps, which they could not do without the ranks of the silent
// node.

#include <fmt/core.h>

#include <utility>

#include "base/core/words.h"
#include "base/io/log.h"
#include "supervisor/driver/impl.h"
#include "supervisor/limits.h"

namespace robustrun::supervisor {
void Driver::Impl::arm_lease_check() {
  lease_timer_.expires_after(request_.network.lease.interval / kLeaseChecksPerBeat);
  lease_timer_.async_wait([self = weak_from_this()](const boost::system::error_code& error) {
    auto driver = error ? nullptr : self.lock();
    if (!driver || driver->finished_) return;
    driver->check_leases();
    driver->arm_lease_check();
  });
}

void Driver::Impl::check_leases() {
  note_steps();
  note_group_wait();
  watch_for_hangs();
  const bool beats = lease_checks_++ % kLeaseChecksPerBeat == 0;
  for (std::size_t i = 0; i < nodes_.size() && !finished_; ++i) {
    const base::NodeId node{static_cast<std::uint32_t>(i)};
    // So that agents notice when we cannot be heard any more.
    if (agent_listener_ && beats) {
      send(node, wire::Heartbeat{lease_checks_ / kLeaseChecksPerBeat, {}, parts_.clock.now()});
      const NodeLink& link = nodes_[i];
      if (!link.listens.empty() && !link.lost) agent_listener_->call(link.listens);
      // A node without ranks is a spare, as the group is formed.
      const bool is_spare = link.joined && !link.lost && link.channel && link.ranks.empty();
      const bool is_told = is_spare && job_.state() == JobState::kRunning;
      const auto standbys = is_told ? spare_standbys_.tell(node, link.generation) : std::nullopt;
      if (standbys) send(node, *standbys);
    }
    check_lease(node);
  }
}

void Driver::Impl::check_lease(base::NodeId node) {
  NodeLink& link = nodes_[node.value];
  if (!link.joined || link.lost || link.paused) return;
  const LeaseTimes& lease = request_.network.lease;
  const base::Nanos now = parts_.clock.now();
  const base::Nanos silence = now - link.heard_at;
  if (silence < lease.suspect_after && !link.broken_at) {
    if (std::exchange(link.suspect, false)) {
      RR_LOG(kInfo, ({.node = node_name(node)}), "the agent is heard again");
    }
    return;
  }
  if (silence >= lease.suspect_after) {
    suspect(node, fmt::format("it has been silent for {}", base::duration_words(silence)));
  }
  const bool did_not_return = link.broken_at && now - *link.broken_at >= lease.suspect_after;
  if (!did_not_return && silence < lease.lost_after) return;
  if (!link.ranks.empty() && peers_progress() && silence < kSilenceWithProgressMax) return;
  if (did_not_return) {
    lose(node,
         fmt::format("its connection broke ({}) and it did not come back within {}",
                     link.broken_why, base::in_seconds(lease.suspect_after)),
         link.answers);
  } else {
    lose(node,
         fmt::format("it was silent for {}{}", base::duration_words(silence),
                     link.answers ? "" : ", and its machine does not answer"),
         link.answers);
  }
}

// Steps that were done before the silence are still reported for a moment after its start. So what
// counts is that the furthest rank went on lately; and when a group is being stopped, nothing does.
bool Driver::Impl::peers_progress() const {
  return job_.state() == JobState::kRunning &&
         parts_.clock.now() - stepped_at_ < request_.network.lease.suspect_after;
}

void Driver::Impl::note_steps() {
  const std::uint64_t furthest = progress_.furthest();
  if (std::exchange(furthest_, furthest) < furthest) stepped_at_ = parts_.clock.now();
  speed_.note(parts_.clock.now(), progress_.newest().steps);
  if (const auto news = line_news_.due(parts_.clock.now())) RR_LOG(kWarn, {}, "{}", *news);
}

// Asks the second channel once per suspicion.
void Driver::Impl::suspect(base::NodeId node, const std::string& why) {
  NodeLink& link = nodes_[node.value];
  if (!agent_listener_ || std::exchange(link.suspect, true)) return;
  RR_LOG(kWarn, ({.node = node_name(node)}), "the agent is suspected to be gone: {}", why);
  if (node.value >= request_.spec.nodes.size()) return;  // a volunteer has no second channel
  const auto generation = link.generation;
  parts_.launcher.probe(node, [self = weak_from_this(), node, generation](bool answers) {
    auto driver = self.lock();
    if (!driver || driver->finished_) return;
    NodeLink& asked = driver->nodes_[node.value];
    if (asked.generation != generation || asked.lost) return;
    asked.answers = answers;
    if (answers || !asked.broken_at) return;
    driver->lose(
        node,
        fmt::format("its connection broke ({}) and its machine does not answer", asked.broken_why),
        false);
  });
}

// From here on the agent is fenced: its generation is refused, its workers are its own to kill.
void Driver::Impl::lose(base::NodeId node, const std::string& why, bool node_answers) {
  NodeLink& link = nodes_[node.value];
  if (std::exchange(link.lost, true)) return;
  link.joined = false;
  link.orders.clear();
  if (link.channel) {
    if (agent_listener_) link.channel->send(wire::Refused{"given up: " + why, true});
    std::exchange(link.channel, nullptr)->close();
  }
  if (injector_) injector_->on_agent_lost(node);
  dispatch(AgentLost{why, node_answers, parts_.clock.now() - link.heard_at}, node);
  for (const auto& [number, check] : std::map(checks_)) check->on_agent_lost(node, why);
  if (replay_) replay_->on_agent_lost(node, why);
  for (const auto& look : {look_, last_look_}) {
    if (look) look->on_agent_lost(node);
  }
  for (const auto& look : use_looks_) look->on_agent_lost(node);
}

}  // namespace robustrun::supervisor
