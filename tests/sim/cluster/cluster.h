#pragma once
// A whole run in one process: the core, a driver with a journal, an unreliable network, and virtual
// nodes, under one virtual clock. One seed, one run.

#include <deque>
#include <map>
#include <memory>
#include <span>

#include "supervisor/core/report/report.h"
#include "supervisor/watch/hang_watch.h"
#include "tests/sim/disks.h"
#include "tests/sim/former.h"
#include "tests/sim/line.h"
#include "tests/sim/mutations.h"
#include "tests/sim/operator.h"
#include "tests/sim/outcome.h"
#include "tests/sim/watch/watches.h"

namespace robustrun::sim {

class Cluster {
 public:
  // `allowed`: see Fates.
  Cluster(const Scenario& scenario, Mutation mutation, bool print,
          const std::set<MishapId>* allowed = nullptr)
      : scenario_(scenario),
        mutation_(mutation),
        dice_(scenario.seed + 7),
        fates_(scenario.seed, allowed, scenario.calm_from),
        coverage_(scenario.spec.policy),
        invariants_(scenario.spec),
        watches_(scenario, mutation),
        placer_(scenario.placement),
        trace_(print) {
    wire_up();
    for (std::size_t i = 0; i < scenario.spec.nodes.size(); ++i) add_node();
  }

  Outcome run();

 private:
  static constexpr Nanos kAftermath = minutes(1);
  // An agent's latest order about copies, and the agent; `number` counts such orders.
  struct ToldCopies {
    core::PlaceCopies order;
    base::Generation by;
    std::uint64_t number = 0;
  };

  void wire_up();
  void add_node();
  [[nodiscard]] base::Generation newest_generation(base::NodeId node) const {
    return node.value < nodes_.size() ? nodes_[node.value].generation() : base::Generation{};
  }

  [[nodiscard]] bool strikes(Mishap what, std::uint32_t where = 0, double probability = 1) {
    return fates_.strikes(queue_.now(), what, where, probability);
  }

  void plan_orders();
  void type_commands();
  void type(const Command& command);
  void plan_troubles();
  void offer(const core::NodeSpec& spec);
  void transmit(Channel& channel, std::function<void()> deliver);
  void connect(base::NodeId node);
  void break_line(base::NodeId node);
  void call_again(base::NodeId node, base::Generation generation, Nanos delay);
  void expect_again(base::NodeId node, Nanos patience);
  void notice_loss(base::NodeId node, base::Generation generation, const core::AgentLost& how);
  void lose(base::NodeId node, base::Generation generation, const core::AgentLost& how);
  void hear(base::NodeId node, base::Generation generation, core::EventBody body);
  void speak(base::NodeId node, base::Generation generation, core::EventBody body);
  void repeat_orders(base::NodeId node);
  void order(base::NodeId node, Link::Order what);
  void order_for_good(base::NodeId node, Link::Order what);
  // Done by this supervisor, unless it dies before.
  void later(Nanos delay, std::function<void()> what) {
    queue_.after(delay, [this, by = incarnation_, what = std::move(what)] {
      if (by == incarnation_ && !is_down_) what();
    });
  }

  void tell(base::NodeId node, base::Generation generation, core::EventBody body);
  void watch(const core::Event& event, bool is_past);
  void watch(Nanos now, const std::vector<core::Action>& actions);
  void check_calm();
  void write(core::JournalEntry entry);
  void carry_out(const std::vector<core::Action>& actions, std::optional<std::size_t> dies_at);
  void crash(std::span<const core::Action> undone = {});
  bool live_on(std::span<const core::Action> undone);
  void leave_half_open(base::NodeId node);
  void tell_former(const std::shared_ptr<Former>& former, const core::Event& event);
  void obey_former(const core::Action& action);
  void order_by_former(base::NodeId node, const std::string& words, Link::Order what);
  void save_for_former(const core::StartWorkers& order, std::optional<Disks::Writer> writer,
                       std::uint64_t step);
  [[nodiscard]] bool is_of_another_supervisor(base::NodeId node, base::Generation generation,
                                              const core::EventBody& body) const;
  void check_order_of(const core::Event& event);
  void check_fold();
  void take_over();
  void adopt(const core::AdoptNode& known);
  void finish(int exit_code);
  void launch(const core::LaunchAgent& order_of);
  void begin_workers(const core::StartWorkers& start);
  void perform(const core::Action& action);
  void check_nodes(const core::CheckNodes& order);
  void replay_nodes(const core::ReplayNodes& order);
  [[nodiscard]] bool has_disks() const { return scenario_.seed % 2 != 0; }
  std::uint64_t wall_clock(std::uint32_t place);
  void plan_disk_troubles();
  void begin_to_load(const core::StartWorkers& start);
  void end_wait_to_load(const core::StartWorkers& order_of);
  void load_checkpoint(const core::StartWorkers& start);
  std::optional<Disks::Writer> claim(const ckpt::Session& session);
  void check_admission(const ckpt::Session& session);
  void begin_session();
  std::optional<core::CheckpointId> save_checkpoint(base::Attempt attempt);
  void prune_checkpoints();
  void tell_checkpoint(base::NodeId node, const core::CheckpointNoted& noted);
  void demote_checkpoint(const core::DemoteCheckpoint& order);
  void solve_backup(const core::SolveBackup& question);
  void place_copies(const core::PlaceCopies& order_of);
  void tell_copies(base::Attempt attempt);
  void save_held_copies(const core::SaveHeldCopies& order_of);
  void place_nodes(const core::SolvePlacement& question);
  void look_back(const core::LookBack& question);
  core::Diagnosed look_at_pace(core::Diagnosed::Stage stage, std::uint64_t round);
  void stop_workers(const core::StopWorkers& stop);
  void arm(const core::SetTimer& timer);
  void follow_progress(base::Attempt attempt);
  void follow_health();
  const std::vector<WorkerPlan>& plans(const core::StartWorkers& start);
  void draw_plans(base::Attempt attempt, std::vector<WorkerPlan>& plans);
  void draw_victim(Dice& dice, std::vector<WorkerPlan>& plans);
  void follow_hang(base::Attempt attempt);
  void begin_hang(base::Attempt attempt, Dice& dice);
  void watch_hang(base::Attempt attempt);
  tracer::FleetSnapshot look_at_workers(base::Attempt attempt, const std::optional<Hang>& hang);
  void judge(const tracer::FleetSnapshot& fleet, base::Attempt attempt);

  const Scenario& scenario_;
  Mutation mutation_;
  EventQueue queue_;
  Dice dice_;
  Fates fates_;
  Coverage coverage_;
  Invariants invariants_;
  Watches watches_;
  core::Placer placer_;
  Trace trace_;
  VirtualNode::World world_;
  std::deque<VirtualNode> nodes_;
  std::deque<Dice> node_dice_;
  std::deque<Channel> from_, to_;
  std::deque<Line> lines_;
  std::deque<NodeClock> clocks_;

  std::uint32_t incarnation_ = 1;  // of supervisors
  bool is_down_ = false, dies_now_ = false;  // the supervisor; it dies at this record
  bool is_new_ = false;  // it has not reported progress yet
  std::shared_ptr<Former> former_;  // the previous supervisor, if it lives on
  core::Job job_;
  std::deque<Link> links_;
  std::vector<core::JournalEntry> journal_;
  std::vector<std::string> said_;  // every action so far
  std::map<core::TimerId, std::uint64_t> armed_;  // newest sequence of each
  std::map<base::Attempt, std::vector<WorkerPlan>> plans_;
  std::optional<Hang> hang_;
  core::HangWatch hang_watch_{core::HangPolicy{}, core::Policy{}.hang_still};
  base::Attempt followed_;
  std::uint32_t world_size_ = 0;  // of that attempt
  std::uint64_t steps_ = 0, saved_ = 0;  // saved_: saved or loaded last
  std::map<base::NodeId, ToldCopies> told_copies_;  // newest of each
  Disks disks_{mutation_};
  std::optional<core::StartWorkers> waits_to_load_;  // whose workers wait to load
  ckpt::Session session_;  // of the newest attempt
  std::optional<Disks::Writer> writer_;  // of that session, once it has claimed
  std::pair<std::uint64_t, std::uint64_t>
      admitted_;  // newest admitted session: incarnation and attempt
  std::uint64_t copy_orders_ = 0, saves_ = 0;  // given orders, committed saves
  Outcome outcome_;
};

}  // namespace robustrun::sim

#include "tests/sim/cluster/answers.h"
#include "tests/sim/cluster/copies.h"
#include "tests/sim/cluster/disks.h"
#include "tests/sim/cluster/driver.h"
#include "tests/sim/cluster/fate.h"
#include "tests/sim/cluster/former.h"
#include "tests/sim/cluster/life.h"
#include "tests/sim/cluster/looks.h"
#include "tests/sim/cluster/mishaps.h"
#include "tests/sim/cluster/network.h"
#include "tests/sim/cluster/operator.h"
#include "tests/sim/cluster/takeover.h"
#include "tests/sim/cluster/watch.h"
