#include "supervisor/core/fault/escalation.h"

#include <doctest/doctest.h>

namespace robustrun::supervisor::escalation_test {
namespace {

Policy one_ladder(std::vector<Rung> rungs) {
  Policy policy;
  policy.ladders = {{FirstAction::kCheck, std::move(rungs)}};
  return policy;
}

std::vector<std::string> passed_in_words(const StepChoice& choice) {
  std::vector<std::string> lines;
  for (const PassedStep& passed : choice.passed) lines.push_back(in_words(passed));
  return lines;
}

Obstacles only(Step step, Obstacle::Kind why) {
  Obstacles all;
  all[static_cast<std::size_t>(step)] = {why};
  return all;
}

TEST_CASE("each rung is taken as often as it says, then it is the next one's turn") {
  const Policy policy =
      one_ladder({{Step::kCheck, 1}, {Step::kRestart, 2}, {Step::kEvict, 1}, {Step::kGiveUp, 0}});
  Escalation escalation;
  for (const Step expected :
       {Step::kCheck, Step::kRestart, Step::kRestart, Step::kEvict, Step::kGiveUp, Step::kGiveUp}) {
    const StepChoice choice = escalation.choose(policy, FirstAction::kCheck, {});
    CHECK(choice.step == expected);
    escalation.take(choice.step);
  }
  CHECK(passed_in_words(escalation.choose(policy, FirstAction::kCheck, {})) ==
        std::vector<std::string>{"check: taken once already, as often as its ladder has it",
                                 "restart: taken 2 times already, as often as its ladder has it",
                                 "evict: taken once already, as often as its ladder has it"});
}

TEST_CASE("a step with an obstacle is passed over, with the reason") {
  const Policy policy = one_ladder({{Step::kEvict, 1}, {Step::kCheck, 1}});
  const StepChoice choice = Escalation().choose(policy, FirstAction::kCheck,
                                                only(Step::kEvict, Obstacle::Kind::kNoSuspect));
  CHECK(choice.step == Step::kCheck);
  CHECK(passed_in_words(choice) == std::vector<std::string>{"evict: no machine is known to blame"});
}

TEST_CASE("without a ladder, and beyond the last rung, there is a restart") {
  const Policy policy = one_ladder({{Step::kCheck, 1}});
  Escalation escalation;
  CHECK(escalation.choose(policy, FirstAction::kEvict, {}).step == Step::kRestart);
  escalation.take(Step::kCheck);
  CHECK(escalation.choose(policy, FirstAction::kCheck, {}).step == Step::kRestart);
}

TEST_CASE("what one ladder did counts for the others") {
  Policy policy = one_ladder({{Step::kCheck, 1}, {Step::kRestart, 0}});
  policy.ladders.push_back({FirstAction::kEvict, {{Step::kCheck, 1}, {Step::kEvict, 0}}});
  Escalation escalation;
  escalation.take(Step::kCheck);
  CHECK(escalation.choose(policy, FirstAction::kEvict, {}).step == Step::kEvict);
}

TEST_CASE("enough progress in a row lets everything be forgotten; a step begins a new row") {
  const Policy policy = one_ladder({{Step::kCheck, 1}, {Step::kRestart, 0}});
  Escalation escalation;
  escalation.take(Step::kCheck);
  escalation.note_progress(policy, policy.forgotten_after / 2);
  escalation.note_progress(policy, -policy.forgotten_after);
  CHECK(escalation.choose(policy, FirstAction::kCheck, {}).step == Step::kRestart);
  escalation.take(Step::kRestart);
  escalation.note_progress(policy, policy.forgotten_after / 2);
  CHECK(escalation.choose(policy, FirstAction::kCheck, {}).step == Step::kRestart);
  escalation.note_progress(policy, policy.forgotten_after / 2);
  CHECK(escalation.choose(policy, FirstAction::kCheck, {}).step == Step::kCheck);
}

}  // namespace
}  // namespace robustrun::supervisor::escalation_test
