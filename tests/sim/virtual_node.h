#pragma once
// A node: agents that come and go, the workers below them, and their deaths.
//
// The agent here is naive on purpose: it does what it is told, also when that is wrong, so that a
// mistake of the core shows as a broken invariant.

#include <algorithm>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/core/types/actions.h"
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
    std::function<void(base::NodeId, base::Generation, const core::AgentLost&)> lost;
    std::function<void(base::NodeId, base::Attempt, base::Rank)> spawned;
    std::function<void()> disturbed;   // something happened that is not the script's fault
    std::function<bool(base::Attempt)> hangs;   // nobody gets anywhere
    std::function<Nanos(base::NodeId)> clock;   // what its clock shows
  };

  // All but `id` outlive it.
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
  // Its agent is told to end: it says so, and goes when its workers have.
  void depart();
  void lose_power(Nanos for_long) {
    world_.disturbed();
    down_until_ = std::max(down_until_, queue_.now() + for_long);
    if (agent_) die(agent_, "no power", false);
  }

  [[nodiscard]] bool has_power() const { return queue_.now() >= down_until_; }

  // Its connection broke. It has somebody to call, and can do so by now.
  [[nodiscard]] bool has_agent() const { return agent_ && agent_->alive && !agent_->mute; }
  [[nodiscard]] bool can_call() const { return has_agent() && agent_->ready; }
  // Who it is, and what it has reported of the attempt so far.
  void say_again();
  // It gives up, and its workers with it.
  void abandon(const char* why) {
    if (agent_) die(agent_, why);
  }
  // Of the supervisors that its agent has heard of, the newest.
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

  // What its agent started last; nullptr: nothing.
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
  // Copies of an attempt before this one.
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
    std::optional<base::Attempt> stopped;  // before it was started
    std::uint32_t accepted = 0;  // incarnation
    Nanos kill_at = Nanos::max();
    std::vector<std::shared_ptr<Worker>> workers;
    std::vector<core::EventBody> reports;  // of the newest attempt
    bool goes_on = false;  // with another attempt, said whoever stopped the newest
    bool is_gone = false;  // nothing of that is left, which was said
    base::Attempt saves_of;  // whose copies it saves until then
    Nanos saves_until{};
    std::optional<core::SavingOver> saved;  // the last such word
    // Or will soon.
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

}  // namespace robustrun::sim

#include "tests/sim/virtual_node_inl.h"
#include "tests/sim/virtual_node_orders.h"
