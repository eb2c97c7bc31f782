#include "supervisor/watch/hang_watch.h"

#include <algorithm>
#include <utility>

#include "supervisor/core/fault/hang_places.h"
#include "supervisor/limits.h"

namespace robustrun::supervisor {

namespace {

bool is_the_same(const tracer::Verdict& one, const tracer::Verdict& other) {
  return one.finding == other.finding && one.culprits == other.culprits && one.edges == other.edges;
}

bool is_one_operation(const tracer::Verdict& one, const tracer::Verdict& other) {
  return one.comm == other.comm && one.ordinal == other.ordinal;
}

// "load (train.py), data loader" for "load (train.py:87), data loader": a rank that polls is seen
// in any line of its loop.
std::string without_line(const std::string& place) {
  const std::size_t colon = place.find(':');
  if (colon == std::string::npos) return place;
  const std::size_t end = std::min(place.find_first_not_of("0123456789", colon + 1), place.size());
  return end == colon + 1 ? place : std::string(place).erase(colon, end - colon);
}

// While a group works, some rank always waits for a moment; findings that are wrong by themselves
// count at once.
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
  std::vector<std::string> ended_at = std::move(ended_at_);
  *this = HangWatch(policy_, still_);
  habits_ = std::move(habits);
  ended_at_ = std::move(ended_at);
  attempt_ = attempt;
  stepped_at_ = now;
}

void HangWatch::note_group(base::Nanos now) {
  if (next_blind_look_) return;
  blind_interval_ = kBlindLook;
  next_blind_look_ = now + kBlindLook;
}

void HangWatch::note_overdue(base::Rank rank, std::uint64_t comm, bool over, base::Nanos expected) {
  if (over) {
    overdue_.erase({rank, comm});
  } else if (overdue_.size() < kOverdueMax) {
    overdue_.emplace(rank, comm);
    expected_ = std::max(expected_, expected);
  }
}

std::optional<Diagnosed> HangWatch::note_steps(std::uint64_t steps, base::Nanos now) {
  pace_.note(steps, now);
  std::optional<Diagnosed> over;
  if (pace_.take_recovery() && said_slow_) {
    over = round(&*said_slow_, {});
    over->stage = Diagnosed::Stage::kPassed;
    said_slow_.reset();  // a next time is news
  }
  if (steps == steps_) return over;
  if (steps < steps_) {  // something else is counted from now on
    steps_ = steps;
    stepped_at_ = now;
    return over;
  }
  if (steps_ > 0) {  // the time to the first one is the start's
    ++gaps_;
    longest_gap_ = std::max(longest_gap_, now - stepped_at_);
  }
  steps_ = steps;
  stepped_at_ = now;
  return over;
}

bool HangWatch::steps_are_missing(base::Nanos now) const {
  return gaps_ >= kGapsToLearn &&
         now - stepped_at_ > std::max<base::Nanos>(kNoStepMin, kNoStepFactor * longest_gap_);
}

// A group that reports neither steps nor collectives: nothing else would trigger a look.
bool HangWatch::is_blind(base::Nanos now) const {
  return gaps_ < kGapsToLearn && next_blind_look_ && now >= *next_blind_look_;
}

bool HangWatch::wants_look(base::Nanos now) const {
  if (looking_since_ || convicted_ || now < next_look_) return false;
  return suspicious_since_ || !overdue_.empty() || steps_are_missing(now) || pace_.is_slow() ||
         is_blind(now);
}

void HangWatch::begin_look(base::Nanos now) {
  looking_since_ = now;
  if (!suspicious_since_) {
    began_blindly_ = overdue_.empty() && !steps_are_missing(now) && !pace_.is_slow();
  }
  if (is_blind(now)) {
    next_blind_look_ = now + blind_interval_;
    blind_interval_ = std::min<base::Nanos>(2 * blind_interval_, kBlindLookLater);
  }
  if (!suspicious_since_) suspicious_since_ = now;
}

void HangWatch::give_up_look(base::Nanos now) {
  looking_since_.reset();
  still_since_.reset();
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
  std::erase_if(ended_at_, [&verdict](const std::string& place) {
    return is_same_place(place, verdict.place);
  });
}

bool HangWatch::is_worth_saying(const tracer::Verdict& verdict) const {
  if (verdict.finding == tracer::Finding::kNothing) return false;
  // A rank saves or evaluates, or it is not clear which rank blocks the others: it may be over
  // soon.
  const bool is_vague = verdict.finding == tracer::Finding::kLongPhase ||
                        verdict.finding == tracer::Finding::kUndecided;
  if (is_vague && verdict.lasting < kVagueSaidAfter) return false;
  const bool is_late_end = verdict.finding == tracer::Finding::kNotEnded;
  if (is_late_end && verdict.lasting < kLateEndSaidAfter) return false;
  const Habit* habit = habit_of(verdict);
  if (habit != nullptr && habit->times >= kHabitTimes &&
      verdict.lasting < habit->longest + habit->longest / 2 + kLookInterval) {
    return false;
  }
  const auto& before = is_slowness(verdict.finding) ? said_slow_ : said_;
  return !before || !is_the_same(*before, verdict);
}

std::optional<base::Nanos> HangWatch::proved_after(const tracer::Verdict& verdict) const {
  // A finding that was only inferred, as about ranks without a snapshot, is no proof.
  if (verdict.confidence < tracer::Confidence::kMajority) return std::nullopt;
  if (verdict.finding == tracer::Finding::kLongPhase ||
      verdict.finding == tracer::Finding::kUndecided) {
    return std::nullopt;
  }
  if (is_final(verdict.finding)) return kConvictFinal;
  const Habit* habit = habit_of(verdict);
  const base::Nanos usual = std::max(expected_, habit != nullptr ? habit->longest : base::Nanos{});
  base::Nanos least =
      verdict.finding == tracer::Finding::kStopped ? kConvictStopped : kConvictStill;
  if (has_ended_attempt(verdict)) least *= kConvictAgainFactor;
  return std::max<base::Nanos>(least, kConvictFactor * usual);
}

bool HangWatch::has_ended_attempt(const tracer::Verdict& verdict) const {
  return std::ranges::any_of(ended_at_, [&verdict](const std::string& place) {
    return is_same_place(place, verdict.place);
  });
}

// How long the operation usually takes counts only in that it must be overdue: the rank is not
// about to enter it.
std::optional<base::Nanos> HangWatch::still_proved_after(const tracer::Verdict& verdict,
                                                         base::Nanos now) const {
  if (!verdict.is_still || !still_since_ || still_ == base::Nanos{}) return std::nullopt;
  if (verdict.confidence < tracer::Confidence::kMajority) return std::nullopt;
  if (overdue_.empty() && !steps_are_missing(now)) return std::nullopt;
  if (has_ended_attempt(verdict)) return std::nullopt;
  const Habit* habit = habit_of(verdict);
  const base::Nanos usual = habit != nullptr ? habit->longest : base::Nanos{};
  return std::max<base::Nanos>(still_, kConvictFactor * usual);
}

// One rank may prepare data while the others wait for it to begin: without steps it is unknown how
// long that may take.
bool HangWatch::is_only_seen(const tracer::Verdict& verdict) const {
  return verdict.by_stacks && gaps_ < kGapsToLearn;
}

bool HangWatch::has_timed_out(const tracer::Verdict& verdict) const {
  using tracer::Finding;
  const bool is_hang = verdict.finding != Finding::kNothing &&
                       verdict.finding != Finding::kNotEnded && !is_slowness(verdict.finding);
  return is_hang && verdict.lasting >= policy_.timeout;
}

// Both looks found the same recorded operation unfinished, without a step in between: nothing goes
// on, even if they blame different ranks. By stacks alone, another rank to blame may be progress.
bool HangWatch::is_stuck(const tracer::Verdict& verdict) const {
  const bool is_recorded = verdict.ordinal != 0 && !verdict.by_stacks && !last_->by_stacks;
  return is_recorded && is_one_operation(*last_, verdict) && steps_ == last_steps_;
}

bool HangWatch::is_proved(const tracer::Verdict& verdict, base::Nanos now) const {
  if (!policy_.act || is_slowness(verdict.finding)) return false;
  if (verdict.finding == tracer::Finding::kNothing || !last_ || is_only_seen(verdict)) return false;
  if (is_stuck(verdict) && has_timed_out(verdict) && has_timed_out(*last_)) return true;
  if (!is_the_same(*last_, verdict)) return false;
  const bool is_moving = verdict.is_moving || last_->is_moving;
  if (verdict.finding == tracer::Finding::kNotEnded) {
    return verdict.lasting >= policy_.timeout && verdict.is_finished && !is_moving &&
           verdict.culprits != lingering_;
  }
  if (verdict.lasting >= policy_.timeout) return true;
  const std::optional<base::Nanos> still = still_proved_after(verdict, now);
  if (still && still_looks_ >= kStillLooksMin && now - *still_since_ >= *still) return true;
  const std::optional<base::Nanos> after = proved_after(verdict);
  if (!after || verdict.lasting < *after) return false;
  return is_final(verdict.finding) || !is_moving;
}

HangWatch::Prospect HangWatch::prospect_of(const tracer::Verdict& verdict, base::Nanos now) const {
  using Outlook = Diagnosed::Outlook;
  if (is_slowness(verdict.finding)) return {};
  if (!policy_.act) return {Outlook::kLeftAlone, {}};
  if (is_only_seen(verdict)) return {Outlook::kNoSteps, {}};
  const std::optional<base::Nanos> after = proved_after(verdict);
  const auto within = [&](base::Nanos limit) {
    return std::max<base::Nanos>(limit - verdict.lasting, kLookInterval);
  };
  if (verdict.finding == tracer::Finding::kNotEnded) {
    if (!verdict.is_finished) return {Outlook::kExitHandlers, {}};
    return {Outlook::kEndsProcess, within(policy_.timeout)};
  }
  if (!after || *after >= policy_.timeout) return {Outlook::kByTimeout, within(policy_.timeout)};
  if (is_final(verdict.finding)) return {Outlook::kForSure, within(*after)};
  if (verdict.is_moving) return {Outlook::kWhileMoves, within(policy_.timeout)};
  base::Nanos left = within(*after);
  if (const std::optional<base::Nanos> still = still_proved_after(verdict, now)) {
    // The look that confirms it begins then, and takes as long as this one.
    const base::Nanos took = now - *looking_since_;
    const auto looks = kStillLooksMin - std::min(still_looks_, kStillLooksMin);
    const base::Nanos soonest = looks * (kLookInterval + took);
    left = std::min(left, std::max(*still_since_ + *still - now + took, soonest));
  }
  return {Outlook::kIfStill, left};
}

Diagnosed HangWatch::diagnosis(Diagnosed::Stage stage, const tracer::Verdict& verdict,
                               base::Nanos now) const {
  Diagnosed made{attempt_, stage, verdict, now - *looking_since_, pace_.period(), pace_.usual()};
  if (stage == Diagnosed::Stage::kSuspected) {
    const Prospect prospect = prospect_of(verdict, now);
    made.outlook = prospect.outlook;
    made.acts_in = prospect.acts_in;
  }
  return made;
}

Diagnosed HangWatch::round(const tracer::Verdict* verdict, base::Nanos learnt_in) const {
  return {attempt_,  Diagnosed::Stage::kRound, verdict != nullptr ? *verdict : tracer::Verdict(),
          learnt_in, pace_.period(),           pace_.usual()};
}

// Stacks do not tell since when it is so. Of a group that steps, its steps do.
tracer::Verdict HangWatch::aged(const tracer::Verdict& verdict, base::Nanos now) {
  tracer::Verdict known = verdict;
  if (!verdict.by_stacks) {
    same_since_.reset();
    // Nothing was amiss when it was found: so healthy groups look at some moment.
    const bool is_late_end = verdict.finding == tracer::Finding::kNotEnded;
    if (began_blindly_ && overdue_.empty() && !is_late_end) known = {};
    return known;
  }
  known.lasting = {};
  if (gaps_ >= kGapsToLearn) {
    if (steps_are_missing(now)) known.lasting = now - stepped_at_;
    return known;
  }
  const bool is_same = same_since_ && last_ && is_the_same(*last_, verdict) &&
                       without_line(last_->place) == without_line(verdict.place) &&
                       !verdict.is_moving;
  if (!is_same) same_since_ = now;
  if (now - *same_since_ >= kStacksSameFor) known.lasting = now - *same_since_;
  return known;
}

// A rank that is slow from its first step on changes no pace: the share of time that it costs tells
// how long steps would take without it.
std::optional<Diagnosed> HangWatch::take_slow(const tracer::Verdict& verdict,
                                              base::Nanos learnt_in) {
  if (!is_slowness(verdict.finding) || !is_worth_saying(verdict)) return std::nullopt;
  said_slow_ = verdict;
  Diagnosed told = round(&verdict, learnt_in);
  told.stage = Diagnosed::Stage::kSuspected;
  if (told.usual == base::Nanos{} && verdict.lost_share > 0 && verdict.lost_share < 1) {
    const double usual = static_cast<double>(told.period.count()) * (1 - verdict.lost_share);
    told.usual = base::Nanos(static_cast<std::int64_t>(usual));
  }
  return told;
}

void HangWatch::calm_down() {
  suspicious_since_.reset();
  said_.reset();
  last_.reset();
  overdue_.clear();
  expected_ = {};
  same_since_.reset();
  still_since_.reset();
}

std::vector<Diagnosed> HangWatch::take(const tracer::Verdict& found, base::Nanos now) {
  std::vector<Diagnosed> told;
  if (!looking_since_) return told;
  const tracer::Verdict verdict = aged(found, now);
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
  // What happened between looks that are far apart is not known.
  const bool stays = still_since_ && last_ && is_the_same(*last_, verdict) &&
                     is_one_operation(*last_, verdict) && last_->place == verdict.place &&
                     *looking_since_ - looked_until_ <= kStillLooksApart;
  if (!verdict.is_still) {
    still_since_.reset();
  } else if (!stays) {
    still_since_ = *looking_since_;
    still_looks_ = 1;
  } else {
    ++still_looks_;
  }
  looked_until_ = now;
  if (is_proved(verdict, now)) {
    told.push_back(diagnosis(Diagnosed::Stage::kConvicted, verdict, now));
    // The core ends lingering processes only if no other rank is left; so looks go on.
    const bool is_late_end = verdict.finding == tracer::Finding::kNotEnded;
    if (is_late_end) lingering_ = verdict.culprits;
    convicted_ = !is_late_end;
    if (!verdict.place.empty()) ended_at_.push_back(verdict.place);
    if (ended_at_.size() > kHabitsMax) ended_at_.erase(ended_at_.begin());
  } else if ((is_slow || !nobody_waits) && is_worth_saying(verdict)) {
    told.push_back(diagnosis(Diagnosed::Stage::kSuspected, verdict, now));
    (is_slow ? said_slow_ : said_) = verdict;
  }
  if (!last_ || !is_one_operation(*last_, verdict)) last_steps_ = steps_;
  last_ = verdict;
  if (pace_.is_slow()) pace_.accept();
  const bool is_patient = now - *suspicious_since_ > kLookOftenFor;
  const bool may_be_stuck = same_since_ && verdict.by_stacks && !verdict.is_moving;
  if (nobody_waits && overdue_.empty() && !may_be_stuck) calm_down();
  next_look_ = now + (is_patient && !still_since_ ? kLookIntervalLater : kLookInterval);
  // A time that was announced holds.
  if (const std::optional<base::Nanos> still = still_proved_after(verdict, now)) {
    const base::Nanos due = *still_since_ + *still;
    if (now < due && due < next_look_) next_look_ = due;
  }
  looking_since_.reset();
  return told;
}

}  // namespace robustrun::supervisor
