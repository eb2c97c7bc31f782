// The run's time is laid out from one moment to the next. Each moment is clamped to the one before,
// so the parts add up to the whole whatever the journal says.

#include "supervisor/core/report/time/account.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/core/words.h"
#include "supervisor/core/report/facts.h"
#include "supervisor/core/report/recovery.h"

namespace robustrun::supervisor {
namespace {

using base::Nanos;
constexpr Nanos kWindow = std::chrono::hours(1);

class Timeline {
 public:
  Timeline(Nanos from, Nanos to) : from_(from), to_(std::max(from, to)), last_(from) {}

  // The time since the last moment was spent on `spent`.
  void until(Nanos moment, Spent spent) {
    moment = std::clamp(moment, last_, to_);
    if (moment == last_) return;
    if (!stretches_.empty() && stretches_.back().spent == spent) {
      stretches_.back().to = elapsed(from_, moment);
    } else {
      stretches_.push_back({spent, elapsed(from_, last_), elapsed(from_, moment)});
    }
    last_ = moment;
  }
  std::vector<Stretch> take() { return std::move(stretches_); }

 private:
  Nanos from_, to_, last_;
  std::vector<Stretch> stretches_;
};

struct Pause {
  Nanos from{};
  Nanos to{};
};

// A hang that was reported, and how long a step took before it (0: unknown).
struct Suspicion {
  Pause seen;  // from its beginning to its report
  Nanos step{};
};

// What went wrong in one attempt, and when.
struct Trouble {
  std::optional<Nanos> began;  // something had gone wrong
  std::optional<Nanos> known;  // that was noticed
  std::optional<Nanos> acted;  // and answered by a decision
  std::vector<Pause> stalls;  // hangs that resolved themselves, or have no known end

  void note(Nanos from, Nanos at) {
    began = std::min(began.value_or(from), from);
    known = std::min(known.value_or(at), at);
  }
};

Nanos before(Nanos at, Nanos by) {
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(at.count(), by.count(), &difference)) return Nanos::min();
  return Nanos(difference);
}

class Troubles {
 public:
  Troubles(const Facts& facts, const std::vector<JournalEntry>& entries) {
    for (const auto& [number, attempt] : facts.attempts) {
      if (attempt.failures.empty()) continue;
      const Failure& first = attempt.failures.front();
      of_[number].note(first.seen_at, first.handled_at);
    }
    for (const auto& [at, diagnosed] : facts.diagnoses) note(at, *diagnosed);
    for (const JournalEntry& entry : entries) {
      if (const auto* event = std::get_if<Event>(&entry.what)) {
        if (const auto* lost = std::get_if<AgentLost>(&event->body)) {
          silent_since_ = before(event->at, lost->silent);
        }
      } else if (const auto* decision = std::get_if<Decision>(&entry.what)) {
        note(entry.at, *decision);
        if (decision == facts.ending) ended_ = entry.at;
      } else if (std::holds_alternative<Finish>(entry.what)) {
        break;
      }
    }
    for (const auto& [number, hang] : suspected_) keep_open(facts, number, hang);
  }

  [[nodiscard]] const Trouble& of(std::uint32_t attempt) const {
    static const Trouble kNone;
    const auto found = of_.find(attempt);
    return found == of_.end() ? kNone : found->second;
  }
  // The decision that ended the run.
  [[nodiscard]] std::optional<Nanos> ended() const { return ended_; }

 private:
  void note(Nanos at, const Diagnosed& diagnosed) {
    if (is_slowness(diagnosed.verdict.finding)) return;
    const std::uint32_t attempt = diagnosed.attempt.value;
    const Nanos began = before(at, diagnosed.verdict.lasting);
    switch (diagnosed.stage) {
      case Diagnosed::Stage::kSuspected:
        suspected_.try_emplace(attempt, Suspicion{{began, at}, diagnosed.period});
        break;
      case Diagnosed::Stage::kConvicted: {
        const auto [first, is_new] = suspected_.try_emplace(attempt, Suspicion{{began, at}, {}});
        of_[attempt].note(std::min(began, first->second.seen.from), first->second.seen.to);
        suspected_.erase(first);
        break;
      }
      case Diagnosed::Stage::kPassed: {
        const auto first = suspected_.find(attempt);
        if (first == suspected_.end()) break;
        of_[attempt].stalls.push_back({first->second.seen.from, at});
        suspected_.erase(first);
        break;
      }
      case Diagnosed::Stage::kPostMortem:  // about a failure, which counts by itself
      case Diagnosed::Stage::kRound: break;  // the job goes on
    }
  }

  // A hang without a journaled end lasts as long as the attempt; if steps were done after all, it
  // ended before the first of them.
  void keep_open(const Facts& facts, std::uint32_t number, const Suspicion& hang) {
    const auto attempt = facts.attempts.find(number);
    const Nanos to = attempt != facts.attempts.end() ? end_of(hang, attempt->second) : Nanos::max();
    of_[number].stalls.push_back({hang.seen.from, to});
  }

  // The steps of a reading after the hang took their usual time, as did those between the reading
  // before the hang and its beginning. The hang is what remains.
  static Nanos end_of(const Suspicion& hang, const AttemptFacts& attempt) {
    const Progress* last = nullptr;  // before the hang was reported
    for (const Progress* reading : attempt.progress) {
      const std::uint64_t before = last != nullptr ? last->steps : 0;
      if (reading->reached_at <= hang.seen.to) {
        if (reading->steps >= before) last = reading;
      } else if (reading->steps > before) {
        return end_before(*reading, hang, last, attempt);
      }
    }
    return Nanos::max();
  }

  static Nanos end_before(const Progress& reading, const Suspicion& hang, const Progress* last,
                          const AttemptFacts& attempt) {
    const Nanos step = hang.step > Nanos{} ? hang.step : usual_step(last, attempt);
    if (last == nullptr || step <= Nanos{}) return hang.seen.to;
    const auto one = static_cast<double>(step.count());
    const double all = one * static_cast<double>(reading.steps - last->steps);
    const auto earlier = static_cast<double>(elapsed(last->reached_at, hang.seen.from).count());
    const double worked = std::max(all - earlier, one);
    const Nanos most = elapsed(hang.seen.to, reading.reached_at);
    if (worked >= static_cast<double>(most.count())) return hang.seen.to;
    return before(reading.reached_at, Nanos(static_cast<std::int64_t>(worked)));
  }

  // Before the hang; 0: unknown.
  static Nanos usual_step(const Progress* last, const AttemptFacts& attempt) {
    if (last == nullptr || !attempt.first_step || last->steps <= 1) return {};
    const auto whole = static_cast<double>(elapsed(*attempt.first_step, last->reached_at).count());
    return Nanos(static_cast<std::int64_t>(whole / static_cast<double>(last->steps - 1)));
  }

  void note(Nanos at, const Decision& decision) {
    const bool begins = decision.rule == Rule::kStopTimeCheck || decision.rule == Rule::kReplay;
    const bool is_over = decision.rule == Rule::kPreflight || decision.rule == Rule::kReplayed;
    if (begins) checking_ = decision.attempt.value;
    if (is_over && checking_) {
      of_[*std::exchange(checking_, std::nullopt)].acted = at;
      return;
    }
    const RuleRole role = role_of(decision.rule);
    if (role != RuleRole::kCause && decision.rule != Rule::kRestart) return;
    Trouble& trouble = of_[decision.attempt.value];
    if (!trouble.acted) trouble.acted = at;
    if (decision.rule == Rule::kAgentLost) {
      trouble.note(silent_since_.value_or(at), at);
    } else if (!trouble.began) {
      trouble.note(at, at);
    }
  }

  std::map<std::uint32_t, Trouble> of_;
  std::map<std::uint32_t, Suspicion> suspected_;
  std::optional<Nanos> silent_since_;  // of the agent that was lost last
  std::optional<Nanos> ended_;
  std::optional<std::uint32_t> checking_;  // after this attempt nodes are checked or replayed
};

// The moment from which an attempt's steps are new again. nullopt: all its steps are new.
std::optional<Nanos> caught_up(const AttemptFacts& attempt, std::optional<std::int64_t> reached) {
  if (attempt.caught_up) return attempt.caught_up;
  const std::optional<std::int64_t> step = last_step(attempt);
  if (!reached || !step || *step > *reached) return std::nullopt;
  return Nanos::max();  // never
}

void lay_out_work(Timeline& line, Nanos to, const Trouble& trouble, Spent work) {
  for (const Pause& stall : trouble.stalls) {
    line.until(std::min(stall.from, to), work);
    line.until(std::min(stall.to, to), Spent::kStalled);
  }
  line.until(to, work);
}

bool counts_steps(const Facts& facts) {
  return std::ranges::any_of(facts.attempts,
                             [](const auto& one) { return one.second.first_step.has_value(); });
}

std::vector<Stretch> lay_out(const Facts& facts, const Troubles& troubles) {
  Timeline line(facts.first_at, facts.last_at);
  const bool has_steps = counts_steps(facts);
  const Spent working = has_steps ? Spent::kProductive : Spent::kRunning;
  Spent waiting = Spent::kStarting;
  std::optional<std::int64_t> reached;  // the furthest step of all attempts
  bool is_over = false;
  for (auto one = facts.attempts.begin(); one != facts.attempts.end(); ++one) {
    const auto& [number, attempt] = *one;
    const Trouble& trouble = troubles.of(number);
    const bool is_last = std::next(one) == facts.attempts.end();
    Nanos end = trouble.began.value_or(facts.last_at);
    if (!trouble.began && is_last) end = troubles.ended().value_or(end);
    if (!trouble.began && !is_last) end = attempt.gone.value_or(end);
    const auto work = has_steps ? attempt.first_step : attempt.user_code;
    if (work && *work <= end) {
      line.until(*work, waiting);
      if (const auto caught = caught_up(attempt, reached)) {
        line.until(std::min(*caught, end), Spent::kRecomputing);
      }
      lay_out_work(line, end, trouble, working);
    } else {
      line.until(end, waiting);
    }
    if (const auto step = last_step(attempt)) reached = std::max(reached.value_or(*step), *step);
    if (!trouble.began) continue;
    line.until(trouble.known.value_or(end), Spent::kDetecting);
    line.until(trouble.acted.value_or(end), Spent::kLocalizing);
    waiting = Spent::kRestarting;
    is_over = is_last;
  }
  const bool succeeded = facts.finish != nullptr && facts.finish->exit_code == 0;
  if (facts.attempts.empty() || (facts.finish == nullptr && is_over)) {
    line.until(facts.last_at, waiting);
  } else {
    line.until(facts.last_at, succeeded ? working : Spent::kEnding);
  }
  return line.take();
}

// Productive time from the start to any moment.
class Productive {
 public:
  explicit Productive(const std::vector<Stretch>& timeline) : timeline_(timeline) {
    for (const Stretch& stretch : timeline) {
      sums_.push_back(sum_);
      if (stretch.spent == Spent::kProductive) sum_ += stretch.to - stretch.from;
    }
  }
  [[nodiscard]] Nanos until(Nanos moment) const {
    const auto after = std::ranges::upper_bound(timeline_, moment, {}, &Stretch::from);
    if (after == timeline_.begin()) return {};
    const auto index = static_cast<std::size_t>(after - timeline_.begin()) - 1;
    const Stretch& stretch = timeline_[index];
    if (stretch.spent != Spent::kProductive) return sums_[index];
    return sums_[index] + (std::min(moment, stretch.to) - stretch.from);
  }
  [[nodiscard]] double within(Nanos from, Nanos length) const {
    return static_cast<double>((until(from + length) - until(from)).count()) /
           static_cast<double>(length.count());
  }

 private:
  const std::vector<Stretch>& timeline_;
  std::vector<Nanos> sums_;
  Nanos sum_{};
};

}  // namespace

std::string_view to_string(Spent spent) {
  constexpr std::array<std::string_view, kSpentKinds> kWords = {
      "starting",   "productive",  "stalled", "detecting", "localizing",
      "restarting", "recomputing", "ending",  "running"};
  return kWords.at(static_cast<std::size_t>(spent));
}

TimeReport account_time(const Facts& facts, const std::vector<JournalEntry>& entries) {
  TimeReport report;
  report.timeline = lay_out(facts, Troubles(facts, entries));
  const Nanos duration = elapsed(facts.first_at, facts.last_at);
  for (std::uint8_t kind = 0; kind < kSpentKinds; ++kind) {
    TimeShare share{static_cast<Spent>(kind), {}};
    for (const Stretch& stretch : report.timeline) {
      if (stretch.spent == share.spent) share.duration += stretch.to - stretch.from;
    }
    if (share.duration > Nanos{}) report.shares.push_back(share);
  }
  if (duration <= Nanos{} || !counts_steps(facts)) return report;
  const Productive productive(report.timeline);
  report.ettr = productive.within(Nanos{}, duration);
  if (duration < kWindow) return report;
  report.ettr_last_hour = productive.within(duration - kWindow, kWindow);
  report.ettr_worst_hour = report.ettr_last_hour;
  // The ratio is linear between moments at which either end of the window crosses a border.
  for (const Stretch& stretch : report.timeline) {
    for (const Nanos from : {stretch.from, stretch.to - kWindow}) {
      const Nanos begin = std::clamp(from, Nanos{}, duration - kWindow);
      report.ettr_worst_hour = std::min(*report.ettr_worst_hour, productive.within(begin, kWindow));
    }
  }
  return report;
}

std::map<std::uint32_t, AttemptMoments> attempt_moments(const Facts& facts,
                                                        const std::vector<JournalEntry>& entries) {
  const Troubles troubles(facts, entries);
  const bool has_steps = counts_steps(facts);
  std::map<std::uint32_t, AttemptMoments> moments;
  for (const auto& [number, attempt] : facts.attempts) {
    const Trouble& trouble = troubles.of(number);
    moments[number] = {has_steps ? attempt.first_step : attempt.user_code, trouble.began,
                       trouble.known, trouble.acted};
  }
  return moments;
}

std::string time_words(const TimeReport& report, double least) {
  if (report.shares.empty()) return "";
  std::string text = report.ettr ? fmt::format("{:.1f} % productive", 100 * *report.ettr)
                                 : std::string("productive: unknown (no steps)");
  base::Nanos sum{};
  for (const TimeShare& share : report.shares) sum += share.duration;
  const char* separator = "; ";
  for (const TimeShare& share : report.shares) {
    if (share.spent == Spent::kProductive) continue;
    if (share.duration < std::chrono::duration_cast<base::Nanos>(least * sum)) continue;
    text += fmt::format("{}{} {}", separator, to_string(share.spent),
                        base::duration_words(share.duration));
    separator = ", ";
  }
  if (report.ettr_worst_hour) {
    text += fmt::format("; the worst hour {:.1f} %, the last one {:.1f} %",
                        100 * *report.ettr_worst_hour, 100 * *report.ettr_last_hour);
  }
  return text;
}

}  // namespace robustrun::supervisor
