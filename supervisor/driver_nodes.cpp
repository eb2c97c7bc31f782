// The driver's half that listens: agents' channels, reports and leases.

#include <type_traits>
#include <utility>

#include "base/io/log.h"
#include "supervisor/driver_impl.h"
#include "supervisor/limits.h"
#include "supervisor/translate.h"

namespace robustrun::supervisor {

void Driver::Impl::on_channel(base::NodeId node, base::Generation generation, base::Fd socket) {
  NodeLink& link = nodes_[node.value];
  // A run that ended meanwhile has no use for it: the closed channel tells the agent to go.
  if (link.generation != generation || finished_) return;
  wire::Channel::Handlers handlers;
  handlers.on_message = [self = weak_from_this(), node, generation](wire::Message message) {
    if (auto driver = self.lock()) driver->on_message(node, generation, std::move(message));
  };
  handlers.on_closed = [self = weak_from_this(), node, generation](const base::Error& error) {
    auto driver = self.lock();
    if (!driver || driver->nodes_[node.value].generation != generation) return;
    // The launcher reports the end of the process, with the reason; this is only the first sign.
    driver->nodes_[node.value].channel.reset();
    RR_LOG(kDebug, ({.node = driver->node_name(node)}), "channel closed: {}", error.what);
  };
  link.channel = wire::Channel::open(parts_.executor, std::move(socket), std::move(handlers));
}

void Driver::Impl::on_message(base::NodeId node, base::Generation generation,
                              wire::Message message) {
  NodeLink& link = nodes_[node.value];
  if (link.generation != generation) return;
  link.heard_at = parts_.clock.now();
  std::visit(
      [&](auto& report) {
        using T = std::decay_t<decltype(report)>;
        base::Rank rank;
        if constexpr (std::is_same_v<T, wire::Output>) {
          console_->write(report);
          if (console_->congested()) pause(link);
        } else if constexpr (std::is_same_v<T, wire::WorkerStarted> ||
                             std::is_same_v<T, wire::WorkerStartFailed>) {
          if (rank_of(node, report.local_rank, &rank)) dispatch(to_event(report, rank), node);
        } else if constexpr (std::is_same_v<T, wire::WorkersGone> ||
                             std::is_same_v<T, wire::PortReserved>) {
          dispatch(to_event(report), node);
        } else if constexpr (requires { on_report(node, report); }) {
          on_report(node, report);
        }
        // Heartbeat and Bye only renew the lease; orders of ours never come back.
      },
      message);
}

void Driver::Impl::on_report(base::NodeId node, const wire::Hello& hello) {
  NodeLink& link = nodes_[node.value];
  if (hello.protocol != wire::kProtocolVersion) {
    RR_LOG(kError, ({.node = node_name(node)}),
           "the agent speaks protocol {}, we speak {}: install the same robustrun everywhere",
           hello.protocol, wire::kProtocolVersion);
    link.channel->close();
    link.channel.reset();
    return;
  }
  link.joined = true;
  send(node, wire::Welcome{wire::kProtocolVersion, node, link.generation, request_.workers});
  dispatch(AgentJoined{hello.pid}, node);
}

void Driver::Impl::on_report(base::NodeId node, const wire::WorkerProgress& report) {
  base::Rank rank;
  if (report.attempt != job_.attempt() || !rank_of(node, report.local_rank, &rank)) return;
  for (Progress& mark : progress_.take(rank, report)) dispatch(std::move(mark), node);
  if (request_.spec.stop_after_steps && !step_goal_sent_ &&
      progress_.steps_done() >= *request_.spec.stop_after_steps) {
    step_goal_sent_ = true;
    if (auto summary = progress_.summary()) dispatch(*std::move(summary), node);
    dispatch(StepGoalReached{report.attempt, progress_.steps_done()}, node);
  }
}

void Driver::Impl::on_report(base::NodeId node, const wire::WorkerExited& report) {
  base::Rank rank;
  if (!rank_of(node, report.local_rank, &rank)) return;
  // So that the journal knows the last step before a failure, and the final metrics.
  if (auto summary = progress_.summary()) dispatch(*std::move(summary), node);
  dispatch(to_event(report, rank), node);
}

void Driver::Impl::on_report(base::NodeId node, const wire::Notice& notice) {
  const auto level = static_cast<base::LogLevel>(
      std::min<std::uint8_t>(notice.level, static_cast<std::uint8_t>(base::LogLevel::kError)));
  if (base::log_enabled(level)) {
    base::log_line(level, {.node = node_name(node), .rank = notice.rank}, notice.text);
  }
}

bool Driver::Impl::rank_of(base::NodeId node, base::LocalRank local_rank, base::Rank* rank) const {
  const auto& ranks = nodes_[node.value].ranks;
  if (local_rank.value >= ranks.size()) return false;
  *rank = ranks[local_rank.value];
  return true;
}

void Driver::Impl::arm_lease_check() {
  lease_timer_.expires_after(kLeaseCheckInterval);
  lease_timer_.async_wait([self = weak_from_this()](const boost::system::error_code& error) {
    auto driver = error ? nullptr : self.lock();
    if (!driver || driver->finished_) return;
    driver->check_leases();
    driver->arm_lease_check();
  });
}

// An agent that is alive but silent (stopped, swapped out) is as good as lost (decisions.md 5).
void Driver::Impl::check_leases() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    NodeLink& link = nodes_[i];
    if (!link.joined || link.paused || parts_.clock.now() - link.heard_at < kNodeSilenceMax)
      continue;
    link.joined = false;
    dispatch(AgentLost{"the agent has been silent for " + std::to_string(kNodeSilenceMax.count()) +
                       " s"},
             base::NodeId{static_cast<std::uint32_t>(i)});
  }
}

// The console is slower than the workers: the node waits, and cannot be called silent meanwhile.
void Driver::Impl::pause(NodeLink& link) {
  if (!link.channel || link.paused) return;
  link.paused = true;
  link.channel->pause_reading();
}

void Driver::Impl::resume(NodeLink& link) {
  if (!link.channel || !link.paused) return;
  link.paused = false;
  link.heard_at = parts_.clock.now();
  link.channel->resume_reading();
}

}  // namespace robustrun::supervisor
