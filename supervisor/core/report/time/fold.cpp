#include "supervisor/core/report/time/fold.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "supervisor/core/report/facts.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
namespace {

// gather() knows an attempt by these.
template <class Body>
constexpr bool kMakesAttempt =
    std::is_same_v<Body, PortReserved> || std::is_same_v<Body, WorkerStarted> ||
    std::is_same_v<Body, WorkerStartFailed> || std::is_same_v<Body, WorkerExited> ||
    std::is_same_v<Body, WorkersGone> || std::is_same_v<Body, Progress>;

// What the account looks at.
RunStarted without_texts(const RunStarted& body) {
  RunStarted bare;
  bare.wall_time = body.wall_time;
  return bare;
}

WorkerExited without_texts(const WorkerExited& body) {
  WorkerExited bare;
  bare.attempt = body.attempt;
  bare.rank = body.rank;
  bare.kind = body.kind;
  bare.code = body.code;
  bare.seen_at = body.seen_at;
  bare.error_timestamp_s = body.error_timestamp_s;
  return bare;
}

Progress without_texts(const Progress& body) {
  return {body.attempt, body.mark, body.reached_at, body.steps, body.step, {}, {}};
}

Diagnosed without_texts(const Diagnosed& body) {
  Diagnosed bare;
  bare.attempt = body.attempt;
  bare.stage = body.stage;
  bare.period = body.period;
  bare.verdict.finding = body.verdict.finding;
  bare.verdict.lasting = body.verdict.lasting;
  return bare;
}

// Of two summaries the account needs only the later one.
bool replaces(const Progress& later, const Progress& earlier) {
  return later.mark == Progress::Mark::kSummary && earlier.mark == later.mark &&
         later.attempt == earlier.attempt && (later.step || !earlier.step) &&
         (later.steps > 0 || earlier.steps == 0);
}

}  // namespace

void TimeFold::keep(JournalEntry entry) {
  if (kept_.size() < kTimeEntriesMax) {
    kept_.push_back(std::move(entry));
  } else {
    overflowed_ = true;
  }
}

template <class Body>
Body* TimeFold::newest() {
  auto* const event = kept_.empty() ? nullptr : std::get_if<Event>(&kept_.back().what);
  return event == nullptr ? nullptr : std::get_if<Body>(&event->body);
}

void TimeFold::take(const JournalEntry& entry) {
  if (finished_) return;
  if (const auto* event = std::get_if<Event>(&entry.what)) {
    take(*event);
  } else if (const auto* finish = std::get_if<Finish>(&entry.what)) {
    finished_ = true;
    keep({entry.at, *finish});
  } else if (const auto* decision = std::get_if<Decision>(&entry.what)) {
    const RuleRole role = role_of(decision->rule);
    const bool is_check = decision->rule == Rule::kStopTimeCheck ||
                          decision->rule == Rule::kPreflight || decision->rule == Rule::kReplay ||
                          decision->rule == Rule::kReplayed;
    if (is_check) keep({entry.at, Decision{decision->rule, decision->attempt, {}, {}, {}}});
    if (role == RuleRole::kOther || role == RuleRole::kSequel) return;
    keep({entry.at, Decision{decision->rule, decision->attempt, {}, {}, {}}});
  }
}

void TimeFold::take(const Event& event) {
  const auto* diagnosed = std::get_if<Diagnosed>(&event.body);
  if (diagnosed != nullptr && diagnosed->stage == Diagnosed::Stage::kRound) return;
  const auto keep_bare = [&](auto bare) {
    keep({event.at, Event{event.at, event.node, event.generation, std::move(bare)}});
  };
  std::visit(
      [&](const auto& body) {
        using Body = std::decay_t<decltype(body)>;
        bool begins = false;
        if constexpr (kMakesAttempt<Body>) {
          begins = !attempt_ || body.attempt.value > *attempt_;
          if (begins) failures_ = 0;
          if (begins) attempt_ = body.attempt.value;
        }
        if constexpr (std::is_same_v<Body, RunStarted> || std::is_same_v<Body, Diagnosed>) {
          keep_bare(without_texts(body));
        } else if constexpr (std::is_same_v<Body, AgentLost>) {
          if (newest<AgentLost>() != nullptr) kept_.pop_back();  // the last one before counts
          keep_bare(AgentLost{{}, body.node_answers, body.silent});
        } else if constexpr (std::is_same_v<Body, WorkerExited>) {
          const bool is_failure = !body.stopped_by_us && !body.ended_well();
          if (begins || (is_failure && ++failures_ <= kFailuresKept)) {
            WorkerExited bare = without_texts(body);
            bare.stopped_by_us = !is_failure;
            keep_bare(std::move(bare));
          }
        } else if constexpr (std::is_same_v<Body, WorkerStartFailed>) {
          if (++failures_ <= kFailuresKept) {
            keep_bare(WorkerStartFailed{body.attempt, body.rank, body.os_errno, {}});
          }
        } else if constexpr (std::is_same_v<Body, WorkersGone>) {
          const auto* before = newest<WorkersGone>();
          if (before != nullptr && before->attempt == body.attempt) kept_.pop_back();
          keep_bare(WorkersGone{body.attempt, 0, {}, {}});
        } else if constexpr (std::is_same_v<Body, Progress>) {
          const auto* before = newest<Progress>();
          if (before != nullptr && replaces(body, *before)) kept_.pop_back();
          keep_bare(without_texts(body));
        } else if constexpr (std::is_same_v<Body, PortReserved> ||
                             std::is_same_v<Body, WorkerStarted>) {
          // That there is such an attempt.
          Body bare;
          bare.attempt = body.attempt;
          if (begins) keep_bare(std::move(bare));
        }
      },
      event.body);
}

std::optional<TimeReport> TimeFold::report(base::Nanos now) const {
  if (overflowed_) return std::nullopt;
  std::vector<JournalEntry> entries = kept_;
  if (!finished_) entries.push_back({now, Event{now, {}, {}, TimerFired{}}});
  return account_time(gather(entries), entries);
}

}  // namespace robustrun::supervisor
