#pragma once
// A whole run in one process: the core, a driver with a journal, a network with bad days, and
// virtual nodes, under one virtual clock. One seed, one run.

#include <deque>
#include <map>

#include "tests/sim/coverage.h"
#include "tests/sim/fates.h"
#include "tests/sim/invariants.h"
#include "tests/sim/mutations.h"
#include "tests/sim/virtual_node.h"

namespace robustrun::sim {

struct Outcome {
  std::optional<Invariants::Violation> violation;
  std::uint64_t trace_hash = 0;
  std::optional<int> exit_code;
  std::uint32_t attempts = 0, supervisor_crashes = 0;
  std::size_t events = 0;
  std::set<core::Rule> rules;
  std::set<PolicyRow> rows;
  std::vector<Struck> struck;  // what went wrong, in order
  Nanos duration{};
};

class Cluster {
 public:
  // `allowed`: as Fates'.
  Cluster(const Scenario& scenario, Mutation mutation, bool print,
          const std::set<MishapId>* allowed = nullptr)
      : scenario_(scenario),
        mutation_(mutation),
        dice_(scenario.seed + 7),
        fates_(scenario.seed, allowed),
        coverage_(scenario.spec.policy),
        invariants_(scenario.spec),
        placer_(scenario.placement),
        trace_(print) {
    world_.say = [this](base::NodeId node, base::Generation generation, core::EventBody body) {
      transmit(from_[node.value],
               [this, node, generation, body = std::move(body)] { tell(node, generation, body); });
    };
    world_.lost = [this](base::NodeId node, base::Generation generation, core::EventBody body) {
      tell(node, generation, std::move(body));
    };
    world_.spawned = [this](base::NodeId node, base::Attempt attempt, base::Rank) {
      const VirtualNode& here = nodes_[node.value];
      invariants_.never_two_attempts_alive(here.runs_older_than(attempt), node, attempt);
      for (const VirtualNode& other : nodes_) {
        const bool counts = invariants_.groups().is_admitted(other.id());
        invariants_.never_two_attempts_alive(counts && other.runs_older_than(attempt), other.id(),
                                             attempt);
      }
    };
    world_.disturbed = [this] { invariants_.disturbed(); };
    for (std::size_t i = 0; i < scenario.spec.nodes.size(); ++i) add_node();
  }

  Outcome run() {
    core::RunStarted started;
    started.spec = scenario_.spec;
    started.seed = scenario_.seed;
    started.wall_time = seconds(1'700'000'000);
    if (mutation_ == Mutation::kGenerous) started.spec.restart.max_restarts += 3;
    if (mutation_ == Mutation::kShrinksTooFar) started.spec.group.min_nodes = 1;
    tell({}, {}, started);
    plan_orders();
    if (scenario_.flaps > 0 || scenario_.breaks > 0 || scenario_.node_ends > 0) {
      queue_.after(minutes(1), [this] { follow_health(); });
    }
    const auto over = [this] {
      return outcome_.exit_code ? queue_.now() > outcome_.duration + kAftermath
                                : queue_.now() > scenario_.latest_end;
    };
    while (!queue_.empty() && !invariants_.violation() && !over()) queue_.step();
    invariants_.every_run_ends(outcome_.exit_code.has_value());
    for (const VirtualNode& node : nodes_) {
      invariants_.nothing_outlives_the_run(outcome_.exit_code && node.anything_alive());
    }
    outcome_.violation = invariants_.violation();
    outcome_.trace_hash = trace_.hash();
    outcome_.events = journal_.size();
    outcome_.rules = invariants_.rules();
    outcome_.rows = coverage_.rows();
    outcome_.struck = fates_.struck();
    return outcome_;
  }

 private:
  static constexpr Nanos kAftermath = minutes(1);

  // One way to or from an agent. What happens there depends on no other's dice.
  struct Channel {
    std::uint32_t number = 0;  // as Mishap's
    Dice dice;
    Nanos last{};  // when its last message arrives
  };

  void add_node() {
    const base::NodeId id{static_cast<std::uint32_t>(nodes_.size())};
    const std::uint64_t seed = (scenario_.seed << 16U) + 4 * nodes_.size();
    from_.push_back({2 * id.value, Dice(seed + 1)});
    to_.push_back({2 * id.value + 1, Dice(seed + 2)});
    node_dice_.emplace_back(seed + 3);
    nodes_.emplace_back(id, queue_, node_dice_.back(), fates_, scenario_, world_);
  }

  [[nodiscard]] base::Generation newest_generation(base::NodeId node) const {
    return node.value < nodes_.size() ? nodes_[node.value].generation() : base::Generation{};
  }

  [[nodiscard]] bool strikes(Mishap what, std::uint32_t where = 0, double probability = 1) {
    return fates_.strikes(queue_.now(), what, where, probability);
  }

  void plan_orders();
  void transmit(Channel& channel, std::function<void()> deliver);
  // A channel belongs to one agent: what was on its way to a former one is lost with it.
  void order(base::NodeId node, std::function<void(VirtualNode&)> what) {
    VirtualNode& there = nodes_[node.value];
    transmit(to_[node.value], [&there, what = std::move(what), to = there.generation()] {
      if (there.generation() == to) what(there);
    });
  }

  void tell(base::NodeId node, base::Generation generation, core::EventBody body);
  void crash();
  void perform(const core::Action& action);
  void check_nodes(const core::CheckNodes& order);
  void replay_nodes(const core::ReplayNodes& order);
  void load_checkpoint(const core::StartWorkers& start);
  void tell_checkpoint(base::NodeId node, const core::CheckpointNoted& noted);
  void demote_checkpoint(const core::DemoteCheckpoint& order);
  void solve_backup(const core::SolveBackup& question);
  void place_copies(const core::PlaceCopies& order_of);
  void tell_copies(base::Attempt attempt);
  void save_held_copies(const core::SaveHeldCopies& order_of);
  void place_nodes(const core::SolvePlacement& question);
  void look_back(const core::LookBack& question);
  [[nodiscard]] core::Diagnosed look_at_pace(core::Diagnosed::Stage stage,
                                             std::uint64_t round) const;
  void stop_workers(const core::StopWorkers& stop);
  void arm(const core::SetTimer& timer);
  void follow_progress(base::Attempt attempt);
  void follow_health();
  const std::vector<WorkerPlan>& plans(const core::StartWorkers& start);
  void draw_plans(base::Attempt attempt, std::vector<WorkerPlan>& plans);
  void draw_victim(Dice& dice, std::vector<WorkerPlan>& plans);
  void follow_hang(base::Attempt attempt);

  const Scenario& scenario_;
  Mutation mutation_;
  EventQueue queue_;
  Dice dice_;
  Fates fates_;
  Coverage coverage_;
  Invariants invariants_;
  core::Placer placer_;
  Trace trace_;
  VirtualNode::World world_;
  std::deque<VirtualNode> nodes_;
  std::deque<Dice> node_dice_;
  std::deque<Channel> from_, to_;

  core::Job job_;
  std::vector<core::Event> journal_;
  std::vector<std::string> said_;                  // every action so far
  std::map<core::TimerId, std::uint64_t> armed_;   // newest sequence of each
  std::map<base::Attempt, std::vector<WorkerPlan>> plans_;
  base::Attempt followed_;
  std::uint32_t world_size_ = 0;   // of that attempt
  std::uint64_t steps_ = 0;
  std::uint64_t saved_ = 0;   // step of the newest checkpoint
  std::map<base::NodeId, core::PlaceCopies> copies_of_;  // that its agent was told last
  std::map<base::NodeId, base::Generation> copies_by_;  // and which agent that was
  std::uint64_t marked_ = 0;  // checkpoints that nobody starts from
  Outcome outcome_;
};

}  // namespace robustrun::sim

#include "tests/sim/cluster_answers.h"
#include "tests/sim/cluster_copies.h"
#include "tests/sim/cluster_driver.h"
#include "tests/sim/cluster_fate.h"
#include "tests/sim/cluster_mishaps.h"
