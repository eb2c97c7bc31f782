#pragma once
// What the agent of a virtual node does when it is told to.

#include <utility>

#include "tests/sim/virtual_node.h"

namespace robustrun::sim {

inline void VirtualNode::accept(std::uint32_t incarnation) {
  if (!agent_ || agent_->accepted >= incarnation) return;
  agent_->accepted = incarnation;
  agent_->stopped.reset();  // by another one, which may have counted further
}

inline void VirtualNode::depart() {
  if (!can_call() || agent_->leaves) return;
  world_.disturbed();
  agent_->leaves = true;
  world_.say(id_, agent_->generation, core::NodeEnding{"its agent got SIGTERM", SIGTERM});
  if (!agent_->anything_lives()) return die(agent_, "left");
  // The supervisor may not have heard of it.
  queue_.after(seconds(2), [this, agent = agent_] {
    if (!agent->alive || !agent->order || agent->kill_at != Nanos::max()) return;
    agent->kill_at = queue_.now() + seconds(30);
    for (const auto& worker : agent->workers) worker->stopped = true;
    queue_.at(agent->kill_at, [this, agent] { kill_workers(agent); });
  });
}

inline void VirtualNode::say_again() {
  say_hello();
  if (agent_->leaves) {
    world_.say(id_, agent_->generation, core::NodeEnding{"its agent got SIGTERM", SIGTERM});
  }
  for (const core::EventBody& report : agent_->reports) {
    world_.say(id_, agent_->generation, report);
  }
  if (agent_->saved) world_.say(id_, agent_->generation, *agent_->saved);
}

inline void VirtualNode::reserve_port(base::Attempt attempt) {
  if (!agent_ || !agent_->alive) return;
  const bool fails = strikes(Mishap::kNoPort, scenario_.port_fails);
  if (fails) world_.disturbed();
  world_.say(id_, agent_->generation,
             core::PortReserved{attempt, fails ? 0 : 20000 + next_port_++, "none free"});
}

inline void VirtualNode::start(const core::StartWorkers& order,
                               const std::vector<WorkerPlan>& plans) {
  if (!agent_ || !agent_->alive) return;
  // Within a connection none comes after its stop.
  if (agent_->stopped && order.attempt <= *agent_->stopped) return;
  if (const core::StartWorkers* had = agent_->order ? &*agent_->order : nullptr) {
    const auto when = [](const auto& one) { return std::pair(one.ordered_by, one.attempt); };
    if (when(order) <= when(*had)) return;
    // The real one starts nothing beside what lives. Here that is not relied on, but for workers
    // that another supervisor ordered: this one cannot know of them.
    if (order.ordered_by != had->ordered_by && agent_->anything_lives()) return;
  }
  agent_->order = order;
  agent_->kill_at = Nanos::max();
  agent_->goes_on = agent_->is_gone = false;
  agent_->workers.clear();
  agent_->reports.clear();
  for (const core::Assignment place : order.workers) {
    auto worker = std::make_shared<Worker>();
    worker->attempt = order.attempt;
    worker->rank = place.rank;
    worker->ordered_by = order.ordered_by;
    worker->plan = plans[place.rank.value];
    agent_->workers.push_back(worker);
    queue_.after(worker->plan.start_delay,
                 [this, agent = agent_, worker] { spawn(agent, worker); });
  }
}

inline void VirtualNode::stop(const core::StopWorkers& order) {
  if (!agent_ || !agent_->alive || agent_->deaf) return;
  if (!agent_->order || agent_->order->attempt != order.attempt) {
    if (agent_->anything_lives()) return;
    if (!agent_->order || agent_->order->attempt < order.attempt) agent_->stopped = order.attempt;
    return world_.say(id_, agent_->generation, core::WorkersGone{order.attempt, 0, {}, {}});
  }
  agent_->goes_on = order.reason == core::StopReason::kRestart;
  agent_->kill_at = std::min(agent_->kill_at, queue_.now() + order.grace);
  for (const auto& worker : agent_->workers) {
    if (worker->state == Worker::kPending) worker->state = Worker::kDead;
    worker->stopped = true;
    if (worker->state != Worker::kAlive || worker->plan.ignores_term) continue;
    const bool well = dice_.chance(0.3);
    queue_.after(dice_.between({}, milliseconds(500)),
                 [this, agent = agent_, worker, well, signal = order.signal] {
                   using Kind = base::ExitStatus::Kind;
                   end(agent, worker, well ? Kind::kExited : Kind::kSignaled, well ? 0 : signal);
                 });
  }
  queue_.at(agent_->kill_at, [this, agent = agent_] { kill_workers(agent); });
  say_if_gone(agent_);
}

}  // namespace robustrun::sim
