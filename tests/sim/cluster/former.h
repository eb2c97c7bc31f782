#pragma once
// A supervisor that lives on after a takeover (former.h).

#include <memory>
#include <span>

#include "supervisor/core/status/fold.h"
#include "tests/sim/cluster/cluster.h"

namespace robustrun::sim {

// `undone`: actions that it had not carried out when the takeover came. False: it is dead.
inline bool Cluster::live_on(std::span<const core::Action> undone) {
  former_.reset();
  auto dice =
      fates_.draw(queue_.now(), Mishap::kLivesOn, 0, scenario_.is_local ? 0 : scenario_.lives_on);
  auto folded = core::fold(journal_);
  if (!dice || !folded || folded->exit_code || outcome_.exit_code) return false;
  former_ =
      std::make_shared<Former>(Former{incarnation_, std::move(folded->job), *dice, armed_, {}});
  ++outcome_.formers;
  for (const VirtualNode& node : nodes_) {
    const bool is_half_open = lines_[node.id().value].is_up && node.has_agent();
    if (is_half_open && former_->dice.chance(0.7)) former_->heard.insert(node.id());
  }
  for (const core::Action& action : undone) obey_former(action);
  return true;
}

// For a while the agent does not notice that another supervisor leads the run.
inline void Cluster::leave_half_open(base::NodeId node) {
  const Nanos most = former_->dice.chance(0.5) ? seconds(3) : seconds(60);
  const Nanos stays = former_->dice.between({}, most);
  const base::Generation generation = nodes_[node.value].generation();
  Line& line = lines_[node.value];
  ++line.number;
  line.is_up = false;
  line.down_since = queue_.now() + stays;
  invariants_.disturbed();
  call_again(node, generation, stays);
  queue_.after(stays, [this, node, generation, by = former_] {
    by->heard.erase(node);
    queue_.after(seconds(3), [this, node, generation, by] {
      tell_former(
          by, {queue_.now(), node, generation, core::AgentLost{"it did not come back", true, {}}});
    });
  });
}

inline void Cluster::tell_former(const std::shared_ptr<Former>& former, const core::Event& event) {
  if (former_ != former || outcome_.exit_code) return;
  trace_.line(event.at, "<<", words_of(event));
  for (const core::Action& action : former->job.handle(event)) obey_former(action);
}

// Its workers save as long as they live, at the same time as its successor's.
inline void Cluster::save_for_former(const core::StartWorkers& order,
                                     std::optional<Disks::Writer> writer, std::uint64_t step) {
  const VirtualNode& there = nodes_[order.node.value];
  const core::StartWorkers* runs = there.order();
  const bool lives = runs != nullptr && words_of(*runs) == words_of(order) &&
                     there.alive(order.attempt) != 0 && !outcome_.exit_code;
  if (!lives) return;
  const ckpt::Session session = session_of(order.attempt, order.ordered_by);
  if (!writer) {
    writer = claim(session);
    const auto newest = disks_.newest();
    step = newest ? newest->step : 0;
  }
  const auto id = writer ? disks_.begin(*writer, step += 30, "f") : std::nullopt;
  if (id) disks_.complete(*id);
  const bool does_commit = id && disks_.commit(*id, *writer, wall_clock(1), true);
  if (does_commit) check_admission(session);
  ++(does_commit ? outcome_.saves_of_formers : outcome_.refused_saves_of_formers);
  queue_.after(seconds(15), [this, order, writer, step] { save_for_former(order, writer, step); });
}

// Whether the event shows that another supervisor's workers are there, as the real driver decides
// it.
inline bool Cluster::is_of_another_supervisor(base::NodeId node, base::Generation generation,
                                              const core::EventBody& body) const {
  const Link& link = links_[node.value];
  if (link.generation != generation || link.lost) return false;
  if (mutation_ == Mutation::kKeepsStrangers) return false;
  const auto is_foreign = [&](const auto& of) {
    return job_.is_foreign(node, of.attempt,
                           mutation_ == Mutation::kMixesOrders ? 0 : of.ordered_by);
  };
  if (const auto* started = std::get_if<core::WorkerStarted>(&body)) return is_foreign(*started);
  const VirtualNode& there = nodes_[node.value];
  const bool is_back = link.joined && std::holds_alternative<core::AgentJoined>(body) &&
                       there.generation() == generation;
  return is_back && there.order() != nullptr && is_foreign(*there.order());
}

// Checks workers that are about to count, which happens in only one state.
inline void Cluster::check_order_of(const core::Event& event) {
  const auto* started = std::get_if<core::WorkerStarted>(&event.body);
  if (started == nullptr || job_.state() != core::JobState::kStarting) return;
  const auto& ordered = links_[event.node.value].started;
  const core::StartWorkers* runs = nodes_[event.node.value].order();
  const bool is_news = ordered && runs != nullptr && ordered->attempt == started->attempt &&
                       runs->attempt == started->attempt;
  invariants_.workers_are_of_the_order_that_counts(
      !is_news || words_of(*runs) == words_of(*ordered), event);
}

// It launches no agent: it has lost access to what that needs, too.
inline void Cluster::obey_former(const core::Action& action) {
  if (const auto* timer = std::get_if<core::SetTimer>(&action)) {
    former_->armed[timer->id] = timer->sequence;
    queue_.at(timer->at, [this, timer = *timer, by = former_] {
      if (by->armed[timer.id] != timer.sequence) return;
      tell_former(by, {queue_.now(), {}, {}, core::TimerFired{timer.id, timer.sequence}});
    });
  } else if (const auto* reserve = std::get_if<core::ReservePort>(&action)) {
    order_by_former(reserve->node, words_of(action),
                    [a = reserve->attempt](VirtualNode& node) { node.reserve_port(a); });
  } else if (const auto* start = std::get_if<core::StartWorkers>(&action)) {
    order_by_former(start->node, words_of(action), [this, order = *start](VirtualNode& node) {
      WorkerPlan calm;
      calm.start_delay = milliseconds(10);
      calm.life = hours(2);
      node.start(order, std::vector<WorkerPlan>(order.world_size, calm));
      if (order.group_rank != 0 || !has_disks()) return;
      queue_.after(seconds(1), [this, order] { save_for_former(order, std::nullopt, 0); });
    });
  } else if (const auto* stop = std::get_if<core::StopWorkers>(&action)) {
    order_by_former(stop->node, words_of(action),
                    [order = *stop](VirtualNode& node) { node.stop(order); });
  } else if (const auto* dismiss = std::get_if<core::DismissAgent>(&action)) {
    order_by_former(dismiss->node, words_of(action), [](VirtualNode& node) { node.dismiss(); });
  }
}

// Orders an agent that it knows, and that may have another supervisor when the order arrives.
inline void Cluster::order_by_former(base::NodeId node, const std::string& words,
                                     Link::Order what) {
  if (node.value >= nodes_.size()) return;
  const Nanos most = former_->dice.chance(0.3) ? seconds(60) : milliseconds(5);
  queue_.after(former_->dice.between({}, most),
               [this, node, words, what = std::move(what), by = former_->incarnation,
                to = nodes_[node.value].generation()] {
                 VirtualNode& there = nodes_[node.value];
                 if (there.generation() != to || !there.has_agent() || outcome_.exit_code) return;
                 if (there.accepted() > by && mutation_ != Mutation::kObeysTheFormer) {
                   ++outcome_.fenced;
                   return;
                 }
                 trace_.line(queue_.now(), ">>", words);
                 invariants_.no_lower_incarnation_is_obeyed(by, there.accepted(), node);
                 invariants_.disturbed();
                 ++outcome_.obeyed_formers;
                 what(there);
               });
}

}  // namespace robustrun::sim
