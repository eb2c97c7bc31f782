#include "supervisor/hang_watch.h"

#include <algorithm>
#include <utility>

#include "supervisor/limits.h"

namespace robustrun::supervisor {

namespace {

bool is_the_same(const tracer::Verdict& one, const tracer::Verdict& other) {
  return one.finding == other.finding && one.culprits == other.culprits && one.edges == other.edges;
}

bool is_one_operation(const tracer::Verdict& one, const tracer::Verdict& other) {
  return one.comm == other.comm && one.ordinal == other.ordinal;
}

// Somebody always waits for a moment while a group works; what is wrong for itself counts at once.
bool is_usual(const tracer::Verdict& verdict) {
  using tracer::Finding;
  if (verdict.finding == Finding::kDied || verdict.finding == Finding::kStopped ||
      verdict.finding == Finding::kMismatch) {
    return false;
  }
  return verdict.lasting < kHangMin;
}

// It cannot come right by itself, whatever the worker seems to do.
bool is_final(tracer::Finding finding) {
  return finding == tracer::Finding::kDied || finding == tracer::Finding::kMismatch ||
         finding == tracer::Finding::kOrderInversion || finding == tracer::Finding::kLinkDown;
}

}  // namespace

void HangWatch::begin_attempt(base::Attempt attempt, base::Nanos now) {
  std::vector<Habit> habits = std::move(habits_);
  *this = HangWatch(policy_);
  habits_ = std::move(habits);
  attempt_ = attempt;
  stepped_at_ = now;
}

void HangWatch::note_overdue(base::Rank rank, std::uint64_t comm, bool over, base::Nanos expected) {
  if (over) {
    overdue_.erase({rank, comm});
  } else if (overdue_.size() < kOverdueMax) {
    overdue_.emplace(rank, comm);
    expected_ = std::max(expected_, expected);
  }
}

void HangWatch::note_steps(std::uint64_t steps, base::Nanos now) {
  pace_.note(steps, now);
  if (pace_.take_recovery()) said_slow_.reset();  // a next time is news
  if (steps == steps_) return;
  if (steps < steps_) {  // something else is counted from now on
    steps_ = steps;
    stepped_at_ = now;
    return;
  }
  if (steps_ > 0) {  // the time to the first one is the start's
    ++gaps_;
    longest_gap_ = std::max(longest_gap_, now - stepped_at_);
  }
  steps_ = steps;
  stepped_at_ = now;
}

bool HangWatch::steps_are_missing(base::Nanos now) const {
  return gaps_ >= kGapsToLearn &&
         now - stepped_at_ > std::max<base::Nanos>(kNoStepMin, kNoStepFactor * longest_gap_);
}

bool HangWatch::wants_look(base::Nanos now) const {
  if (looking_since_ || convicted_ || now < next_look_) return false;
  return suspicious_since_ || !overdue_.empty() || steps_are_missing(now) || pace_.is_slow();
}

void HangWatch::begin_look(base::Nanos now) {
  looking_since_ = now;
  if (!suspicious_since_) suspicious_since_ = now;
}

void HangWatch::give_up_look(base::Nanos now) {
  looking_since_.reset();
  next_look_ = now + kLookInterval;
}

const HangWatch::Habit* HangWatch::habit_of(const tracer::Verdict& verdict) const {
  const auto found = std::ranges::find_if(habits_, [&](const Habit& habit) {
    return habit.finding == verdict.finding && habit.culprits == verdict.culprits &&
           habit.place == verdict.place;
  });
  return found == habits_.end() ? nullptr : &*found;
}

void HangWatch::learn(const tracer::Verdict& verdict) {
  if (verdict.place.empty()) return;
  Habit habit{verdict.finding, verdict.culprits, verdict.place, 0, {}};
  if (const Habit* known = habit_of(verdict)) {
    habit = *known;
    habits_.erase(habits_.begin() + (known - habits_.data()));
  }
  ++habit.times;
  habit.longest = std::max(habit.longest, verdict.lasting);
  habits_.push_back(std::move(habit));
  if (habits_.size() > kHabitsMax) habits_.erase(habits_.begin());
}

bool HangWatch::is_worth_saying(const tracer::Verdict& verdict) const {
  if (verdict.finding == tracer::Finding::kNothing) return false;
  // Somebody saves or evaluates, or it is not clear who is waited for: that may be over soon.
  const bool is_vague = verdict.finding == tracer::Finding::kLongPhase ||
                        verdict.finding == tracer::Finding::kUndecided;
  if (is_vague && verdict.lasting < kVagueSaidAfter) return false;
  const Habit* habit = habit_of(verdict);
  if (habit != nullptr && habit->times >= kHabitTimes &&
      verdict.lasting < habit->longest + habit->longest / 2 + kLookInterval) {
    return false;
  }
  const auto& before = is_slowness(verdict.finding) ? said_slow_ : said_;
  return !before || !is_the_same(*before, verdict);
}

bool HangWatch::is_proved(const tracer::Verdict& verdict) const {
  if (!policy_.act || is_slowness(verdict.finding)) return false;
  if (verdict.finding == tracer::Finding::kNothing || !last_ || !is_the_same(*last_, verdict))
    return false;
  if (verdict.lasting >= policy_.timeout) return true;
  // What was only inferred, as from ranks that nobody has seen, is no proof.
  if (verdict.confidence < tracer::Confidence::kMajority) return false;
  if (verdict.finding == tracer::Finding::kLongPhase ||
      verdict.finding == tracer::Finding::kUndecided) {
    return false;
  }
  if (is_final(verdict.finding)) return verdict.lasting >= kConvictFinal;
  const Habit* habit = habit_of(verdict);
  const base::Nanos usual = std::max(expected_, habit != nullptr ? habit->longest : base::Nanos{});
  const base::Nanos least =
      verdict.finding == tracer::Finding::kStopped ? kConvictStopped : kConvictStill;
  return !verdict.is_moving && !last_->is_moving &&
         verdict.lasting >= std::max<base::Nanos>(least, kConvictFactor * usual);
}

Diagnosed HangWatch::diagnosis(Diagnosed::Stage stage, const tracer::Verdict& verdict,
                               base::Nanos now) const {
  return {attempt_, stage, verdict, now - *looking_since_, pace_.period(), pace_.usual()};
}

Diagnosed HangWatch::round(const tracer::Verdict* verdict, base::Nanos learnt_in) const {
  return {attempt_,  Diagnosed::Stage::kRound, verdict != nullptr ? *verdict : tracer::Verdict(),
          learnt_in, pace_.period(),           pace_.usual()};
}

void HangWatch::calm_down() {
  suspicious_since_.reset();
  said_.reset();
  last_.reset();
  overdue_.clear();
  expected_ = {};
}

std::vector<Diagnosed> HangWatch::take(const tracer::Verdict& verdict, base::Nanos now) {
  std::vector<Diagnosed> told;
  if (!looking_since_) return told;
  const bool is_slow = is_slowness(verdict.finding);
  const bool nobody_waits = is_slow || is_usual(verdict);
  // Between two looks one hang may end and another begin.
  const bool is_another =
      last_ && steps_ != last_steps_ && !nobody_waits && !is_one_operation(*last_, verdict);
  if (nobody_waits || is_another) {
    if (last_ && !is_slowness(last_->finding) && !is_usual(*last_)) learn(*last_);
    if (said_ && (overdue_.empty() || is_another)) {
      told.push_back(diagnosis(Diagnosed::Stage::kPassed, *said_, now));
      said_.reset();
    }
  }
  if (is_proved(verdict)) {
    told.push_back(diagnosis(Diagnosed::Stage::kConvicted, verdict, now));
    convicted_ = true;
    learn(verdict);  // what is so at the next attempt, too, may be the script's way
  } else if ((is_slow || !nobody_waits) && is_worth_saying(verdict)) {
    told.push_back(diagnosis(Diagnosed::Stage::kSuspected, verdict, now));
    (is_slow ? said_slow_ : said_) = verdict;
  }
  if (!last_ || !is_one_operation(*last_, verdict)) last_steps_ = steps_;
  last_ = verdict;
  if (pace_.is_slow()) pace_.accept();
  const bool is_patient = now - *suspicious_since_ > kLookOftenFor;
  if (nobody_waits && overdue_.empty()) calm_down();
  looking_since_.reset();
  next_look_ = now + (is_patient ? kLookIntervalLater : kLookInterval);
  return told;
}

}  // namespace robustrun::supervisor
