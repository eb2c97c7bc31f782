#pragma once
// A node with its successive agents, their workers, and their deaths.
//
// The agent is naive on purpose: it obeys even wrong orders, so that a mistake of the core breaks
// an invariant.

#include <algorithm>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "supervisor/core/types/actions.h"
#include "tests/sim/fates.h"
#include "tests/sim/scenario.h"

namespace robustrun::sim {

namespace core = supervisor;

// The life of one worker if it is not stopped.
struct WorkerPlan {
  Nanos start_delay{};
  int start_errno = 0;
  Nanos life{};
  core::WorkerExited end;
  bool ignores_term = false, unkillable = false;
};

class VirtualNode {
 public:
  // The node's surroundings. Messages of `say` may be lost; `lost` is the launcher's report.
  struct World {
    std::function<void(base::NodeId, base::Generation, core::EventBody)> say;
    std::function<void(base::NodeId, base::Generation, const core::AgentLost&)> lost;
    std::function<void(base::NodeId, base::Attempt, base::Rank)> spawned;
    std::function<void()> disturbed;   // something other than the script's fault happened
    std::function<bool(base::Attempt)> hangs;   // no worker makes progress
    std::function<Nanos(base::NodeId)> clock;   // what its clock shows
  };

  // All arguments but `id` must outlive this.
  VirtualNode(base::NodeId id, EventQueue& queue, Dice& dice, Fates& fates,
              const Scenario& scenario, const World& world)
      : id_(id), queue_(queue), dice_(dice), fates_(fates), scenario_(scenario), world_(world) {}

  void launch(base::Generation generation);

  // Orders of the supervisor.
  void reserve_port(base::Attempt attempt);
  void start(const core::StartWorkers& order, const std::vector<WorkerPlan>& plans);
  void stop(const core::StopWorkers& order);

  // `robustrun inject`: a worker of the newest attempt is killed, or the agent.
  void kill_worker(base::Rank rank) {
    if (!agent_) return;
    for (const auto& worker : agent_->workers) {
      if (worker->rank == rank) end(agent_, worker, base::ExitStatus::Kind::kSignaled, SIGKILL);
    }
  }
  void kill_agent_process() {
    if (agent_) die(agent_, "killed by SIGKILL");
  }
  // Its agent is told to end: it reports that, and exits after its workers.
  void depart();
  void lose_power(Nanos for_long) {
    world_.disturbed();
    down_until_ = std::max(down_until_, queue_.now() + for_long);
    if (agent_) die(agent_, "no power", false);
  }

  [[nodiscard]] bool has_power() const { return queue_.now() >= down_until_; }

  // After a broken connection: there is an agent that can reconnect.
  [[nodiscard]] bool has_agent() const { return agent_ && agent_->alive && !agent_->mute; }
  [[nodiscard]] bool can_call() const { return has_agent() && agent_->ready; }
  // Repeats its hello and all its reports of the attempt.
  void say_again();
  // The agent and its workers give up.
  void abandon(const char* why) {
    if (agent_) die(agent_, why);
  }
  // Incarnation of the newest supervisor that its agent has accepted.
  [[nodiscard]] std::uint32_t accepted() const { return agent_ ? agent_->accepted : 0; }
  void accept(std::uint32_t incarnation);
  static constexpr Nanos kOrphanGrace = seconds(30);

  void dismiss() {
    if (agent_ && !agent_->cut_off) kill_agent();
  }

  [[nodiscard]] base::NodeId id() const { return id_; }
  [[nodiscard]] base::Generation generation() const {
    return agent_ ? agent_->generation : base::Generation{};
  }

  // The last start order of its agent; nullptr: none.
  [[nodiscard]] const core::StartWorkers* order() const {
    return agent_ && agent_->order ? &*agent_->order : nullptr;
  }
  [[nodiscard]] bool anything_alive() const { return !alive_.empty(); }
  [[nodiscard]] std::uint32_t alive(base::Attempt attempt) const {
    const auto found = alive_.find(attempt);
    return found == alive_.end() ? 0 : found->second;
  }
  [[nodiscard]] std::vector<base::Rank> ranks_alive(base::Attempt attempt) const;
  [[nodiscard]] bool runs(base::Attempt attempt, base::Rank rank) const {
    const std::vector<base::Rank> ranks = ranks_alive(attempt);
    return std::ranges::find(ranks, rank) != ranks.end();
  }
  // Whether it still saves copies of an attempt before this one.
  [[nodiscard]] bool saves_for(base::Attempt attempt) const {
    return agent_ && agent_->alive && queue_.now() < agent_->saves_until &&
           agent_->saves_of < attempt;
  }
  [[nodiscard]] bool runs_older_than(base::Attempt attempt) const {
    return !alive_.empty() && alive_.begin()->first < attempt;
  }

 private:
  static constexpr Nanos kStrayLifeMax = milliseconds(50);

  struct Worker {
    enum State : std::uint8_t { kPending, kAlive, kStuck, kDead };
    base::Attempt attempt;
    base::Rank rank;
    std::uint32_t ordered_by = 0;
    WorkerPlan plan;
    State state = kPending;
    bool stopped = false;
  };
  struct Agent {
    base::Generation generation;
    bool alive = true, deaf = false, cut_off = false;
    bool ready = false, mute = false;  // has said hello; never does
    bool leaves = false;
    std::optional<core::StartWorkers> order;  // newest
    std::optional<base::Attempt> stopped;  // stopped before it was started
    std::uint32_t accepted = 0;  // incarnation
    Nanos kill_at = Nanos::max();
    std::vector<std::shared_ptr<Worker>> workers;
    std::vector<core::EventBody> reports;  // of the newest attempt
    bool goes_on = false;  // another attempt follows, according to the stop order
    bool is_gone = false;  // WorkersGone was reported for the newest attempt
    base::Attempt saves_of;  // attempt whose copies it is saving
    Nanos saves_until{};
    std::optional<core::SavingOver> saved;  // its last such report
    // Now or soon.
    [[nodiscard]] bool anything_lives() const {
      return std::ranges::any_of(workers, [](const auto& worker) {
        return worker->state == Worker::kPending || worker->state == Worker::kAlive;
      });
    }
  };
  using AgentPtr = std::shared_ptr<Agent>;
  using WorkerPtr = std::shared_ptr<Worker>;

  [[nodiscard]] bool strikes(Mishap what, double probability) {
    return fates_.strikes(queue_.now(), what, id_.value, probability);
  }
  void say_hello() {
    const std::string bulk = scenario_.keeps_copies ? "peer:7" : "";
    world_.say(id_, agent_->generation, core::AgentJoined{1, {}, 0, {}, bulk});
  }
  void report(const AgentPtr& agent, core::EventBody what) {
    agent->reports.push_back(what);
    world_.say(id_, agent->generation, std::move(what));
  }
  void spawn(const AgentPtr& agent, const WorkerPtr& worker);
  void live(const AgentPtr& agent, const WorkerPtr& worker, Nanos for_long);
  void end(const AgentPtr& agent, const WorkerPtr& worker, base::ExitStatus::Kind kind, int code);
  void kill_workers(const AgentPtr& agent);
  void say_if_gone(const AgentPtr& agent);
  bool saves_copies(const AgentPtr& agent);
  void forget(const WorkerPtr& worker);
  void die(const AgentPtr& agent, const char* why, bool node_answers = true);
  void cut_off(const AgentPtr& agent);
  void later(std::function<void()> what);
  void kill_agent();

  base::NodeId id_;
  EventQueue& queue_;
  Dice& dice_;
  Fates& fates_;
  const Scenario& scenario_;
  const World& world_;
  AgentPtr agent_;
  std::map<base::Attempt, std::uint32_t> alive_;
  Nanos down_until_{};
  std::uint32_t next_port_ = 0;
};

// ---- Life and death

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
  if (agent_ && agent_->generation >= generation) return;  // a repeated order
  kill_agent();
  agent_ = std::make_shared<Agent>();
  agent_->generation = generation;
  const auto agent = agent_;
  if (queue_.now() < down_until_) {
    world_.disturbed();
    return die(agent, "no route to host", false);
  }
  // Strays of a former agent are gone by then: an agent removes them before it says hello.
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

// At some time in an agent's life, often soon.
inline void VirtualNode::later(std::function<void()> what) {
  queue_.after(dice_.chance(0.3) ? dice_.between({}, seconds(3)) : dice_.between({}, minutes(40)),
               std::move(what));
}

// The supervisor gives it up; it goes on for a while and keeps reporting.
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

// ---- Orders

inline void VirtualNode::accept(std::uint32_t incarnation) {
  if (!agent_ || agent_->accepted >= incarnation) return;
  agent_->accepted = incarnation;
  agent_->stopped.reset();  // by another supervisor, whose attempts may be numbered higher
}

inline void VirtualNode::depart() {
  if (!can_call() || agent_->leaves) return;
  world_.disturbed();
  agent_->leaves = true;
  world_.say(id_, agent_->generation, core::NodeEnding{"its agent got SIGTERM", SIGTERM});
  if (!agent_->anything_lives()) return die(agent_, "left");
  // The report may have been lost.
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
  // Within a connection no start comes after its stop.
  if (agent_->stopped && order.attempt <= *agent_->stopped) return;
  if (const core::StartWorkers* had = agent_->order ? &*agent_->order : nullptr) {
    const auto when = [](const auto& one) { return std::pair(one.ordered_by, one.attempt); };
    if (when(order) <= when(*had)) return;
    // A real agent starts nothing while workers live. The core must not rely on that, except for
    // workers of another supervisor, which it cannot know.
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
