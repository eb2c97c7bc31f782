#pragma once
// The virtual cluster behind run_own(): machines, what strikes them, and how the core's orders are
// carried out. Internal to simulator/. Three files: own_run.cpp (the job's course), own_faults.cpp
// (what goes wrong), own_orders.cpp (what the core orders).

#include <array>
#include <optional>
#include <vector>

#include "simulator/own_run.h"
#include "simulator/stopwatch.h"
#include "simulator/virtual_time.h"
#include "supervisor/core/job/job.h"

namespace robustrun::simulator {

namespace core = supervisor;

// The trace begins this much after the launch: until then everything has started.
inline constexpr Nanos kLeadIn = hours(2);

class OwnCluster {
 public:
  OwnCluster(const OwnPolicy& own, const JobTerms& job, const std::vector<TracedFault>& trace,
             std::uint64_t seed, const AskCore& ask);
  Timeline run();

 private:
  struct Machine {
    base::NodeId node{};            // in the present run of the job, if `is_known`
    base::Generation generation{};  // of its agent
    bool is_known = false;
    bool is_away = false;   // dead, in maintenance or under repair
    bool joined = false;    // its agent is there, and the core would use it
    bool is_out = false;    // evicted, or its agent cannot be launched again by the core
    bool is_offer = false;  // came by itself: the core does not launch its agent again
    bool is_broken = false; // as `broken_as` says
    FaultKind broken_as = FaultKind::kGpu;
    Nanos repair{};         // what that takes
    Nanos back_at{};        // when it is away
    double slows = 1;
  };

  // own_run.cpp
  void begin_run();
  void tell(base::NodeId node, base::Generation generation, core::EventBody body);
  void tell(const Machine& machine, core::EventBody body);
  void tell(const core::Event& event);
  void follow_state();
  [[nodiscard]] Phase phase_of(core::JobState state) const;
  void all_started();
  void first_step();
  void run_ended();
  void report_progress();
  void later(Nanos delay, std::function<void()> what);  // unless the run has ended by then
  void in_attempt(Nanos delay, std::function<void()> what);  // unless it has ended by then
  [[nodiscard]] core::JobSpec spec() const;
  [[nodiscard]] std::uint32_t available() const;
  [[nodiscard]] bool workers_live() const;

  // own_faults.cpp
  void next_fault();
  [[nodiscard]] Machine* machine_of(const TracedFault& fault);
  void meet(const TracedFault& fault);
  void device_fails(Machine& machine, const TracedFault& fault);
  void machine_goes(Machine& machine, const TracedFault& fault);
  void hangs(Machine& machine);
  void slows_down(Machine& machine, const TracedFault& fault);
  void worker_dies(Machine& machine, Nanos after, core::WorkerExited left);
  void suspect_slow();
  void strike_again();  // machines of the new attempt that are still broken
  void stop_training();
  void update_pace();
  void send_away(Machine& machine, Nanos for_how_long);
  void comes_back(Machine& machine);
  [[nodiscard]] Machine* slow_machine();
  [[nodiscard]] bool in_group(const Machine& machine) const;
  [[nodiscard]] base::Rank rank_of(const Machine& machine) const;

  // own_orders.cpp
  void perform(const core::Action& action);
  void launch(const core::LaunchAgent& order);
  void start(const core::StartWorkers& order);
  void stop(const core::StopWorkers& order);
  void arm(const core::SetTimer& timer);
  void check(const core::CheckNodes& order);
  void replay(const core::ReplayNodes& order);
  void look_at_pace(const core::LookAtPace& order);
  void heed(const core::Decision& decision);
  void evicted(base::NodeId node);
  Machine& machine_of(base::NodeId node) { return machines_[machine_of_[node.value]]; }

  const OwnPolicy& own_;
  const JobTerms& terms_;
  const std::vector<TracedFault>& trace_;
  std::uint64_t seed_;
  const AskCore& ask_;
  VirtualTime time_;
  Stopwatch watch_;
  std::vector<Machine> machines_;
  std::size_t next_fault_ = 0;

  core::Job job_;
  std::vector<core::Action> actions_;  // of the event before: memory that is used again
  std::uint64_t run_ = 0;      // of the job: one more whenever it is started anew
  std::uint64_t course_ = 0;   // one more whenever what is under way of an attempt ends
  bool began_ = false;
  core::JobState shown_ = core::JobState::kIdle;
  std::vector<std::uint32_t> machine_of_;  // by node
  std::uint32_t joined_ = 0;   // machines with `joined`
  std::vector<base::NodeId> group_;   // by rank
  std::vector<base::NodeId> stopping_;
  bool saves_first_ = false;   // the stop under way
  bool is_hung_ = false;  // the attempt: who hangs does not obey
  bool is_cold_ = false;  // the restart: a machine was lost, and its standby workers with it
  bool is_fresh_ = false;  // the trouble: it is not the one before that strikes again
  bool residual_due_ = false;
  bool is_queued_ = false;  // the job, to be started anew
  base::Attempt attempt_;
  Nanos trains_since_{};
  std::array<std::uint64_t, core::kTimers> armed_{};
};

}  // namespace robustrun::simulator
