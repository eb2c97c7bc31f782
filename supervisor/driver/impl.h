#pragma once
// The driver itself, only for its own .cpp files: driver.cpp (lifecycle and actions), nodes.cpp
// (reports of agents), connections.cpp (agents connect and reconnect), resume.cpp (taking a run
// over), status.cpp (console, control socket, status). What has a state of its own is a part with
// its own header.

#include <array>
#include <deque>
#include <map>

#include "supervisor/console/console_log.h"
#include "supervisor/console/output_hub.h"
#include "supervisor/control/injector.h"
#include "supervisor/control/operation_rows.h"
#include "supervisor/control/server.h"
#include "supervisor/control/view_rows.h"
#include "supervisor/core/job/job.h"
#include "supervisor/driver/agent_listener.h"
#include "supervisor/driver/block_sharing.h"
#include "supervisor/driver/copy_orders.h"
#include "supervisor/driver/driver.h"
#include "supervisor/driver/hangs.h"
#include "supervisor/driver/job_end.h"
#include "supervisor/driver/leases.h"
#include "supervisor/driver/loop_timer.h"
#include "supervisor/driver/node_checks.h"
#include "supervisor/driver/node_table.h"
#include "supervisor/driver/replacements.h"
#include "supervisor/driver/slurm_side.h"
#include "supervisor/driver/spare_standbys.h"
#include "supervisor/driver/worker_looks.h"
#include "supervisor/group/node_racks.h"
#include "supervisor/watch/checkpoint_watch.h"
#include "supervisor/watch/group_wait_watch.h"
#include "supervisor/watch/line_news.h"
#include "supervisor/watch/progress_tracker.h"
#include "supervisor/watch/step_rate.h"

namespace robustrun::supervisor {

class Driver::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(Parts parts, const RunRequest& request, std::function<void(int)> on_finished);
  base::Status open_listener(const RunAuthority* before);
  [[nodiscard]] std::optional<RunAuthority> authority() const;
  void record_to(Journal journal) { journal_.emplace(std::move(journal)); }
  void log_console_to(ConsoleLog& log) { console_log_ = &log; }
  void publish_to(Outlets& outlets) { outlets_ = &outlets; }
  void start();
  void resume(Folded folded);
  void close();
  void dispatch(EventBody body, base::NodeId node = {});
  void signal_received(int signal, bool forward_only);

 private:
  // Begins the activities that last as long as the run, whose start was at `since` (Unix time).
  void attend(base::Nanos since);
  // For `robustrun inject`, status, stop and attach.
  void open_control();
  void open_console();
  void introduce() const;
  void show_live();
  void note_shown(bool is_stderr, std::string_view bytes);
  [[nodiscard]] RunStatus status() const;
  [[nodiscard]] NodeStatus node_status(NodeStatus known, const NodeLink& link) const;
  void note_stage(const NodeLink& link, NodeStatus& known) const;
  void note_steps_of_ranks(RunStatus& status) const;
  [[nodiscard]] bool is_up_or_starting() const;
  [[nodiscard]] JobEnd::Hands job_end_hands();
  void note_group_wait();
  void tell_news(OutputNews& news) const;
  [[nodiscard]] ControlServer::Row until_finished(ControlServer::Row row) const;
  [[nodiscard]] Injector::Group reachable_group() const;
  [[nodiscard]] base::Status evict(const std::string& name);
  void write_verdicts(const NodesJudged& judged);

  // Actions of the core, one by one: an action without an overload does not compile.
  void perform(const LaunchAgent& action);
  void perform(const ReservePort& action);
  void perform(const StartWorkers& action);
  void perform(const StopWorkers& action);
  void perform(const ForwardSignal& action);
  void perform(const DismissAgent& action);
  void perform(const SetTimer& action);
  void perform(const Decision& decision);
  void perform(const GroupFormed& group);
  void perform(const Finish& action);
  void perform(const AdoptNode& action);
  void perform(const CheckNodes& action) { checks_.check(action); }
  void perform(const NodesJudged& judged) { write_verdicts(judged); }
  void perform(const SolvePlacement& action);
  void perform(const LookBack& action);
  void perform(const LookAtPace& action) { hangs_.look_at_pace(action); }
  void perform(const ReplayNodes& action) { checks_.replay(action, job_.attempt()); }
  void perform(const DemoteCheckpoint& action);
  void perform(const SolveBackup& action);
  void perform(const PlaceCopies& action) { copies_.place(action); }
  void perform(const SaveHeldCopies& action);
  void announce(const Decision& decision);
  void show_group(const GroupFormed& group) const;
  void end_parts();
  void kill_agents();
  [[nodiscard]] bool all_agents_left() const;
  void say_goodbye();
  // Agents connect and reconnect.
  void expect_agents();
  void look_up_host(std::size_t index);
  void on_channel(base::NodeId node, base::Generation generation, base::Fd socket);
  void on_agent(const wire::PeerName& peer, wire::Hello hello,
                std::shared_ptr<wire::Channel> channel);
  base::Result<std::pair<base::NodeId, base::Generation>> take_volunteer(
      const wire::Enrol& enrol, const wire::ConnectionAddresses& addresses);
  [[nodiscard]] wire::Channel::Handlers handlers_for(base::NodeId node,
                                                     base::Generation generation);
  void on_broken(base::NodeId node, const std::string& why);
  void on_launcher_lost(base::NodeId node, const launcher::AgentEnd& end);
  void repeat_orders(base::NodeId node);
  void on_stop(const wire::StopRun& order);
  [[nodiscard]] wire::Welcome welcome_for(base::NodeId node) const;
  void lose(base::NodeId node, const std::string& why, bool node_answers);
  void beat(base::NodeId node, std::uint64_t number);
  [[nodiscard]] bool peers_progress() const;
  void note_steps();
  // Reports of agents, one by one: a report without an overload does not compile.
  void on_message(base::NodeId node, base::Generation generation, wire::Message message);
  void on_report(base::NodeId node, const wire::Hello& hello);
  void on_report(base::NodeId node, const wire::Refused& refused);
  void on_report(base::NodeId node, const wire::Output& output);
  void on_report(base::NodeId node, const wire::WorkerStarted& started);
  void on_report(base::NodeId node, const wire::WorkerStartFailed& failed);
  void on_report(base::NodeId node, wire::PortReserved& report);
  void on_report(base::NodeId node, wire::WorkersGone& report);
  void on_report(base::NodeId node, const wire::SavingOver& report);
  void on_report(base::NodeId node, wire::WorkerProgress& progress);
  void on_report(base::NodeId node, wire::WorkerExited& exited);
  void on_report(base::NodeId node, const wire::Notice& notice);
  void on_report(base::NodeId node, const wire::Heartbeat& heartbeat);
  void on_report(base::NodeId node, const wire::Bye& bye);
  void on_report(base::NodeId node, const wire::Injected& injected);
  void on_report(base::NodeId node, wire::NodeEnding& ending);
  void on_report(base::NodeId node, wire::NodeHealth& report);
  void on_report(base::NodeId node, wire::CheckpointNote& note);
  void on_report(base::NodeId node, wire::CheckpointDemoted& report);
  void on_report(base::NodeId node, wire::CheckpointMoved& report);
  void on_report(base::NodeId node, wire::HeldCopiesSaved& report);
  void on_report(base::NodeId node, const wire::NodeStages& report);
  void on_report(base::NodeId node, wire::StageNews& news);
  void on_report(base::NodeId node, const wire::StopRun& order);
  // Our first signal was also sent to a worker's parent or an agent, which was faster.
  [[nodiscard]] bool was_relayed(int signal);
  void on_report(base::NodeId node, const wire::StandbyModules& report);
  void tell(const std::vector<CheckpointWatch::News>& news);
  void note_clock(NodeLink& link, base::Nanos theirs) const;
  [[nodiscard]] bool is_shown(base::Rank rank) const;
  static void pause(NodeLink& link);
  void resume(NodeLink& link);
  void journal(const JournalEntry& entry), note_journal(const base::Status& written);
  void arm_summary();
  // The newest progress of the group, for the journal; none: nothing has changed.
  [[nodiscard]] std::optional<Progress> summary();
  Parts parts_;
  std::optional<Journal> journal_;
  const RunRequest& request_;
  std::function<void(int)> on_finished_;
  Job job_;
  std::unique_ptr<Console> console_;
  std::unique_ptr<Injector> injector_;
  std::unique_ptr<OutputHub> hub_;
  std::unique_ptr<ControlServer> control_;  // null: no other command can reach the run
  ConsoleLog* console_log_ = nullptr;  // null: the console is the caller's
  Outlets* outlets_ = nullptr;  // null: the run has none
  std::unique_ptr<AgentListener> agent_listener_;  // null: all agents are on this machine
  NodeTable nodes_;
  NodeRacks racks_;
  ProgressTracker progress_;
  LineNews line_news_;
  GroupWaitWatch group_wait_watch_;
  CheckpointWatch checkpoints_;
  SpareStandbys spare_standbys_;
  CopyOrders copies_;
  BlockSharing blocks_;
  NodeChecks checks_;
  WorkerLooks looks_;
  Hangs hangs_;
  SlurmSide slurm_;
  JobEnd job_end_;
  Replacements replacements_;
  Leases leases_;
  StatusFold status_;
  SaveTimes save_times_;
  StepRate speed_;
  std::deque<Event> queue_;
  bool handling_ = false, step_goal_sent_ = false;
  std::optional<base::Attempt> started_attempt_;  // the attempt whose workers were ordered to start
  // Start of a run that was taken over, until we order workers: theirs is not known.
  std::optional<base::Nanos> taken_over_since_;
  bool up_ = false;  // all workers of an attempt have run at the same time
  std::string end_line_;  // of a run that went well
  bool finished_ = false, said_goodbye_ = false, node_ends_said_ = false, journal_failed_ = false;
  int exit_code_ = 0;
  std::array<LoopTimer, kTimers> timers_;  // by TimerId
  std::uint64_t furthest_ = 0;  // steps of the furthest rank, when last looked at
  base::Nanos stepped_at_{};  // when they last rose
  int relayed_signal_ = 0;  // the last one passed on to us that stopped the run; 0: none
  base::Nanos relayed_at_{};
  bool was_signalled_ = false;  // ourselves, to end
  LoopTimer summary_timer_, live_timer_, shutdown_timer_;
};

}  // namespace robustrun::supervisor
