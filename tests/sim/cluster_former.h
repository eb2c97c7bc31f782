#pragma once
// What a supervisor does that lives on beside its successor (former.h).

#include <memory>
#include <span>

#include "supervisor/core/fold.h"
#include "tests/sim/cluster.h"

namespace robustrun::sim {

// `undone`: what it was about to order when the others lost sight of it. False: it is dead.
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

// The agent does not notice that another supervisor leads the run, for a while.
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

// It launches nobody: what it needs for that is out of its reach, too.
inline void Cluster::obey_former(const core::Action& action) {
  if (const auto* timer = std::get_if<core::SetTimer>(&action)) {
    former_->armed[timer->id] = timer->sequence;
    queue_.at(timer->at, [this, timer = *timer, by = former_] {
      if (by->armed[timer.id] != timer.sequence) return;
      tell_former(by, {queue_.now(), {}, {}, core::TimerFired{timer.id, timer.sequence}});
    });
  } else if (const auto* start = std::get_if<core::StartWorkers>(&action)) {
    order_by_former(start->node, words_of(action), [order = *start](VirtualNode& node) {
      WorkerPlan calm;
      calm.start_delay = milliseconds(10);
      calm.life = hours(2);
      node.start(order, std::vector<WorkerPlan>(order.world_size, calm));
    });
  } else if (const auto* stop = std::get_if<core::StopWorkers>(&action)) {
    order_by_former(stop->node, words_of(action),
                    [order = *stop](VirtualNode& node) { node.stop(order); });
  } else if (const auto* dismiss = std::get_if<core::DismissAgent>(&action)) {
    order_by_former(dismiss->node, words_of(action), [](VirtualNode& node) { node.dismiss(); });
  }
}

// To an agent that it knows, and that may have another supervisor when the order arrives.
inline void Cluster::order_by_former(base::NodeId node, const std::string& words,
                                     std::function<void(VirtualNode&)> what) {
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
