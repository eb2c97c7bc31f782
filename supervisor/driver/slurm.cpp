// What Slurm tells. Its SIGTERM reaches the agents, or us through a batch script, without a reason:
// Slurm is asked for it before the run is ended, so that workers, exit code and report have the
// reason. And it is asked now and then what it plans for the nodes.

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/io/log.h"
#include "supervisor/driver/impl.h"
#include "supervisor/limits.h"

namespace robustrun::supervisor {
namespace {

SignalReceived::Cause cause_of(launcher::SlurmNotice::Why why) {
  using enum launcher::SlurmNotice::Why;
  switch (why) {
    // After both the job is to be requeued.
    case kPreempted:
    case kNodeFailed: return SignalReceived::Cause::kPreempted;
    case kTimeLimit: return SignalReceived::Cause::kTimeLimit;
    case kNothing:
    case kCancelled:
    case kRequeued: break;
  }
  return SignalReceived::Cause::kNone;
}

}  // namespace

void Driver::Impl::signal_received(int signal, bool forward_only) {
  if (signal == SIGTERM && parts_.ask_slurm) return signalled_by_slurm();
  dispatch(SignalReceived{signal, forward_only});
}

// Every agent and the batch script report the signal, and again at the end of the grace period:
// only the first report counts, unless Slurm denies that it signalled.
void Driver::Impl::signalled_by_slurm() {
  if (finished_ || std::exchange(slurm_asked_, true)) return;
  parts_.ask_slurm([weak = weak_from_this()](const launcher::SlurmNotice& notice) {
    if (const auto self = weak.lock()) self->on_notice(notice);
  });
}

void Driver::Impl::on_notice(const launcher::SlurmNotice& notice) {
  slurm_asked_ = notice.why != launcher::SlurmNotice::Why::kNothing;
  if (finished_) return;
  SignalReceived received{SIGTERM, false, {}, notice.words};
  received.cause = cause_of(notice.why);
  dispatch(std::move(received));
}

void Driver::Impl::look_at_node_states() {
  if (!parts_.ask_node_states || request_.network.slurm.poll <= base::Nanos{} || finished_) return;
  parts_.ask_node_states([weak = weak_from_this()](const auto& told) {
    if (const auto self = weak.lock()) self->on_node_states(told);
  });
}

// Slurm may be slow or gone: the run never depends on it. Many runs must not ask at the same time.
void Driver::Impl::on_node_states(const base::Result<std::vector<launcher::SlurmNodeState>>& told) {
  if (finished_) return;
  if (told) {
    slurm_is_silent_ = false;
    std::vector<std::pair<base::NodeId, launcher::SlurmNodeState>> states;
    for (const launcher::SlurmNodeState& state : *told) {
      const auto found = std::ranges::find(names_, state.name);
      if (found == names_.end()) continue;
      states.emplace_back(static_cast<std::uint32_t>(found - names_.begin()), state);
    }
    // Spares first: one that is drained, too, can take no other's place.
    std::ranges::stable_partition(
        states, [this](const auto& each) { return nodes_[each.first.value].ranks.empty(); });
    for (const auto& [node, state] : states) {
      const std::string known = job_.drained(node);
      const bool is_there = nodes_[node.value].joined && !nodes_[node.value].lost;
      if (!is_there || known == state.trouble) continue;
      const bool is_over = state.trouble.empty();
      dispatch(NodeHealth{NodeHealth::Source::kScheduler, "Slurm", is_over ? known : state.trouble,
                          0, is_over},
               node);
    }
  } else if (!std::exchange(slurm_is_silent_, true)) {
    RR_LOG(kInfo, {}, "Slurm does not tell the states of the nodes: {}; the run does not need them",
           told.error().what);
  }
  const base::Nanos poll = request_.network.slurm.poll;
  const auto jitter = static_cast<std::uint64_t>(poll.count() / kSlurmPollJitter) + 1;
  slurm_timer_.expires_after(poll + base::Nanos(base::Rng(base::system_seed()).below(jitter)));
  slurm_timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = error ? nullptr : weak.lock();
    if (self) self->look_at_node_states();
  });
}

}  // namespace robustrun::supervisor
