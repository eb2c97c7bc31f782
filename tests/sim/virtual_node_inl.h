#pragma once
// Life and death on a virtual node: the private half of virtual_node.h.

#include <csignal>
#include <string>
#include <utility>

#include "tests/sim/virtual_node.h"

namespace robustrun::sim {

inline std::vector<base::Rank> VirtualNode::ranks_alive(base::Attempt attempt) const {
  std::vector<base::Rank> ranks;
  if (!agent_) return ranks;
  for (const auto& worker : agent_->workers) {
    if (worker->state == Worker::kAlive && worker->attempt == attempt) {
      ranks.push_back(worker->rank);
    }
  }
  return ranks;
}

inline void VirtualNode::launch(base::Generation generation) {
  if (agent_ && agent_->generation >= generation) return;  // told twice
  kill_agent();
  agent_ = std::make_shared<Agent>();
  agent_->generation = generation;
  const auto agent = agent_;
  if (queue_.now() < down_until_) {
    world_.disturbed();
    return die(agent, "no route to host", false);
  }
  // Strays of a former agent are gone by then: an agent looks for them before it says hello.
  const Nanos hello = dice_.between(kStrayLifeMax + milliseconds(5), milliseconds(800));
  if (strikes(Mishap::kCannotStart, scenario_.cannot_start)) {
    world_.disturbed();
    queue_.after(hello, [this, agent] { die(agent, "cannot be started"); });
  } else if (strikes(Mishap::kNeverJoins, scenario_.never_joins)) {
    world_.disturbed();
    agent->mute = true;
  } else {
    queue_.after(hello, [this, agent] {
      agent->ready = true;
      if (agent->alive) say_hello();
    });
  }
  if (strikes(Mishap::kAgentDies, scenario_.dies)) {
    later([this, agent] {
      if (agent->alive) world_.disturbed();
      die(agent, "killed by SIGKILL");
    });
  }
  if (strikes(Mishap::kMachineDies, scenario_.machine_dies)) {
    later([this, agent] {
      if (!agent->alive) return;
      world_.disturbed();
      down_until_ =
          dice_.chance(0.3) ? Nanos::max() : queue_.now() + dice_.between(seconds(1), minutes(10));
      die(agent, "no power", false);
    });
  }
  if (strikes(Mishap::kCutOff, scenario_.cut_off)) later([this, agent] { cut_off(agent); });
  agent_->deaf = strikes(Mishap::kDeaf, scenario_.deaf);
}

inline void VirtualNode::spawn(const AgentPtr& agent, const WorkerPtr& worker) {
  if (worker->state != Worker::kPending || !agent->alive) return;
  if (worker->plan.start_errno != 0) {
    worker->state = Worker::kDead;
    report(agent, core::WorkerStartFailed{worker->attempt, worker->rank, worker->plan.start_errno,
                                          "exec"});
    return say_if_gone(agent);
  }
  worker->state = Worker::kAlive;
  ++alive_[worker->attempt];
  world_.spawned(id_, worker->attempt, worker->rank);
  report(agent, core::WorkerStarted{worker->attempt, worker->rank, 2, false, worker->ordered_by});
  live(agent, worker, worker->plan.life);
}

inline void VirtualNode::live(const AgentPtr& agent, const WorkerPtr& worker, Nanos for_long) {
  queue_.after(for_long, [this, agent, worker] {
    const bool is_there = worker->state == Worker::kAlive;
    if (is_there && world_.hangs(worker->attempt)) return live(agent, worker, seconds(5));
    end(agent, worker, worker->plan.end.kind, worker->plan.end.code);
  });
}

inline void VirtualNode::end(const AgentPtr& agent, const WorkerPtr& worker,
                             base::ExitStatus::Kind kind, int code) {
  if (worker->state != Worker::kAlive) return;
  forget(worker);
  if (!agent->alive) return;
  core::WorkerExited exited = worker->plan.end;
  exited.attempt = worker->attempt;
  exited.rank = worker->rank;
  exited.kind = kind;
  exited.code = code;
  exited.stopped_by_us = worker->stopped;
  exited.traced = worker->rank.value % 2 == 0;
  exited.seen_at = world_.clock(id_);
  if (exited.error_timestamp_s != 0) {
    exited.error_timestamp_s += std::chrono::duration_cast<seconds>(world_.clock(id_)).count();
  }
  if (worker->stopped) exited.shim_lost = false;
  report(agent, exited);
  say_if_gone(agent);
}

inline void VirtualNode::kill_workers(const AgentPtr& agent) {
  if (!agent->alive || queue_.now() < agent->kill_at) return;
  const std::vector<WorkerPtr> workers = agent->workers;
  for (const WorkerPtr& worker : workers) {
    if (worker->state == Worker::kAlive && worker->plan.unkillable) {
      forget(worker);
      worker->state = Worker::kStuck;
    } else {
      end(agent, worker, base::ExitStatus::Kind::kSignaled, SIGKILL);
    }
  }
  say_if_gone(agent);
}

inline void VirtualNode::say_if_gone(const AgentPtr& agent) {
  core::WorkersGone gone;
  for (const WorkerPtr& worker : agent->workers) {
    if (worker->state == Worker::kPending || worker->state == Worker::kAlive) return;
    if (worker->state == Worker::kStuck) {
      gone.unkillable.push_back("rank " + std::to_string(worker->rank.value));
    }
  }
  gone.attempt = agent->order->attempt;
  gone.saving = saves_copies(agent);
  report(agent, gone);
  if (agent->leaves) die(agent, "left");
}

// While the next attempt begins, if there is one.
inline bool VirtualNode::saves_copies(const AgentPtr& agent) {
  const bool is_first = !std::exchange(agent->is_gone, true);
  auto dice = fates_.draw(queue_.now(), Mishap::kSavesLong, id_.value,
                          is_first && agent->goes_on ? 0.25 : 0);
  if (dice) {
    const Nanos until = queue_.now() + dice->between({}, seconds(45));
    agent->saves_until = std::max(agent->saves_until, until);
    queue_.at(until, [this, agent] {
      if (!agent->alive || queue_.now() < agent->saves_until) return;
      agent->saved = core::SavingOver{agent->saves_of, 0};
      world_.say(id_, agent->generation, *agent->saved);
    });
  }
  if (queue_.now() >= agent->saves_until) return false;
  agent->saves_of = agent->order->attempt;
  return true;
}

inline void VirtualNode::forget(const WorkerPtr& worker) {
  worker->state = Worker::kDead;
  if (--alive_[worker->attempt] == 0) alive_.erase(worker->attempt);
}

// Some time in an agent's life, often soon.
inline void VirtualNode::later(std::function<void()> what) {
  queue_.after(dice_.chance(0.3) ? dice_.between({}, seconds(3)) : dice_.between({}, minutes(40)),
               std::move(what));
}

// The supervisor gives it up; it goes on for a while and says what it has to say.
inline void VirtualNode::cut_off(const AgentPtr& agent) {
  if (!agent->alive) return;
  world_.disturbed();
  agent->cut_off = true;
  world_.lost(id_, agent->generation, core::AgentLost{"said nothing", dice_.chance(0.5)});
  queue_.after(dice_.between({}, kOrphanGrace), [this, agent] { die(agent, "gave up"); });
}

inline void VirtualNode::die(const AgentPtr& agent, const char* why, bool node_answers) {
  if (!agent->alive) return;
  agent->alive = false;
  for (const WorkerPtr& worker : agent->workers) {
    queue_.after(dice_.between({}, kStrayLifeMax), [this, worker] {
      if (worker->state == Worker::kAlive) forget(worker);
    });
  }
  const Nanos noticed = dice_.chance(0.8) ? dice_.between(milliseconds(1), milliseconds(50))
                                          : dice_.between(milliseconds(1), seconds(10));
  queue_.after(noticed, [this, generation = agent->generation, why, node_answers] {
    world_.lost(id_, generation, core::AgentLost{why, node_answers});
  });
}

inline void VirtualNode::kill_agent() {
  if (agent_) die(agent_, "killed by its supervisor");
}

}  // namespace robustrun::sim
