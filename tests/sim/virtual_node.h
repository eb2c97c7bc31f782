#pragma once
// A node: agents that come and go, the workers below them, and their deaths.
//
// The agent here is naive on purpose: it does what it is told, also when that is wrong, so that a
// mistake of the core shows as a broken invariant.

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "supervisor/core/actions.h"
#include "tests/sim/fates.h"
#include "tests/sim/scenario.h"

namespace robustrun::sim {

namespace core = supervisor;

// How one worker's life goes if nobody stops it.
struct WorkerPlan {
  Nanos start_delay{};
  int start_errno = 0;
  Nanos life{};
  core::WorkerExited end;
  bool ignores_term = false, unkillable = false;
};

class VirtualNode {
 public:
  // What the node tells the world. `say` may be lost on its way, `lost` is the launcher's word.
  struct World {
    std::function<void(base::NodeId, base::Generation, core::EventBody)> say;
    std::function<void(base::NodeId, base::Generation, core::EventBody)> lost;
    std::function<void(base::NodeId, base::Attempt, base::Rank)> spawned;
    std::function<void()> disturbed;   // something happened that is not the script's fault
  };

  // All but `id` outlive it.
  VirtualNode(base::NodeId id, EventQueue& queue, Dice& dice, Fates& fates,
              const Scenario& scenario, const World& world)
      : id_(id), queue_(queue), dice_(dice), fates_(fates), scenario_(scenario), world_(world) {}

  void launch(base::Generation generation);

  void reserve_port(base::Attempt attempt) {
    if (!agent_ || !agent_->alive) return;
    const bool fails = strikes(Mishap::kNoPort, scenario_.port_fails);
    if (fails) world_.disturbed();
    world_.say(id_, agent_->generation,
               core::PortReserved{attempt, fails ? 0 : 20000 + next_port_++, "none free"});
  }

  void start(const core::StartWorkers& order, const std::vector<WorkerPlan>& plans) {
    if (!agent_ || !agent_->alive) return;
    if (agent_->newest >= static_cast<std::int64_t>(order.attempt.value)) return;
    agent_->newest = order.attempt.value;
    agent_->kill_at = Nanos::max();
    agent_->workers.clear();
    for (const core::Assignment& place : order.workers) {
      auto worker = std::make_shared<Worker>();
      worker->attempt = order.attempt;
      worker->rank = place.rank;
      worker->plan = plans[place.rank.value];
      agent_->workers.push_back(worker);
      queue_.after(worker->plan.start_delay,
                   [this, agent = agent_, worker] { spawn(agent, worker); });
    }
  }

  void stop(const core::StopWorkers& order) {
    if (!agent_ || !agent_->alive || agent_->deaf) return;
    if (agent_->newest > static_cast<std::int64_t>(order.attempt.value)) return;
    if (agent_->newest < static_cast<std::int64_t>(order.attempt.value)) {
      agent_->newest = order.attempt.value;  // its start order is refused, should it still come
      agent_->workers.clear();
    }
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

  void dismiss() {
    if (agent_ && !agent_->cut_off) kill_agent();
  }

  [[nodiscard]] base::NodeId id() const { return id_; }
  [[nodiscard]] base::Generation generation() const {
    return agent_ ? agent_->generation : base::Generation{};
  }

  [[nodiscard]] bool anything_alive() const { return !alive_.empty(); }
  [[nodiscard]] std::uint32_t alive(base::Attempt attempt) const {
    const auto found = alive_.find(attempt);
    return found == alive_.end() ? 0 : found->second;
  }
  [[nodiscard]] bool runs_older_than(base::Attempt attempt) const {
    return !alive_.empty() && alive_.begin()->first < attempt;
  }

 private:
  static constexpr Nanos kStrayLifeMax = milliseconds(50);
  static constexpr Nanos kOrphanGrace = seconds(30);

  struct Worker {
    enum State : std::uint8_t { kPending, kAlive, kStuck, kDead };
    base::Attempt attempt;
    base::Rank rank;
    WorkerPlan plan;
    State state = kPending;
    bool stopped = false;
  };
  struct Agent {
    base::Generation generation;
    bool alive = true, deaf = false, cut_off = false;
    std::int64_t newest = -1;   // attempt
    Nanos kill_at = Nanos::max();
    std::vector<std::shared_ptr<Worker>> workers;
  };
  using AgentPtr = std::shared_ptr<Agent>;
  using WorkerPtr = std::shared_ptr<Worker>;

  [[nodiscard]] bool strikes(Mishap what, double probability) {
    return fates_.strikes(queue_.now(), what, id_.value, probability);
  }
  void spawn(const AgentPtr& agent, const WorkerPtr& worker);
  void end(const AgentPtr& agent, const WorkerPtr& worker, base::ExitStatus::Kind kind, int code);
  void kill_workers(const AgentPtr& agent);
  void say_if_gone(const AgentPtr& agent);
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

}  // namespace robustrun::sim

#include "tests/sim/virtual_node_inl.h"
