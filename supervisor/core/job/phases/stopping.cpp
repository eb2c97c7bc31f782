#include "supervisor/core/job/phases/stopping.h"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "supervisor/core/fault/fault_class.h"
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

}  // namespace

void Stopping::break_down(Fault fault, FaultNotes notes) {
  outage_.emplace(std::move(fault));
  outage_->lacks_operation = notes.lacks_operation;
  // What follows is decided when the group is down, with all evidence. The workers are told now
  // whether it will be a restart, as far as is known.
  const bool restart = will_restart();
  const bool says_what_stops = outage_->is_handover() || outage_->root.rule == Rule::kUpdating;
  orders_.decide(
      outage_->root.rule,
      outage_->root.words +
          (says_what_stops ? "" : stopping_in_words(workers_.alive(), group_.plan().world_size())),
      outage_->evidence.lines(), {}, outage_->looks_like);
  outage_->said = outage_->looks_like;
  slow_.note_failure();
  stops_.kill_at(orders_.now() + run_.spec.deadlines.shutdown_grace);
  stops_.save_first(orders_.state() == JobState::kRunning && outage_->is_handover());
  growth_.note_outage(outage_->root.rule);
  orders_.enter(JobState::kStopping);
  if (notes.look_back) {
    outage_->explained_by = orders_.now() + kLookBackMax;
    orders_.give(*std::move(notes.look_back));
  }
  stops_.send(SIGTERM, outage_->stop_reason(restart));
  stops_.arm();
  if (restart) agents_.launch_due();
  for (std::string& line : notes.evidence) outage_->evidence.add(std::move(line));
  conclude_if_gone();
}

bool Stopping::will_restart() const { return verdicts_.of(*outage_).restart(); }

StopReason Stopping::stop_reason() const { return outage_->stop_reason(will_restart()); }

FaultContext Stopping::context(base::NodeId node) const {
  return {node,
          nodes_.name(node),
          run_.spec.compat,
          !run_.spec.compat && run_.spec.master_port == 0 && !progress_.made &&
              restarts_.budget().port_may_conflict(),
          run_.unix_seconds(progress_.attempt_started),
          run_.unix_seconds(orders_.now()),
          progress_.made          ? FaultPhase::kProgressing
          : progress_.script_runs ? FaultPhase::kBeforeFirstStep
                                  : FaultPhase::kStarting,
          !outage_ || outage_->may_classify() ? &run_.spec.faults : nullptr,
          run_.spec.policy.is_on()};
}

void Stopping::looked_back(const Event& event) {
  const auto& what = body<Diagnosed>(event);
  if (what.stage != Diagnosed::Stage::kPostMortem) return;
  outage_->explained_by.reset();
  diagnoses_.explain(*outage_, what.verdict);
  conclude_if_gone();
}

void Stopping::add_fault(Fault fault, bool explains_root) {
  if (!outage_->add(std::move(fault), explains_root)) return;
  const Rule rule = outage_->root.rule;
  if (rule == Rule::kPortConflict || rule == Rule::kAgentLost || rule == Rule::kNodeLeft) {
    orders_.decide(rule, outage_->root.words, outage_->evidence.lines());
  }
}

// Peers of a lost machine often fail before its loss is known here: their own output says so, or
// they failed, for no clear reason, after the machine was last heard.
bool Stopping::explains_root(base::NodeId lost, std::optional<base::Nanos> last_word) const {
  const Fault& root = outage_->root;
  if (!run_.spec.policy.is_on() || root.rule != Rule::kWorkerFailed) return false;
  if (root.looks_like && root.looks_like->sequel) return true;
  const bool is_clear = root.looks_like && root.looks_like->confidence == Confidence::kHigh;
  const bool is_its_own = std::ranges::find(root.nodes, lost) != root.nodes.end();
  return !is_clear && !is_its_own && last_word && run_.unix_seconds(*last_word) <= root.time_s;
}

void Stopping::worker_exited(const Event& event) {
  const auto& exited = body<WorkerExited>(event);
  if (!workers_.note_ended(exited.rank)) return;
  stops_.note_exit(exited);
  if (exited.ended_well()) return;
  if (asks_not_to_requeue(exited, run_.spec.compat)) return do_not_requeue(event);
  if (exited.stopped_by_us) return;
  Fault fault = worker_fault(exited, context(event.node));
  if (is_lost_at_end(exited)) workers_.note_lost_at_end(fault.exit_code);
  add_fault(std::move(fault));
}

void Stopping::start_failed(const Event& event) {
  const auto& failed = body<WorkerStartFailed>(event);
  if (workers_.note_ended(failed.rank)) add_fault(start_fault(failed, context(event.node)));
}

void Stopping::workers_gone(const Event& event) {
  const auto& gone = body<WorkersGone>(event);
  if (!workers_.note_gone(event.node, gone)) return;
  copies_.note_gone(event.node, gone);
  conclude_if_gone();
}

void Stopping::overdue(const Event&) {
  outage_->explained_by.reset();  // not in time either
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const base::NodeId node{i};
    if (nodes_.at(node).gone) continue;
    agents_.drop(node, AgentLost{"it did not stop its workers in time"});
    // Whatever node has the place next: its workers die with the agent. An agent whose node takes
    // no part any more is not launched again.
    if (run_.spec.nodes[i].volunteer || !nodes_.at(node).may_work()) {
      orders_.give(DismissAgent{node, exit_code_for_infrastructure(run_.spec.compat)});
    } else {
      nodes_.at(node).retry_at = orders_.now();
    }
    add_fault(infrastructure_fault(
        Rule::kAgentLost,
        fmt::format("the agent of {} did not stop its workers in time and is replaced",
                    nodes_.name(node)),
        context(node)));
  }
  conclude_if_gone();
}

void Stopping::conclude_if_gone() {
  if (!workers_.all_gone()) return;
  // The explanation decides whose failure this was.
  if (outage_->explained_by && orders_.now() < *outage_->explained_by) {
    return orders_.set_timer(TimerId::kState, *outage_->explained_by);
  }
  stops_.tell_killed();
  const std::optional<base::Nanos> delay = conclusion_.conclude(*outage_);
  if (!delay) return;
  outage_.reset();
  orders_.next_attempt();
  agents_.launch_due();
  wait_.begin(*delay);
}

void Stopping::do_not_requeue(const Event& event) {
  Fault fault = worker_fault(body<WorkerExited>(event), context(event.node));
  if (orders_.state() == JobState::kStopping) {
    outage_->add(fault);
  } else {
    outage_.emplace(fault);
    orders_.decide(Rule::kWorkerFailed, fault.words, outage_->evidence.lines(), {},
                   outage_->looks_like);
  }
  orders_.decide(Rule::kDoNotRequeue,
                 fmt::format("giving up, do not requeue: a worker asked for it with exit code {}",
                             kExitDoNotRequeue),
                 outage_->evidence.lines());
  finishing_.end_run({Rule::kDoNotRequeue, kExitDoNotRequeue}, SIGTERM,
                     run_.spec.deadlines.shutdown_grace);
}

}  // namespace robustrun::supervisor
