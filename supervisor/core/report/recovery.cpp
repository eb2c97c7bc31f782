// A phase lasts from one journaled moment to the next. A moment that is missing (no step without an
// optimizer, no port when one was given) makes no phase; its time belongs to the next one. Moments
// are clamped so that they never run backwards: a worker's record may show that its script began
// before the agent's message that it was started arrived.
//
// Steps lost: workers are read ten times a second, so the first reading after a restart may already
// be many steps in. The first step follows from the count of steps since the attempt's start, times
// the distance of the script's numbers.

#include "supervisor/core/report/recovery.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace robustrun::supervisor {
namespace {

class PhaseList {
 public:
  explicit PhaseList(base::Nanos from) : last_(from) {}

  void until(RecoveryPhase phase, std::optional<base::Nanos> moment) {
    if (!moment) return;
    phases_.push_back({phase, elapsed(last_, *moment)});
    last_ = std::max(last_, *moment);
  }

  [[nodiscard]] base::Nanos last() const { return last_; }
  std::vector<Phase> take() { return std::move(phases_); }

 private:
  base::Nanos last_;
  std::vector<Phase> phases_;
};

std::optional<base::Nanos> backoff_over(const Facts& facts, base::Nanos after,
                                        std::optional<base::Nanos> before) {
  for (const base::Nanos at : facts.backoffs_over) {
    if (at >= after && (!before || at <= *before)) return at;
  }
  return std::nullopt;
}

// Distance of the script's step numbers: 10 for a script that calls robustrun.step(n) at every
// tenth step. 1 when there is only one reading.
std::int64_t stride(const AttemptFacts& attempt) {
  const Progress* first = nullptr;
  for (const Progress* reading : attempt.progress) {
    if (!reading->step || reading->steps == 0) continue;
    if (first == nullptr) {
      first = reading;
      continue;
    }
    std::int64_t distance = 0;
    if (__builtin_sub_overflow(*reading->step, *first->step, &distance)) continue;
    if (reading->steps <= first->steps || distance <= 0) continue;
    const std::uint64_t count = reading->steps - first->steps;
    return std::max<std::int64_t>(
        1, static_cast<std::int64_t>(static_cast<std::uint64_t>(distance) / count));
  }
  return 1;
}

std::optional<std::int64_t> first_step(const AttemptFacts& attempt, std::int64_t distance) {
  for (const Progress* reading : attempt.progress) {
    if (!reading->step || reading->steps == 0) continue;
    std::int64_t back = 0;
    std::int64_t first = 0;
    if (__builtin_mul_overflow(reading->steps - 1, distance, &back) ||
        __builtin_sub_overflow(*reading->step, back, &first)) {
      return std::nullopt;
    }
    return first;
  }
  return std::nullopt;
}

void count_lost_steps(const AttemptFacts& failed, const AttemptFacts& next, Incident& incident) {
  const std::int64_t distance = stride(next);
  incident.step_before = last_step(failed);
  incident.step_after = first_step(next, distance);
  if (!incident.step_before || !incident.step_after) return;
  std::int64_t lost = 0;
  if (__builtin_sub_overflow(*incident.step_before, *incident.step_after, &lost) ||
      __builtin_add_overflow(lost, distance, &lost)) {
    return;
  }
  incident.steps_lost = std::max<std::int64_t>(0, lost);
}

// An agent's words about one worker, for several.
std::string of_several(std::string why) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kWords{
      {{"its standby worker was", "their standby workers were"},
       {"its standby worker", "their standby workers"},
       {"its ", "their "},
       {"it had", "they had"},
       {"it was", "they were"},
       {"it imported", "they imported"}}};
  for (const auto& [one, several] : kWords) {
    const std::size_t at = why.find(one);
    if (at != std::string::npos) why.replace(at, one.size(), several);
  }
  return why;
}

}  // namespace

const char* to_string(RecoveryPhase phase) {
  switch (phase) {
    case RecoveryPhase::kDetect: return "detect";
    case RecoveryPhase::kStopOthers: return "stop the others";
    case RecoveryPhase::kBackoff: return "back-off";
    case RecoveryPhase::kPrepare: return "prepare";
    case RecoveryPhase::kStartProcesses: return "start processes";
    case RecoveryPhase::kInterpreterStart: return "interpreter start";
    case RecoveryPhase::kFirstStep: return "first step";
    case RecoveryPhase::kCatchUp: return "catch up";
  }
  return "";
}

std::optional<std::int64_t> last_step(const AttemptFacts& attempt) {
  for (auto reading = attempt.progress.rbegin(); reading != attempt.progress.rend(); ++reading) {
    if ((*reading)->step && (*reading)->steps > 0) return (*reading)->step;
  }
  return std::nullopt;
}

void describe_recovery(const Facts& facts, const AttemptFacts& failed, const AttemptFacts& next,
                       base::Nanos seen_at, base::Nanos handled_at, Incident& incident) {
  PhaseList phases(seen_at);
  phases.until(RecoveryPhase::kDetect, handled_at);
  phases.until(RecoveryPhase::kStopOthers, failed.gone);
  phases.until(RecoveryPhase::kBackoff,
               backoff_over(facts, phases.last(), next.reserved ? next.reserved : next.started));
  phases.until(RecoveryPhase::kPrepare, next.reserved);
  phases.until(RecoveryPhase::kStartProcesses, next.started);
  phases.until(RecoveryPhase::kInterpreterStart, next.user_code);
  phases.until(RecoveryPhase::kFirstStep, next.first_step);
  incident.recovery = elapsed(seen_at, phases.last());
  phases.until(RecoveryPhase::kCatchUp, next.caught_up);
  incident.phases = phases.take();
  incident.warm = static_cast<std::uint32_t>(next.warm.size());
  for (const auto& [why, ranks] : next.cold) {
    incident.cold.push_back(ranks.size() == 1
                                ? fmt::format("rank {}: {}", ranks.begin()->value, why)
                                : fmt::format("{} ranks: {}", ranks.size(), of_several(why)));
  }
  count_lost_steps(failed, next, incident);
}

}  // namespace robustrun::supervisor
