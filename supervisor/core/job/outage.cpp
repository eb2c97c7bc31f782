// From the first fault of an attempt until nothing of it is left: then a restart, or the end.

#include <fmt/core.h>

#include <algorithm>
#include <csignal>

#include "base/core/words.h"
#include "supervisor/core/fault/fault_class.h"
#include "supervisor/core/job/impl.h"
#include "supervisor/core/types/exit_code.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
namespace {

// "; stopping the other 7 ranks"
std::string stopping_in_words(std::uint32_t alive, std::uint32_t world_size) {
  if (alive == 0) return "";
  if (alive == 2 && world_size == 2) return "; stopping both ranks";
  const char* const which = alive == world_size ? "all" : "the other";
  if (alive == 1) return fmt::format("; stopping {} rank", alive == world_size ? "the" : which);
  return fmt::format("; stopping {} {} ranks", which, alive);
}

// "twice", "3 times"
std::string times_in_words(std::uint32_t times) {
  return times == 2 ? "twice" : base::counted(times, "time");
}

// Rungs that were passed over, but for a rollback of a run that was never updated.
std::vector<std::string> alternatives_in_words(const std::vector<PassedStep>& passed) {
  std::vector<std::string> lines;
  for (const PassedStep& one : passed) {
    if (one.obstacle.kind != Obstacle::Kind::kNotUpdated) lines.push_back(in_words(one));
  }
  return lines;
}

// "train.py:30, train.py:41, train.py:87 and 5 more"
std::string lines_in_words(std::string_view place) {
  constexpr std::size_t kLinesNamed = 3;
  constexpr std::string_view kBetween = ", ";
  std::size_t lines = 1;
  std::size_t named = place.size();  // where the names end
  for (std::size_t at = place.find(kBetween); at != std::string_view::npos;
       at = place.find(kBetween, at + kBetween.size())) {
    if (lines == kLinesNamed) named = at;
    ++lines;
  }
  if (lines <= kLinesNamed) return std::string(place);
  return fmt::format("{} and {} more", place.substr(0, named), lines - kLinesNamed);
}

// What the next hang in the same line of the script leads to.
std::string hangs_in_words(const Fault& root) {
  if (root.hangs_there == 0) return "";
  if (root.hangs_there == 1) {
    return fmt::format("; another hang in {} will count as the script's",
                       lines_in_words(root.script_line));
  }
  return fmt::format("; the hang in {} came back, and {} of them end the run",
                     lines_in_words(root.script_line), kHangsAtLineMax);
}

}  // namespace

void Job::Impl::break_down(Fault fault, std::optional<LookBack> look_back) {
  outage.emplace(std::move(fault));
  // What follows is decided when the group is down, with all evidence. The workers are told now
  // whether it will be a restart, as far as is known.
  const bool restart = verdict().restart();
  const bool says_what_stops = outage->is_handover() || outage->root.rule == Rule::kUpdating;
  decide(outage->root.rule,
         outage->root.words +
             (says_what_stops ? "" : stopping_in_words(alive_workers(), plan.world_size())),
         outage->evidence.lines(), {}, outage->looks_like);
  outage->said = outage->looks_like;
  prices.note_failure(now);
  kill_at = now + spec.deadlines.shutdown_grace;
  save_first = state == JobState::kRunning && outage->is_handover();
  growths = outage->root.rule == Rule::kGroupGrew ? growths + 1 : 0;
  enter(JobState::kStopping);
  if (look_back) {
    outage->explained_by = now + kLookBackMax;
    out.push_back(*std::move(look_back));
  }
  send_stops(SIGTERM, outage->stop_reason(restart));
  arm_stop_timer();
  if (restart) launch_due();
  conclude_if_gone();
}

void Job::Impl::add_fault(Fault fault, bool explains_root) {
  if (!outage->add(std::move(fault), explains_root)) return;
  const Rule rule = outage->root.rule;
  if (rule == Rule::kPortConflict || rule == Rule::kAgentLost || rule == Rule::kNodeLeft) {
    decide(rule, outage->root.words, outage->evidence.lines());
  }
}

// Peers of a lost machine often fail before its loss is known here: their own output says so, or
// they failed, for no clear reason, after the machine was last heard.
bool JobQuestions::explains_root(base::NodeId lost, std::optional<base::Nanos> last_word) const {
  const Fault& root = outage->root;
  if (!spec.policy.is_on() || root.rule != Rule::kWorkerFailed) return false;
  if (root.looks_like && root.looks_like->sequel) return true;
  const bool is_clear = root.looks_like && root.looks_like->confidence == Confidence::kHigh;
  const bool is_its_own = std::ranges::find(root.nodes, lost) != root.nodes.end();
  return !is_clear && !is_its_own && last_word && unix_seconds(*last_word) <= root.time_s;
}

void Job::Impl::worker_exited_stopping(const Event& event) {
  const auto& exited = body<WorkerExited>(event);
  if (!note_ended(exited.rank) || exited.ended_well()) return;
  if (asks_not_to_requeue(exited, spec.compat)) return do_not_requeue(event);
  if (exited.stopped_by_us) return;
  Fault fault = worker_fault(exited, context(event.node));
  if (is_lost_at_end(exited) && !lost_at_end) lost_at_end = fault.exit_code;
  add_fault(std::move(fault));
}

void Job::Impl::start_failed_stopping(const Event& event) {
  const auto& failed = body<WorkerStartFailed>(event);
  if (note_ended(failed.rank)) add_fault(start_fault(failed, context(event.node)));
}

void Job::Impl::workers_gone_stopping(const Event& event) {
  if (note_gone(event.node, body<WorkersGone>(event))) conclude_if_gone();
}

void Job::Impl::stop_overdue(const Event&) {
  outage->explained_by.reset();  // not in time either
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const base::NodeId node{i};
    if (at(node).gone) continue;
    drop_agent(node, "it did not stop its workers in time", true);
    // Whatever node has the place next: its workers die with the agent. An agent whose node takes
    // no part any more is not launched again.
    if (spec.nodes[i].volunteer || !at(node).may_work()) {
      out.push_back(DismissAgent{node, exit_code_for_infrastructure(spec.compat)});
    } else {
      at(node).retry_at = now;
    }
    add_fault(infrastructure_fault(
        Rule::kAgentLost,
        fmt::format("the agent of {} did not stop its workers in time and is replaced", name(node)),
        context(node)));
  }
  conclude_if_gone();
}

OutageVerdict Job::Impl::verdict() const {
  const Fault& root = outage->root;
  const std::uint32_t allowed = budget.policy().max_restarts;
  if (!unkillable.empty()) {
    return {Answer::kNone, Rule::kInfrastructureGivenUp, exit_code_for_infrastructure(spec.compat),
            unkillable.front() + ": giving up, as nothing can be started beside it"};
  }
  if (lost_at_end) {
    return {Answer::kNone, Rule::kBudgetExhausted, *lost_at_end,
            "no restart: a script had returned, and would train all over again"};
  }
  if (root.rule == Rule::kUpdating || (versions.now && versions.is_changing())) {
    return {Answer::kVersionRestart, Rule::kRestart, kExitSuccess,
            fmt::format("free restart with version {}", versions.next)};
  }
  // torchrun has no room for a node that goes without a restart left, unless the group may shrink.
  const bool is_the_end = spec.compat && root.rule == Rule::kNodeLeft &&
                          nodes_there < min_nodes() && !budget.allows(FaultClass::kUser);
  if (is_the_end) {
    return {Answer::kNone, Rule::kBudgetExhausted, root.exit_code,
            fmt::format("no restart: {}, and none is left (--max-restarts)",
                        missing_in_words(nodes_there))};
  }
  if (outage->nothing_failed()) {
    return {Answer::kPlannedRestart, Rule::kRestart, kExitSuccess, "free restart (nothing failed)"};
  }
  if (version_is_to_blame() && !versions.is_changing() && versions.older(false)) {
    return {Answer::kVersionRestart, Rule::kRestart, kExitSuccess,
            fmt::format("free restart with version {}", *versions.older(false))};
  }
  if (root.fault_class == FaultClass::kPermanent) {
    return {Answer::kNone, Rule::kBudgetExhausted, root.exit_code,
            "no restart: a program that cannot run now will not run next time"};
  }
  const bool counted = is_counted(root.fault_class);
  if (counted && !made_progress && budget.policy().crash_loop_stop && !blames_checkpoint() &&
      root.looks_like && is_surely_the_scripts(*root.looks_like)) {
    return {Answer::kNone, Rule::kBudgetExhausted, root.exit_code,
            "giving up: a restart cannot change that"};
  }
  if (counted && !made_progress && budget.is_crash_loop(root.signature) && !blames_checkpoint()) {
    const std::string text = fmt::format("giving up: failed {} in the same way",
                                         times_in_words(budget.times_seen(root.signature)));
    if (is_surely_broken()) {
      return {Answer::kNone, Rule::kInfrastructureGivenUp,
              exit_code_for_infrastructure(spec.compat), text + broken_in_words(true)};
    }
    return {Answer::kNone, Rule::kCrashLoop, kExitCrashLoop, text};
  }
  if (counted && root.hangs_there >= kHangsAtLineMax && budget.policy().crash_loop_stop) {
    return {Answer::kNone, Rule::kCrashLoop, kExitCrashLoop,
            fmt::format("giving up: the script hung {} in {} (if it waits there on purpose, use "
                        "--hang-timeout=0)",
                        times_in_words(root.hangs_there), lines_in_words(root.script_line))};
  }
  if (is_failed_start(root) && !may_start_again(now)) {
    return {Answer::kNone, Rule::kInfrastructureGivenUp, exit_code_for_infrastructure(spec.compat),
            failed_starts_in_words(now, root.words)};
  }
  if (budget.allows(root.fault_class)) {
    return {counted ? Answer::kCountedRestart : Answer::kFreeRestart, Rule::kRestart, kExitSuccess,
            counted ? fmt::format("restart {} of {}", budget.used() + 1, allowed)
                    : std::string("free restart (likely not your code)")};
  }
  if (!counted) {
    return {Answer::kNone, Rule::kInfrastructureGivenUp, exit_code_for_infrastructure(spec.compat),
            fmt::format("giving up after {} infrastructure faults in a row without progress",
                        budget.used_uncounted() + 1)};
  }
  return {Answer::kNone, Rule::kBudgetExhausted, root.exit_code,
          (allowed == 0 ? std::string("no restart: none is allowed (--max-restarts)")
                        : fmt::format("no restart left: {} of {} used", budget.used(), allowed)) +
              broken_in_words(true)};
}

void Job::Impl::conclude_if_gone() {
  if (!all_gone()) return;
  // The explanation decides whose failure this was.
  if (outage->explained_by && now < *outage->explained_by) {
    return set_timer(TimerId::kState, *outage->explained_by);
  }
  attribute();
  StepChoice next;
  if (verdict().is_spent()) next = next_step();
  if (outage->root.rule == Rule::kSlowEvicted && !eviction_obstacle(outage->nodes, false)) {
    next.step = Step::kEvict;
  }
  if (next.step == Step::kEvict) outage->root.fault_class = FaultClass::kInfrastructure;
  const OutageVerdict last = verdict();
  std::vector<std::string> evidence = outage->evidence.lines();
  evidence.insert(evidence.end(), unkillable.begin(), unkillable.end());
  // Reported again only if it has changed since.
  std::optional<Classification> looks_like = outage->looks_like;
  if (looks_like == outage->said) looks_like.reset();
  if (!last.restart()) {
    decide(last.rule, last.text, std::move(evidence), {}, std::move(looks_like));
    ending = {last.rule, last.exit_code};
    save_held_copies();
    return finish();
  }
  if (next.step == Step::kGiveUp) return give_up_by_policy(std::move(next), std::move(evidence));
  if (version_is_to_blame()) {
    versions.all[versions.present].failed = true;
    if (!last.is_spent() && !versions.is_changing()) roll_back(outage->root.words);
  }
  // The machine would have been evicted, but the run cannot do without it.
  const Obstacle cannot_evict = eviction_obstacle(outage->nodes, true);
  const bool is_stuck = std::ranges::any_of(next.passed, [&](const PassedStep& passed) {
    return passed.step == Step::kEvict && passed.obstacle && passed.obstacle == cannot_evict;
  });
  const std::string broken = is_stuck ? broken_in_words(false) : std::string();
  take_step(next.step);
  leave_drained();
  judge_checkpoint();
  const base::Nanos delay = last.is_spent() ? restart_delay(outage->root.rule) : base::Nanos{};
  std::string text = fmt::format("{}: starting {} again", last.text, workers_in_words());
  const bool lacks_one = next.step == Step::kEvict || outage->root.rule == Rule::kNodeLeft;
  if (lacks_one && nodes_there < min_nodes()) {
    text += " when a node is there";
  } else if (delay > base::Nanos{}) {
    text += " in " + base::in_seconds(delay);
  }
  if (last.is_spent()) text += hangs_in_words(outage->root);
  text += broken;
  decide(Rule::kRestart, std::move(text), std::move(evidence), alternatives_in_words(next.passed),
         std::move(looks_like));
  note_answer(last.answer, std::move(next.passed));
  if (is_failed_start(outage->root)) budget.note_failed_start(now);
  if (last.is_spent()) {
    budget.spend(outage->root.fault_class, made_progress ? std::string() : outage->root.signature);
    backoff.note_restart();
  }
  outage.reset();
  ++attempt.value;
  launch_due();
  wait_before_restart(delay);
}

void Job::Impl::give_up_by_policy(StepChoice last, std::vector<std::string> evidence) {
  const Fault& root = outage->root;
  const Rule rule =
      is_counted(root.fault_class) ? Rule::kBudgetExhausted : Rule::kInfrastructureGivenUp;
  decide(rule, fmt::format("no restart: it would not help ({})", outage->looks_like->name),
         std::move(evidence), alternatives_in_words(last.passed));
  note_answer(Answer::kGivenUpByPolicy, std::move(last.passed));
  ending = {rule, root.exit_code};
  save_held_copies();
  finish();
}

// In an open group a lost node's command is started again from outside, at a pace of its own, and
// should find the group at work soon. One that is lost again and again is waited for longer.
base::Nanos JobQuestions::restart_delay(Rule rule) const {
  const base::Nanos delay = backoff.delay(budget.policy(), base::Rng(seed + attempt.value).next());
  const bool may_be_back_soon =
      spec.group.open && rule == Rule::kAgentLost && budget.used_uncounted() < kLostVolunteerWaits;
  return may_be_back_soon ? std::min(delay, kLostVolunteerWaitMax) : delay;
}

}  // namespace robustrun::supervisor
