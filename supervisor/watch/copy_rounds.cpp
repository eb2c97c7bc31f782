#include "supervisor/watch/copy_rounds.h"

#include <algorithm>

#include "supervisor/limits.h"

namespace robustrun::supervisor {
namespace {

bool is_over(wire::RoundPart::Stage stage) {
  return stage == wire::RoundPart::Stage::kKept || stage == wire::RoundPart::Stage::kRefused;
}

bool holds(wire::RoundPart::Stage stage) {
  return stage == wire::RoundPart::Stage::kHeld || is_over(stage);
}

}  // namespace

void CopyRounds::begin_attempt(base::Attempt attempt, std::uint32_t world_size) {
  // Numbers of a supervisor before us are below: attempts are counted through.
  const std::uint64_t last = std::max(last_, std::uint64_t{attempt.value} << 32U);
  const base::Nanos lead = std::max(lead_, base::Nanos(kCopyRoundLeadMin));
  *this = {};
  attempt_ = attempt;
  ranks_.resize(world_size);
  last_ = last;
  lead_ = lead;
  limit_ = kCopyRoundMax;
}

void CopyRounds::take(const wire::CopiesKept& report, base::Nanos now) {
  if (report.attempt != attempt_) return;
  for (const wire::KeptCopy& copy : report.copies) {
    if (copy.rank.value >= ranks_.size()) continue;
    RankPart& known = ranks_[copy.rank.value];
    if (known.part) count(*known.part, -1);
    known.part = copy.part;
    if (!known.part) continue;
    count(*known.part, 1);
    last_ = std::max(last_, known.part->round);
    if (known.newest && *known.newest >= copy.step) continue;
    known.newest = copy.step;
    if (newest_ && copy.step < *newest_) continue;
    if (newest_ != copy.step) at_newest_ = 0;
    ++at_newest_;
    if (newest_ != copy.step) note_pace(copy.step, now);
  }
}

void CopyRounds::note_pace(std::uint64_t step, base::Nanos now) {
  newest_ = step;
  newest_at_ = now;
  if (since_ && now - since_->at < base::Nanos(kCopyPaceInterval)) return;
  before_ = since_;
  since_ = Mark{step, now};
}

void CopyRounds::count(const wire::RoundPart& part, int by) {
  const auto add = [by](std::size_t& sum) { sum = by > 0 ? sum + 1 : sum - 1; };
  add(ready_);
  if (!order_ || part.round != order_->round) return;
  if (holds(part.stage)) add(holding_);
  if (is_over(part.stage)) add(done_);
  if (by < 0 || !holds(part.stage)) return;
  if (!step_) step_ = part.step;
  is_missed_ = is_missed_ || *step_ != part.step;
}

base::Nanos CopyRounds::deadline() const {
  const base::Nanos most = holding_ < ranks_.size() ? base::Nanos(kCopyRoundHoldMax) : limit_;
  return begun_at_ + std::min(most, limit_);
}

std::optional<base::Nanos> CopyRounds::next_at() const {
  if (ranks_.empty() || ready_ < ranks_.size()) return std::nullopt;
  return is_open_ ? deadline() : not_before_;
}

void CopyRounds::end_round(base::Nanos now) {
  is_open_ = false;
  if (is_missed_) {
    lead_ = std::min(lead_ * 2, base::Nanos(kCopyRoundLeadMax));
    return;
  }
  not_before_ = begun_at_ + base::Nanos(kCopyRoundMin);
  if (done_ < ranks_.size()) {
    limit_ = std::min(limit_ * 2, base::Nanos(kCopyRoundMostMax));
    return;
  }
  complete_ = order_->round;
  complete_step_ = step_;
  lead_ = std::max(lead_ - lead_ / 16, base::Nanos(kCopyRoundLeadMin));
  limit_ = std::clamp<base::Nanos>(4 * (now - begun_at_), kCopyRoundMax, kCopyRoundMostMax);
}

std::optional<wire::CopyRound> CopyRounds::next(base::Nanos now) {
  if (ranks_.empty() || ready_ < ranks_.size()) return std::nullopt;
  if (is_open_) {
    if (!is_missed_ && done_ < ranks_.size() && now < deadline()) return std::nullopt;
    end_round(now);
  }
  const auto step = now < not_before_ ? std::nullopt : choose_step(now);
  if (!step) return std::nullopt;
  order_ = wire::CopyRound{attempt_, ++last_, *step, complete_};
  is_open_ = true;
  begun_at_ = now;
  step_.reset();
  is_missed_ = false;
  holding_ = done_ = 0;
  return order_;
}

std::optional<std::uint64_t> CopyRounds::choose_step(base::Nanos now) const {
  if (!newest_ || (complete_step_ && *newest_ <= *complete_step_)) return std::nullopt;
  double ahead = 0;
  if (before_) {
    const double pace = static_cast<double>(*newest_ - before_->step) /
                        static_cast<double>((newest_at_ - before_->at).count());
    ahead = std::min(pace * static_cast<double>((now - newest_at_ + lead_).count()),
                     static_cast<double>(kCopyRoundAheadMax));
  }
  if (ahead < 1 && at_newest_ == ranks_.size() && !is_missed_) return newest_;
  return *newest_ + 1 + static_cast<std::uint64_t>(ahead);
}

}  // namespace robustrun::supervisor
