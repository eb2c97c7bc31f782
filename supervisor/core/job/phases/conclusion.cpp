#include "supervisor/core/job/phases/conclusion.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/core/words.h"
#include "supervisor/core/fault/fault_class.h"

namespace robustrun::supervisor {
namespace {

// Rungs that were passed over, but for a rollback of a run that was never updated.
std::vector<std::string> alternatives_in_words(const std::vector<PassedStep>& passed) {
  std::vector<std::string> lines;
  for (const PassedStep& one : passed) {
    if (one.obstacle.kind != Obstacle::Kind::kNotUpdated) lines.push_back(in_words(one));
  }
  return lines;
}

}  // namespace

std::optional<base::Nanos> Conclusion::conclude(Outage& outage) {
  remedies_.attribute(outage);
  StepChoice next;
  if (verdicts_.of(outage).is_spent()) next = remedies_.next_step(outage);
  if (outage.root.rule == Rule::kSlowEvicted && !evictions_.obstacle(outage.nodes, false)) {
    next.step = Step::kEvict;
  }
  if (next.step == Step::kEvict) outage.root.fault_class = FaultClass::kInfrastructure;
  const OutageVerdict last = verdicts_.of(outage);
  std::vector<std::string> evidence = outage.evidence.lines();
  evidence.insert(evidence.end(), workers_.unkillable().begin(), workers_.unkillable().end());
  // Reported again only if it has changed since.
  std::optional<Classification> looks_like = outage.looks_like;
  if (looks_like == outage.said) looks_like.reset();
  if (!last.restart()) {
    orders_.decide(last.rule, last.text, std::move(evidence), {}, std::move(looks_like));
    finishing_.finish({last.rule, last.exit_code});
    return std::nullopt;
  }
  if (next.step == Step::kGiveUp) {
    give_up_by_policy(outage, std::move(next), std::move(evidence));
    return std::nullopt;
  }
  if (updates_.is_to_blame(outage)) {
    updates_.note_failed();
    if (!last.is_spent() && !updates_.versions().is_changing()) updates_.roll_back(outage);
  }
  // The machine would have been evicted, but the run cannot do without it.
  const Obstacle cannot_evict = evictions_.obstacle(outage.nodes, true);
  const bool is_stuck = std::ranges::any_of(next.passed, [&](const PassedStep& passed) {
    return passed.step == Step::kEvict && passed.obstacle && passed.obstacle == cannot_evict;
  });
  const std::string broken = is_stuck ? broken_.in_words(outage, false) : std::string();
  take_step(next.step, outage);
  drains_.leave();
  checkpoints_.judge(outage);
  const base::Nanos delay = last.is_spent() ? restarts_.delay(outage.root.rule) : base::Nanos{};
  std::string text = fmt::format("{}: starting {} again", last.text, next_workers_in_words());
  // An agent that is on its way mostly brings back the node that is missing.
  const bool none_comes =
      next.step == Step::kEvict || outage.root.rule == Rule::kNodeLeft || nodes_.coming() == 0;
  if (none_comes && nodes_.there() < nodes_.min_wanted()) {
    text += " when a node is there";
  } else if (delay > base::Nanos{}) {
    text += " in " + base::in_seconds(delay);
  }
  if (last.is_spent()) text += hangs_in_words(outage.root);
  text += broken;
  orders_.decide(Rule::kRestart, std::move(text), std::move(evidence),
                 alternatives_in_words(next.passed), std::move(looks_like));
  orders_.note_answer(last.answer, std::move(next.passed));
  if (is_failed_start(outage.root)) restarts_.note_failed_start();
  if (last.is_spent()) {
    restarts_.spend(outage.root.fault_class,
                    progress_.made ? std::string() : outage.root.signature);
  }
  return delay;
}

// As far as is known: spares take the places of lost nodes, and agents on the way mostly join. How
// many workers a group of another size has is not known yet.
std::string Conclusion::next_workers_in_words() const {
  const std::size_t nodes =
      std::min<std::size_t>(nodes_.there() + nodes_.coming(), nodes_.max_wanted());
  if (nodes == group_.size() || nodes < nodes_.min_wanted()) return group_.workers_in_words();
  return fmt::format("the workers on {}", base::counted(nodes, "node"));
}

void Conclusion::give_up_by_policy(const Outage& outage, StepChoice last,
                                   std::vector<std::string> evidence) {
  const Fault& root = outage.root;
  const Rule rule =
      is_counted(root.fault_class) ? Rule::kBudgetExhausted : Rule::kInfrastructureGivenUp;
  orders_.decide(rule, fmt::format("no restart: it would not help ({})", outage.looks_like->name),
                 std::move(evidence), alternatives_in_words(last.passed));
  orders_.note_answer(Answer::kGivenUpByPolicy, std::move(last.passed));
  finishing_.finish({rule, root.exit_code});
}

void Conclusion::take_step(Step step, const Outage& outage) {
  remedies_.note_taken(step);
  if (step == Step::kRollBack) return updates_.roll_back(outage);
  if (step == Step::kEvict) return evictions_.evict(outage.nodes, *outage.looks_like);
  if (step == Step::kReplay) return replaying_.want(outage.looks_like->name);
  if (step == Step::kCheck) checking_.want(outage.looks_like->name);
}

}  // namespace robustrun::supervisor
