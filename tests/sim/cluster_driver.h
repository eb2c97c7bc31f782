#pragma once
// The driver's half of a virtual cluster: journal, core, actions, crashes.

#include "tests/sim/cluster.h"
#include "tests/sim/cluster_copies.h"

namespace robustrun::sim {

inline void Cluster::tell(base::NodeId node, base::Generation generation, core::EventBody body) {
  core::Event event{queue_.now(), node, generation, std::move(body)};
  trace_.line(event.at, "<", words_of(event));
  const bool is_past = invariants_.groups().is_of_the_past(event);
  const std::uint64_t before_it = is_past ? job_.digest() : 0;
  invariants_.on_event(event);
  if (is_unheard(mutation_, event, scenario_.spec)) return;
  event = muffle(mutation_, std::move(event), newest_generation(node));
  const bool torn = mutation_ == Mutation::kTornJournal && journal_.size() == 5;
  if (!torn) journal_.push_back(event);
  const core::JobState before = job_.state();
  std::vector<core::Action> actions = job_.handle(event);
  invariants_.the_past_is_not_obeyed(!is_past || (actions.empty() && job_.digest() == before_it),
                                     event);
  for (const core::Action& action : actions) said_.push_back(words_of(action));
  actions = distort(mutation_, std::move(actions), scenario_.spec.compat);
  for (const core::Action& action : actions) trace_.line(event.at, ">", words_of(action));
  invariants_.on_actions(event.at, actions);
  const auto* timer = std::get_if<core::TimerFired>(&event.body);
  const auto deadline =
      before == core::JobState::kBackoff ? core::TimerId::kBackoff : core::TimerId::kState;
  const bool passed = timer != nullptr && timer->id == deadline;
  invariants_.nobody_waits_longer_for_copies(
      invariants_.copies().waits_no_longer(event.at, job_.state(), scenario_.spec));
  invariants_.every_wait_has_a_deadline(wait_has_a_deadline(before, job_.state(), passed, actions),
                                        job_.state());
  coverage_.on_actions(actions);
  const bool crashes = strikes(Mishap::kCrash, 0, scenario_.crashes);
  // A crash strikes before the actions are carried out, or after: then they are repeated.
  if (!crashes || !strikes(Mishap::kCrashBeforeActing, 0, 0.5)) {
    for (const core::Action& action : actions) perform(action);
  }
  if (crashes) {
    crash();
    for (const core::Action& action : actions) perform(action);
  }
}

// The job is thrown away and folded anew from its journal. It must have the same state, and must
// have wanted the same; timers are armed again from what it said.
inline void Cluster::crash() {
  ++outcome_.supervisor_crashes;
  trace_.line(queue_.now(), "!", "supervisor crash");
  const std::uint64_t digest = job_.digest();
  job_ = core::Job();
  std::vector<std::string> said;
  std::map<core::TimerId, core::SetTimer> timers;
  for (const core::Event& event : journal_) {
    for (const core::Action& action : job_.handle(event)) {
      said.push_back(words_of(action));
      if (const auto* timer = std::get_if<core::SetTimer>(&action)) timers[timer->id] = *timer;
    }
  }
  invariants_.replay_restores_the_state(job_.digest() == digest && said == said_);
  armed_.clear();
  for (const auto& [id, timer] : timers) arm(timer);
}

inline void Cluster::arm(const core::SetTimer& timer) {
  if (mutation_ == Mutation::kLazyTimers) return;
  armed_[timer.id] = timer.sequence;
  queue_.at(timer.at, [this, timer] {
    if (armed_[timer.id] != timer.sequence) return;
    tell({}, {}, core::TimerFired{timer.id, timer.sequence});
  });
}

inline void Cluster::perform(const core::Action& action) {
  if (const auto* launch = std::get_if<core::LaunchAgent>(&action)) {
    nodes_[launch->node.value].launch(launch->generation);
  } else if (const auto* reserve = std::get_if<core::ReservePort>(&action)) {
    order(reserve->node, [a = *reserve](VirtualNode& node) { node.reserve_port(a.attempt); });
  } else if (const auto* start = std::get_if<core::StartWorkers>(&action)) {
    const std::vector<WorkerPlan>& lives = plans(*start);
    order(start->node, [a = *start, &lives](VirtualNode& node) { node.start(a, lives); });
    if (start->group_rank == 0 && followed_ != base::Attempt{start->attempt.value + 1}) {
      followed_ = base::Attempt{start->attempt.value + 1};
      steps_ = 0;
      world_size_ = start->world_size;
      outcome_.attempts = followed_.value;
      queue_.after(seconds(20), [this, a = start->attempt] { follow_progress(a); });
      load_checkpoint(*start);
    }
  } else if (const auto* stop = std::get_if<core::StopWorkers>(&action)) {
    stop_workers(*stop);
  } else if (const auto* dismiss = std::get_if<core::DismissAgent>(&action)) {
    if (mutation_ == Mutation::kNeverKills) return;
    queue_.after(seconds(3), [this, n = dismiss->node.value] { nodes_[n].dismiss(); });
  } else if (const auto* check = std::get_if<core::CheckNodes>(&action)) {
    check_nodes(*check);
  } else if (const auto* replay = std::get_if<core::ReplayNodes>(&action)) {
    replay_nodes(*replay);
  } else if (const auto* demote = std::get_if<core::DemoteCheckpoint>(&action)) {
    demote_checkpoint(*demote);
  } else if (const auto* backup = std::get_if<core::SolveBackup>(&action)) {
    solve_backup(*backup);
  } else if (const auto* copies = std::get_if<core::PlaceCopies>(&action)) {
    place_copies(*copies);
  } else if (const auto* save = std::get_if<core::SaveHeldCopies>(&action)) {
    save_held_copies(*save);
  } else if (const auto* question = std::get_if<core::SolvePlacement>(&action)) {
    place_nodes(*question);
  } else if (const auto* back = std::get_if<core::LookBack>(&action)) {
    look_back(*back);
  } else if (std::holds_alternative<core::LookAtPace>(action)) {
    const std::uint64_t round = journal_.size();
    if (round % 5 == 0) return;  // not every look is answered
    queue_.after(milliseconds(80), [this, round] {
      tell({}, {}, look_at_pace(core::Diagnosed::Stage::kRound, round));
    });
  } else if (const auto* timer = std::get_if<core::SetTimer>(&action)) {
    arm(*timer);
  } else if (const auto* finish = std::get_if<core::Finish>(&action)) {
    if (!outcome_.exit_code) outcome_.duration = queue_.now();
    outcome_.exit_code = finish->exit_code;
  }
}

inline void Cluster::stop_workers(const core::StopWorkers& stop) {
  if (mutation_ == Mutation::kNeverKills) return;
  order(stop.node, [stop](VirtualNode& node) { node.stop(stop); });
  const core::WorkersGone gone{stop.attempt, 0, {}, {}};
  const base::Generation generation = nodes_[stop.node.value].generation();
  if (mutation_ == Mutation::kDoesNotWait) {
    queue_.after({}, [this, stop, generation, gone] { tell(stop.node, generation, gone); });
  }
  if (mutation_ == Mutation::kWhispers) job_.handle({queue_.now(), stop.node, generation, gone});
}

// The progress tracker of a real driver: steps of the slowest rank, once a minute.
inline void Cluster::follow_progress(base::Attempt attempt) {
  if (followed_.value != attempt.value + 1 || outcome_.exit_code) return;
  std::uint32_t alive = 0;
  for (const VirtualNode& node : nodes_) alive += node.alive(attempt);
  tell_copies(attempt);
  if (scenario_.reports_steps && alive == world_size_) {
    const auto mark =
        steps_ == 0 ? core::Progress::Mark::kFirstStep : core::Progress::Mark::kSummary;
    steps_ += 30;
    tell({}, {}, core::Progress{attempt, mark, queue_.now(), steps_, {}, {}, {}});
    if (scenario_.seed % 4 == 0 && strikes(Mishap::kSlow)) {
      tell({}, {}, look_at_pace(core::Diagnosed::Stage::kSuspected, 1));
    }
    follow_hang(attempt);
    const core::CheckpointId saved{saved_ += 30, attempt.value, "s"};
    tell_checkpoint({}, {attempt, core::CheckpointNoted::What::kCommitted, saved, {"/data"}, {}});
    if (steps_ % 210 == 0 && strikes(Mishap::kAlarm)) {
      invariants_.disturbed();
      tell(
          {}, {},
          core::MetricAlarm{attempt, "loss", core::MetricAlarm::Kind::kNotANumber, 0, 1, 3, false});
    }
    const auto goal = scenario_.spec.stop_after_steps;
    if (goal && steps_ >= *goal) tell({}, {}, core::StepGoalReached{attempt, steps_});
  }
  queue_.after(minutes(1), [this, attempt] { follow_progress(attempt); });
}

}  // namespace robustrun::sim
