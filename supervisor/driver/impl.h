#pragma once
// The driver's members, only for its own .cpp files: driver.cpp (lifecycle and actions), nodes.cpp
// (reports of agents), connections.cpp (agents connect and reconnect), heartbeats.cpp (leases),
// slurm.cpp (notices of the scheduler), preflight.cpp (checks and replays), placement.cpp,
// copies.cpp (copies in memory), blocks.cpp (peers for blocks), hangs.cpp, resume.cpp (taking a run
// over), status.cpp (console, control socket, status), view.cpp (what `robustrun top` asks for).

#include <array>
#include <boost/asio/steady_timer.hpp>
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
#include "supervisor/driver/driver.h"
#include "supervisor/driver/spare_standbys.h"
#include "supervisor/group/group_replay.h"
#include "supervisor/group/preflight_check.h"
#include "supervisor/watch/checkpoint_watch.h"
#include "supervisor/watch/copies_watch.h"
#include "supervisor/watch/copy_rounds.h"
#include "supervisor/watch/group_wait_watch.h"
#include "supervisor/watch/hang_watch.h"
#include "supervisor/watch/line_news.h"
#include "supervisor/watch/node_link.h"
#include "supervisor/watch/observation.h"
#include "supervisor/watch/pace_looks.h"
#include "supervisor/watch/progress_tracker.h"
#include "supervisor/watch/step_rate.h"

namespace robustrun::supervisor {

namespace asio = boost::asio;

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
  // Begins the activities that last as long as the run.
  void attend();
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
  void note_group_wait();
  void tell_news(OutputNews& news) const;
  [[nodiscard]] ControlServer::Row until_finished(ControlServer::Row row) const;
  [[nodiscard]] Injector::Group reachable_group() const;

  // Actions.
  void perform(const Action& action);
  void launch_agent(const LaunchAgent& action);
  void adopt(const AdoptNode& action);
  void start_workers(const StartWorkers& action);
  void set_timer(const SetTimer& action);
  void announce(const Decision& decision);
  void form_group(const GroupFormed& group);
  void finish(int exit_code);
  void kill_agents();
  [[nodiscard]] bool all_agents_left() const;
  void say_goodbye();
  void send(base::NodeId node, const wire::Message& message);
  // Sends an order of an attempt, and repeats it if the agent has to reconnect.
  void order(base::NodeId node, const wire::Message& message);
  // Agents connect and reconnect.
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
  void signalled_by_slurm();  // we were, or an agent was
  void on_notice(const launcher::SlurmNotice& notice);
  void look_at_node_states();  // what Slurm plans for the nodes, now and again later
  void on_node_states(const base::Result<std::vector<launcher::SlurmNodeState>>& told);
  // Leases.
  void arm_lease_check();
  void check_leases();
  void check_lease(base::NodeId node);
  void suspect(base::NodeId node, const std::string& why);
  void lose(base::NodeId node, const std::string& why, bool node_answers);
  [[nodiscard]] bool peers_progress() const;
  void note_steps();
  // Checks, replays, placement, copies and blocks.
  void check_nodes(const CheckNodes& action);
  void on_checked(NodesChecked result);
  void show_verdicts(const NodesJudged& judged);
  void replay_nodes(const ReplayNodes& action);
  template <class Report>
  void pass_to_checks(base::NodeId node, Report& report);
  void solve_placement(const SolvePlacement& action);
  void solve_backup(const SolveBackup& action);
  void place_copies(const PlaceCopies& action);
  void begin_copy_round();
  void share_blocks(bool is_formed);
  void list_block_peers(std::size_t at_least);
  // Hangs.
  void watch_for_hangs();
  void watch_for_slow_ranks();
  // `evidence`: with stacks, which hangs are judged by. `done` gets null when the look had no
  // result.
  void look_at_workers(bool evidence, std::function<void(const tracer::Verdict*)> done);
  void begin_look(bool evidence);
  void analyze(tracer::FleetSnapshot fleet, wire::RasAnswer ras);
  [[nodiscard]] std::vector<tracer::RankSnapshot> unseen_ranks(
      const tracer::FleetSnapshot& fleet) const;
  void tell_waiters(const tracer::Verdict* verdict);
  [[nodiscard]] ControlServer::Row diagnosis_row();
  // What one rank uses, and a user's order to evict a node.
  void look_at_use(base::Rank rank, UseAnswer done);
  base::Status evict(const std::string& name);
  [[nodiscard]] Observation::Plan observation_of(wire::Observe question) const;
  void look_back(const LookBack& action);
  void look_at_pace(const LookAtPace& action);
  // Reports of agents.
  void on_message(base::NodeId node, base::Generation generation, wire::Message message);
  void on_report(base::NodeId node, const wire::Hello& hello);
  void on_report(base::NodeId node, const wire::Refused& refused);
  void on_report(base::NodeId node, wire::WorkerProgress& progress);
  void on_report(base::NodeId node, wire::WorkerExited& exited);
  void on_report(base::NodeId node, const wire::Notice& notice);
  void on_report(base::NodeId node, const wire::Heartbeat& heartbeat);
  void on_report(base::NodeId node, const wire::Bye& bye);
  void on_report(base::NodeId node, const wire::Injected& injected);
  void on_report(base::NodeId node, wire::NodeEnding& ending);
  void on_report(base::NodeId node, const wire::CollectiveProgress& report);
  void on_report(base::NodeId node, const wire::Overdue& report);
  void on_report(base::NodeId node, const wire::Observed& report);
  void on_report(base::NodeId node, wire::RasAnswer& answer);
  void on_report(base::NodeId node, wire::CheckpointNote& note);
  void on_report(base::NodeId node, const wire::CopiesKept& report);
  void on_report(base::NodeId node, const wire::NodeStages& report);
  void on_report(base::NodeId node, wire::StageNews& news);
  void on_report(base::NodeId node, const wire::CodeWanted& wanted);
  void on_report(base::NodeId node, const wire::StopRun& order);
  void tell(const std::vector<CheckpointWatch::News>& news);
  void note_clock(NodeLink& link, base::Nanos theirs) const;
  [[nodiscard]] bool is_shown(base::Rank rank) const;
  [[nodiscard]] bool rank_of(base::NodeId node, base::LocalRank local_rank, base::Rank* rank) const;
  static void pause(NodeLink& link);
  void resume(NodeLink& link);
  void journal(const JournalEntry& entry), note_journal(const base::Status& written);
  void arm_summary();
  [[nodiscard]] const std::string& node_name(base::NodeId node) const;
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
  std::vector<NodeLink> nodes_;  // by NodeId; grows as volunteers come
  std::vector<std::string> names_;  // of them
  std::map<std::uint64_t, std::shared_ptr<PreflightCheck>> checks_;  // under way, by number
  std::shared_ptr<GroupReplay> replay_;  // under way, or null
  NodesChecked newest_check_;  // with check_only: what the verdicts are about
  HangWatch hang_watch_;
  std::shared_ptr<Observation> look_, last_look_;  // under way, the other for LookBack; or null
  std::vector<std::shared_ptr<Observation>> use_looks_;  // under way
  PaceLooks pace_looks_;
  struct LookWaiter {
    bool evidence = false;
    std::function<void(const tracer::Verdict*)> done;
  };
  std::vector<LookWaiter> look_waiters_;
  bool look_has_evidence_ = false;  // of the look under way
  std::uint64_t looks_begun_ = 0, lease_checks_ = 0;
  // By the furthest rank, over all its communicators; none: no rank of the attempt has reported
  // any.
  std::optional<std::uint64_t> collectives_done_;
  ProgressTracker progress_;
  LineNews line_news_;
  GroupWaitWatch group_wait_watch_;
  CheckpointWatch checkpoints_;
  CopiesWatch copies_;
  CopyRounds copy_rounds_;
  std::optional<wire::BlockPeers> block_peers_;  // the list that was sent last
  std::optional<base::Nanos> blocks_since_;  // when the first node for the list joined
  SpareStandbys spare_standbys_;
  StatusFold status_;
  StepRate speed_;
  std::deque<Event> queue_;
  bool handling_ = false, step_goal_sent_ = false;
  std::optional<base::Attempt> started_attempt_;  // the attempt whose workers were ordered to start
  bool up_ = false;  // all workers of an attempt have run at the same time
  std::string end_line_;  // of a run that went well
  bool finished_ = false, said_goodbye_ = false, node_ends_said_ = false, journal_failed_ = false;
  bool slurm_asked_ = false;  // Slurm was asked, and has not denied that it signalled
  int exit_code_ = 0;
  std::array<asio::steady_timer, kTimers> timers_;  // by TimerId
  std::uint64_t furthest_ = 0;  // steps of the furthest rank, when last looked at
  base::Nanos stepped_at_{};  // when they last rose
  asio::steady_timer summary_timer_, lease_timer_, live_timer_, shutdown_timer_, copies_timer_,
      blocks_timer_, slurm_timer_;
  bool slurm_is_silent_ = false;  // it did not tell the nodes' states, which was logged
};

}  // namespace robustrun::supervisor
