#include "supervisor/driver/slurm_side.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/io/log.h"
#include "supervisor/limits.h"

namespace robustrun::supervisor {
namespace {

SignalReceived::Cause cause_of(launcher::SlurmNotice::Why why) {
  using enum launcher::SlurmNotice::Why;
  switch (why) {
    // After both the job is to be requeued.
    case kPreempted:
    case kNodeFailed: return SignalReceived::Cause::kPreempted;
    case kTimeLimit:
    case kTimeLimitNear: return SignalReceived::Cause::kTimeLimit;
    case kNothing:
    case kCancelled:
    case kRequeued: break;
  }
  return SignalReceived::Cause::kNone;
}

}  // namespace

SlurmSide::SlurmSide(const boost::asio::any_io_executor& executor, const NodeTable& nodes,
                     base::Nanos poll, Hands hands)
    : nodes_(nodes), poll_(poll), hands_(std::move(hands)), timer_(executor) {}

void SlurmSide::end() {
  goes_on_.reset();
  timer_.cancel();
}

void SlurmSide::signalled() {
  if (!goes_on_ || is_over_ || std::exchange(is_asked_, true)) return;
  hands_.ask_why([this, goes_on = std::weak_ptr(goes_on_)](const launcher::SlurmNotice& notice) {
    if (!goes_on.expired() && !is_over_) on_notice(notice);
  });
}

void SlurmSide::on_notice(const launcher::SlurmNotice& notice) {
  is_asked_ = notice.why != launcher::SlurmNotice::Why::kNothing;
  SignalReceived received{SIGTERM, false, {}, notice.words};
  received.cause = cause_of(notice.why);
  if (notice.end) {
    if (!std::exchange(was_warned_, true)) {
      if (const std::string own = hands_.timed_save(*notice.end); !own.empty()) {
        is_asked_ = false;
        RR_LOG(kInfo, {}, "{}; {}", notice.words, own);
        return;
      }
    }
    received.grace = hands_.time_to_save(*notice.end);
  }
  hands_.on_signal(std::move(received));
}

void SlurmSide::watch_nodes() {
  if (!hands_.ask_states || poll_ <= base::Nanos{} || !goes_on_) return;
  hands_.ask_states([this, goes_on = std::weak_ptr(goes_on_)](const auto& told) {
    if (!goes_on.expired()) on_states(told);
  });
}

// Many runs must not ask at the same time.
void SlurmSide::on_states(const base::Result<std::vector<launcher::SlurmNodeState>>& told) {
  const auto goes_on = std::weak_ptr(goes_on_);
  if (told) {
    is_silent_ = false;
    std::vector<std::pair<base::NodeId, launcher::SlurmNodeState>> states;
    for (const launcher::SlurmNodeState& state : *told) {
      if (const auto node = nodes_.find(state.name)) states.emplace_back(*node, state);
    }
    // Spares first: one that is drained, too, can take no other's place.
    std::ranges::stable_partition(
        states, [this](const auto& each) { return nodes_[each.first].ranks.empty(); });
    for (const auto& [node, state] : states) {
      const std::string known = hands_.drained(node);
      const bool is_there = nodes_[node].joined && !nodes_[node].lost;
      if (!is_there || known == state.trouble) continue;
      const bool is_over = state.trouble.empty();
      hands_.on_health(NodeHealth{NodeHealth::Source::kScheduler, "Slurm",
                                  is_over ? known : state.trouble, 0, is_over},
                       node);
      if (goes_on.expired()) return;
    }
  } else if (!std::exchange(is_silent_, true)) {
    RR_LOG(kInfo, {}, "Slurm does not tell the states of the nodes: {}; the run does not need them",
           told.error().what);
  }
  const auto jitter = static_cast<std::uint64_t>(poll_.count() / kSlurmPollJitter) + 1;
  timer_.after(poll_ + base::Nanos(base::Rng(base::system_seed()).below(jitter)),
               [this] { watch_nodes(); });
}

}  // namespace robustrun::supervisor
