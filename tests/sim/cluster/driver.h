#pragma once
// The driver in a virtual cluster: journal, core, actions, crashes.

#include "tests/sim/cluster/cluster.h"

namespace robustrun::sim {

inline void Cluster::tell(base::NodeId node, base::Generation generation, core::EventBody body) {
  if (is_down_) return;
  core::Event event{queue_.now(), node, generation, std::move(body)};
  auto fatal = fates_.draw(event.at, Mishap::kCrash, 0, outcome_.exit_code ? 0 : scenario_.crashes);
  const bool is_kept = std::holds_alternative<core::RunStarted>(event.body) ||
                       std::holds_alternative<core::NodeOffered>(event.body);
  if (fatal && !is_kept && fatal->chance(0.25)) return crash();  // a torn tail
  trace_.line(event.at, "<", words_of(event));
  const bool is_past = invariants_.groups().is_of_the_past(event);
  const std::uint64_t before_it = is_past ? job_.digest() : 0;
  watch(event, is_past);
  if (is_unheard(mutation_, event, scenario_.spec)) return;
  event = muffle(mutation_, std::move(event), newest_generation(node));
  write({event.at, event});
  const core::JobState before = job_.state();
  note_cell(outcome_.cells, job_, event);
  std::vector<core::Action> actions = job_.handle(event);
  invariants_.the_shadow_agrees(watches_.shadow.agrees(job_));
  ++outcome_.events;
  invariants_.the_past_is_not_obeyed(!is_past || (actions.empty() && job_.digest() == before_it),
                                     event);
  for (const core::Action& action : actions) said_.push_back(words_of(action));
  const bool is_takeover = std::holds_alternative<core::SupervisorResumed>(event.body);
  actions = distort(mutation_, std::move(actions), scenario_.spec.compat, is_takeover);
  for (const core::Action& action : actions) trace_.line(event.at, ">", words_of(action));
  if (mutation_ == Mutation::kSeatsTheEvicted) watches_.seat.distort(actions);
  watch(event.at, actions);
  const bool passed = is_deadline_over(before, event) || is_takeover;
  invariants_.copies_are_not_awaited_too_long(
      invariants_.copies().waits_no_longer(event.at, job_.state(), scenario_.spec));
  invariants_.every_wait_has_a_deadline(wait_has_a_deadline(before, job_.state(), passed, actions),
                                        job_.state());
  type_commands();
  std::optional<std::size_t> dies_at;
  if (fatal) dies_at = fatal->below(actions.size() + 1);
  carry_out(actions, dies_at);
}

inline void Cluster::write(core::JournalEntry entry) {
  if (mutation_ == Mutation::kTornJournal && journal_.size() == 5) return;
  journal_.push_back(std::move(entry));
  const bool is_event = std::holds_alternative<core::Event>(journal_.back().what);
  if (is_event) invariants_.the_shadow_agrees(watches_.shadow.hear(journal_.back()));
  dies_now_ = dies_now_ || journal_.size() == scenario_.dies_after_record;
}

// An action is journaled before the next one is carried out. A supervisor may die between any two.
inline void Cluster::carry_out(const std::vector<core::Action>& actions,
                               std::optional<std::size_t> dies_at) {
  for (std::size_t i = 0; i <= actions.size(); ++i) {
    if (outcome_.exit_code) return;
    if (std::exchange(dies_now_, false) || dies_at == i) {
      return crash(std::span(actions).subspan(i));
    }
    if (i == actions.size()) return;
    const core::Action& action = actions[i];
    if (const auto* decision = std::get_if<core::Decision>(&action)) {
      write({queue_.now(), *decision});
    } else if (const auto* formed = std::get_if<core::GroupFormed>(&action)) {
      write({queue_.now(), *formed});
    } else if (const auto* over = std::get_if<core::Finish>(&action)) {
      write({queue_.now(), *over});
    }
    perform(action);
  }
}

inline void Cluster::launch(const core::LaunchAgent& order_of) {
  links_[order_of.node.value] =
      Link{.generation = order_of.generation, .launched_by = incarnation_};
  connect(order_of.node);
  if (mutation_ == Mutation::kNeverRelaunches && order_of.generation.value > 1) return;
  nodes_[order_of.node.value].launch(order_of.generation);
  nodes_[order_of.node.value].accept(incarnation_);
}

inline void Cluster::begin_workers(const core::StartWorkers& start) {
  const std::vector<WorkerPlan>& lives = plans(start);
  links_[start.node.value].orders.clear();
  links_[start.node.value].started = start;
  order_for_good(start.node, [start, &lives](VirtualNode& node) { node.start(start, lives); });
  if (start.group_rank != 0) return;
  if (followed_ == base::Attempt{start.attempt.value + 1}) return end_wait_to_load(start);
  followed_ = base::Attempt{start.attempt.value + 1};
  steps_ = 0;
  hang_.reset();
  hang_watch_.begin_attempt(start.attempt, queue_.now());
  world_size_ = start.world_size;
  outcome_.attempts = followed_.value;
  queue_.after(seconds(20), [this, a = start.attempt] { follow_progress(a); });
  begin_to_load(start);
}

inline void Cluster::perform(const core::Action& action) {
  if (const auto* launched = std::get_if<core::LaunchAgent>(&action)) {
    launch(*launched);
  } else if (const auto* known = std::get_if<core::AdoptNode>(&action)) {
    adopt(*known);
  } else if (const auto* reserve = std::get_if<core::ReservePort>(&action)) {
    links_[reserve->node.value].orders.clear();
    order_for_good(reserve->node,
                   [a = *reserve](VirtualNode& node) { node.reserve_port(a.attempt); });
  } else if (const auto* start = std::get_if<core::StartWorkers>(&action)) {
    begin_workers(*start);
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
    order_for_good(save->node, [this, a = *save](VirtualNode&) { save_held_copies(a); });
  } else if (const auto* question = std::get_if<core::SolvePlacement>(&action)) {
    place_nodes(*question);
  } else if (const auto* back = std::get_if<core::LookBack>(&action)) {
    look_back(*back);
  } else if (std::holds_alternative<core::LookAtPace>(action)) {
    const std::uint64_t round = journal_.size();
    if (strikes(Mishap::kPaceUnanswered, 0, 0.2)) return;
    later(milliseconds(80),
          [this, round] { tell({}, {}, look_at_pace(core::Diagnosed::Stage::kRound, round)); });
  } else if (const auto* timer = std::get_if<core::SetTimer>(&action)) {
    arm(*timer);
  } else if (const auto* over = std::get_if<core::Finish>(&action)) {
    finish(over->exit_code);
  }
}

inline void Cluster::stop_workers(const core::StopWorkers& stop) {
  if (mutation_ == Mutation::kNeverKills) return;
  order_for_good(stop.node, [stop, kill_at = queue_.now() + stop.grace, this](VirtualNode& node) {
    core::StopWorkers left = stop;
    left.grace = std::clamp(kill_at - queue_.now(), Nanos{}, stop.grace);
    node.stop(left);
  });
  const core::WorkersGone gone{stop.attempt, 0, {}, {}};
  const base::Generation generation = nodes_[stop.node.value].generation();
  if (mutation_ == Mutation::kDoesNotWait) {
    queue_.after({}, [this, stop, generation, gone] { tell(stop.node, generation, gone); });
  }
  if (mutation_ == Mutation::kWhispers) job_.handle({queue_.now(), stop.node, generation, gone});
}

// Like a real driver's progress tracker: reports steps of the slowest rank, once a minute.
inline void Cluster::follow_progress(base::Attempt attempt) {
  if (followed_.value != attempt.value + 1 || outcome_.exit_code) return;
  std::uint32_t alive = 0;
  for (const VirtualNode& node : nodes_) {
    const auto* const order = node.order();
    if (order != nullptr && order->ordered_by == session_.incarnation) alive += node.alive(attempt);
  }
  tell_copies(attempt);
  if (alive == world_size_) follow_hang(attempt);
  const bool goes_on =
      alive == world_size_ && !is_down_ && !world_.hangs(attempt) && !waits_to_load_;
  if (scenario_.reports_steps && goes_on) {
    const bool is_first = steps_ == 0 || std::exchange(is_new_, false);
    const auto mark = is_first ? core::Progress::Mark::kFirstStep : core::Progress::Mark::kSummary;
    steps_ += 30;
    const auto node = static_cast<std::uint32_t>(attempt.value % nodes_.size());
    core::Progress progress{attempt, mark, world_.clock({node}), steps_, {}, {}, {}};
    if (is_first) progress.nodes = {{{node}, progress.reached_at}};
    tell({}, {}, progress);
    if (scenario_.seed % 4 == 0 && strikes(Mishap::kSlow)) {
      tell({}, {}, look_at_pace(core::Diagnosed::Stage::kSuspected, 1));
    }
    if (const auto saved = save_checkpoint(attempt)) {
      tell_checkpoint({},
                      {attempt, core::CheckpointNoted::What::kCommitted, *saved, {"/data"}, {}});
    }
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
