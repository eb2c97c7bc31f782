#include "supervisor/core/fault/escalation.h"

#include <fmt/core.h>

#include <algorithm>

namespace robustrun::supervisor {

const char* to_string(Step step) {
  switch (step) {
    case Step::kRestart: return "restart";
    case Step::kEvict: return "evict";
    case Step::kCheck: return "check";
    case Step::kRollBack: return "roll back";
    case Step::kGiveUp: return "give up";
    case Step::kReplay: return "replay";
  }
  return "restart";
}

std::string in_words(const PassedStep& passed) {
  const std::string why =
      passed.obstacle
          ? in_words(passed.obstacle)
          : fmt::format("taken {} already, as often as its ladder has it",
                        passed.taken == 1 ? "once" : fmt::format("{} times", passed.taken));
  return fmt::format("{}: {}", to_string(passed.step), why);
}

StepChoice Escalation::choose(const Policy& policy, FirstAction action,
                              const Obstacles& obstacles) const {
  StepChoice choice;
  const auto ladder = std::ranges::find(policy.ladders, action, &Ladder::action);
  if (ladder == policy.ladders.end()) return choice;
  for (const Rung& rung : ladder->rungs) {
    const auto step = static_cast<std::size_t>(rung.step);
    const std::uint32_t taken = taken_[step];
    if (rung.times != 0 && taken >= rung.times) {
      choice.passed.push_back({rung.step, taken, {}});
    } else if (obstacles[step]) {
      choice.passed.push_back({rung.step, taken, obstacles[step]});
    } else {
      choice.step = rung.step;
      return choice;
    }
  }
  return choice;
}

void Escalation::take(Step step) {
  ++taken_[static_cast<std::size_t>(step)];
  progress_ = base::Nanos{};
}

void Escalation::note_progress(const Policy& policy, base::Nanos amount) {
  progress_ += std::max(amount, base::Nanos{});
  if (progress_ >= policy.forgotten_after) taken_.fill(0);
}

}  // namespace robustrun::supervisor
