#include "simulator/published_run.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/core/result.h"

namespace robustrun::simulator {
namespace {

// One job under one policy. Advances from fault to fault; a fault during a recovery restarts the
// recovery.
class PublishedRun {
 public:
  PublishedRun(const PublishedPolicy& policy, const JobTerms& job)
      : policy_(policy), job_(job), back_at_(job.nodes + job.spares), in_use_(job.nodes, true) {
    in_use_.resize(back_at_.size());
  }

  Timeline run(const std::vector<TracedFault>& trace) {
    for (const TracedFault& fault : trace) {
      if (fault.at >= job_.duration) break;
      if (fault.machine < back_at_.size()) meet(fault);
    }
    advance(job_.duration, false);
    line_.total = job_.duration;
    return std::move(line_);
  }

 private:
  struct Pause {
    Phase phase;
    Nanos until;
  };

  void meet(const TracedFault& fault) {
    if (back_at_[fault.machine] > fault.at) return;  // the machine is away
    const bool away = fault.stays || fault.kind == FaultKind::kMaintenance;
    if (!in_use_[fault.machine]) {
      if (away) back_at_[fault.machine] = fault.at + fault.lasts;
      return;
    }
    const bool trains = fault.at >= recovered_at();
    if (!trains && !away) return;  // no script is running
    if (fault.kind == FaultKind::kSlow && !policy_.replaces_slow) return slow_down(fault);
    const bool again = fault.at == struck_at_ && !trains;  // simultaneous faults are one incident
    if (fault.kind == FaultKind::kSlow) {
      TracedFault noticed = fault;
      noticed.lasts = std::min(fault.lasts, noticing(FaultKind::kSlow));
      slow_down(noticed);
      if (fault.lasts <= noticing(FaultKind::kSlow)) return;
    }
    const Nanos stopped = fault.kind == FaultKind::kSlow
                              ? std::min(fault.at + noticing(FaultKind::kSlow), job_.duration)
                              : fault.at;
    advance(std::max(stopped, now_), true);
    struck_at_ = fault.at;
    if (!again) ++line_.incidents;
    recover(fault);
  }

  [[nodiscard]] Nanos noticing(FaultKind kind) const {
    return policy_.detect[index(kind)].value + policy_.culprit[index(kind)].value;
  }
  [[nodiscard]] Nanos recovered_at() const { return pauses_.empty() ? now_ : pauses_.back().until; }

  void slow_down(const TracedFault& fault) {
    const Nanos end = std::min(fault.at + fault.lasts, job_.duration);
    slow_until_ = std::max(slow_until_, end);
    slow_from_ = std::min(slow_from_, fault.at);
    slows_ = fault.slows;
  }

  // Records the time up to `to`.
  void advance(Nanos to, bool is_lost) {
    for (const Pause& pause : pauses_) {
      if (now_ >= to) break;
      const Nanos until = std::min(pause.until, to);
      line_.pauses[static_cast<std::size_t>(pause.phase)] += until - now_;
      now_ = until;
    }
    if (now_ < to) {
      const Nanos slow = std::max(Nanos{}, std::min(slow_until_, to) - std::max(slow_from_, now_));
      line_.episodes.push_back({to - now_, share_lost(slow), is_lost});
      slow_from_ = slow_until_ <= to ? Nanos::max() : to;
      if (slow_until_ <= to) slow_until_ = {};
      now_ = to;
    }
    pauses_.clear();
  }

  [[nodiscard]] Nanos share_lost(Nanos slow) const {
    return from_seconds(in_seconds(slow) * (1 - 1 / slows_));
  }

  void recover(const TracedFault& fault) {
    const std::size_t kind = index(fault.kind);
    Nanos at = now_;
    const auto stay = [&](Phase phase, Nanos time) {
      at += time;
      if (time > Nanos{}) pauses_.push_back({phase, at});
    };
    if (fault.kind != FaultKind::kSlow) {
      stay(Phase::kDetect, policy_.detect[kind].value);
      stay(Phase::kCulprit, policy_.culprit[kind].value);
    }
    const bool hangs_again = fault.kind == FaultKind::kHang && fault.stays;
    if (hangs_again && policy_.hang_again.value > Nanos{}) {
      restart(stay, kind);
      stay(Phase::kDetect, policy_.detect[kind].value);
      stay(Phase::kCulprit, policy_.hang_again.value);
    }
    const bool goes = fault.stays || fault.kind == FaultKind::kMaintenance ||
                      fault.kind == FaultKind::kSlow || fault.kind == FaultKind::kHang;
    const bool finds =
        fault.kind != FaultKind::kHang || fault.stays || policy_.evicted_for_hang.value > 1;
    if (goes && finds) {
      const std::uint32_t going =
          fault.kind == FaultKind::kHang ? policy_.evicted_for_hang.value : 1;
      take_out(fault, going, at);
      fill();
    }
    stay(Phase::kWaiting, all_there(at) - at);
    restart(stay, kind);
    stay(Phase::kResidual, job_.residual.value);
  }

  template <class Stay>
  void restart(Stay& stay, std::size_t kind) {
    stay(Phase::kReplace, policy_.replace[kind].value);
    if (!policy_.adds_start) return;
    stay(Phase::kRestart, job_.start.value);
    stay(Phase::kLoad, job_.load.value);
  }

  // Sound machines that are evicted along with it are tested, and come back.
  void take_out(const TracedFault& fault, std::uint32_t count, Nanos at) {
    in_use_[fault.machine] = false;
    const Nanos from = fault.kind == FaultKind::kMachine ? fault.at : at;
    back_at_[fault.machine] =
        from +
        (fault.stays || fault.kind == FaultKind::kMaintenance ? fault.lasts : policy_.tested.value);
    ++missing_;
    for (std::size_t i = 1; i < back_at_.size() && count > 1; ++i) {
      const std::size_t other = (fault.machine + i) % back_at_.size();
      if (!in_use_[other]) continue;
      in_use_[other] = false;
      back_at_[other] = at + policy_.tested.value;
      ++missing_;
      --count;
    }
  }

  // The machine that is available first gets a place, even if only later.
  void fill() {
    for (; missing_ > 0; --missing_) {
      std::size_t best = back_at_.size();
      for (std::size_t i = 0; i < back_at_.size(); ++i) {
        if (in_use_[i]) continue;
        if (best == back_at_.size() || back_at_[i] < back_at_[best]) best = i;
      }
      RR_ASSERT(best < back_at_.size());
      in_use_[best] = true;
    }
  }

  [[nodiscard]] Nanos all_there(Nanos at) const {
    for (std::size_t i = 0; i < back_at_.size(); ++i) {
      if (in_use_[i]) at = std::max(at, back_at_[i]);
    }
    return at;
  }

  const PublishedPolicy& policy_;
  const JobTerms& job_;
  Timeline line_;
  Nanos now_{}, struck_at_{-1};
  std::vector<Pause> pauses_;  // from now on, in order of time; then training
  std::vector<Nanos> back_at_;  // by machine
  std::vector<bool> in_use_;
  std::uint32_t missing_ = 0;
  Nanos slow_from_ = Nanos::max(), slow_until_{};
  double slows_ = 1;
};

}  // namespace

Timeline run_published(const PublishedPolicy& policy, const JobTerms& job,
                       const std::vector<TracedFault>& trace) {
  return PublishedRun(policy, job).run(trace);
}

CheckpointPlan checkpoints_of(const PublishedPolicy& policy, const JobTerms& job) {
  const Nanos every = policy.checkpoint_every.value;
  return {every == Nanos{} ? job.step.value : every,
          policy.checkpoint_stall.value_or(job.checkpoint_stall).value};
}

}  // namespace robustrun::simulator
