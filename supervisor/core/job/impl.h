#pragma once
// The machine behind Job: the handlers that the table in job.cpp names, in
// one file per phase. Internal to core/. Handlers run with `now` set and append to `out`; none
// calls another handler.

#include "supervisor/core/job/questions.h"
#include "supervisor/core/job/stimulus.h"

namespace robustrun::supervisor {

struct Job::Impl : JobQuestions {
  using Handler = void (Impl::*)(const Event&);
  base::Nanos now{};
  std::vector<Action> out;
  static Handler handler(JobState state, Stimulus stimulus);
  static Stimulus stimulus_of(const EventBody& body);
  [[nodiscard]] bool is_current(const Event& event) const;  // generation, attempt, timer, node
  void handle(const Event& event);
  void ignore(const Event&) {}
  // agents.cpp
  void agent_joined(const Event& event);
  void node_ending(const Event& event);
  void node_ending_working(const Event& event);  // starting or running
  void node_ending_stopping(const Event& event);
  bool note_leaving(const Event& event);
  [[nodiscard]] Fault departure(base::NodeId node) const;
  void report_departure(base::NodeId node);
  void see_off(const Event& event);
  void agent_lost_idle(const Event& event);  // no worker runs
  void agent_lost_waiting(const Event& event);  // in kBackoff
  void agent_lost_working(const Event& event);  // starting or running
  void agent_lost_stopping(const Event& event);
  void agent_lost_finishing(const Event& event);
  void nodes_timer(const Event& event);
  void launch(base::NodeId node);
  void launch_due();  // every lost node that is due for a retry
  void look_after_nodes();  // drops agents whose hello is overdue, then launch_due()
  void drop_agent(base::NodeId node, const std::string& why,
                  bool node_answers);  // with its workers
  [[nodiscard]] std::string loss_in_words(base::NodeId node, const std::string& why) const;
  void report_loss(base::NodeId node, std::string text);  // launches the agent again if it is due
  void arm_nodes_timer();
  // job_group.cpp
  void node_offered(const Event& event);
  void join_agents();  // → kJoining, or on at once
  void join_overdue(const Event& event);
  void consider_group();  // in kJoining: begins, waits, or gives up
  void form_group(const struct GroupChoice& choice, const PlacementSolved* why = nullptr);
  void form_in_order(GroupChoice choice);
  void explain_change(const GroupChoice& choice);
  void announce_group();
  void maybe_grow();  // in kRunning
  [[nodiscard]] bool may_begin(const GroupChoice& choice) const;
  void wait_for_more(const GroupChoice& choice);
  void arm_join_timer(std::size_t there, bool any_coming);
  // preflight.cpp
  void nodes_checked(const Event& event);
  [[nodiscard]] bool wants_check(const GroupChoice& choice) const;
  void check_spares();
  void spare_checked(const Event& event);  // after the first attempt has begun
  void check_overdue(const Event& event);
  void check_nodes();  // → kChecking
  void check_spare(base::NodeId node);
  void check_evicted(const std::vector<base::NodeId>& suspects);
  bool judge_evicted(const NodesChecked& result);
  [[nodiscard]] const char* check_name() const;
  [[nodiscard]] std::vector<NodeVerdict> judge_nodes(const NodesChecked& result);
  void leave_out_unfit(std::vector<NodeVerdict>& verdicts);
  void announce_findings(const std::vector<NodeVerdict>& verdicts);
  void end_check(std::vector<NodeVerdict> verdicts);
  // replay.cpp
  void nodes_replayed(const Event& event);
  void replay_overdue(const Event& event);
  void want_replay();
  bool begin_replay(const GroupChoice& choice);  // → kReplaying, or false
  void replay_wave();
  void go_on_after_replay();
  // placement.cpp
  void placement_solved(const Event& event);
  void placement_overdue(const Event& event);
  void ask_placement(const GroupChoice& choice);  // → kPlacing
  void reconsider_group();  // in kPlacing: nodes came or went
  void do_without_placement(GroupChoice choice, const std::string& why);
  // start.cpp
  void run_started(const Event& event);
  void port_reserved(const Event& event);
  void port_overdue(const Event& event);
  void worker_started(const Event& event);
  void start_failed(const Event& event);
  void start_overdue(const Event& event);
  void backoff_over(const Event& event);
  void begin_attempt();  // → kReserving, or on at once
  void start_workers();  // → kStarting
  void note_cold(const WorkerStarted& started);
  void check_all_started();  // → kRunning
  void setback(Rule rule, std::string text);  // an infrastructure fault while nothing runs
  void wait_before_restart(base::Nanos delay);
  void arm_backoff();
  void go_on_if_ready();  // from kBackoff
  // run.cpp
  void worker_exited(const Event& event);
  void workers_gone(const Event& event);
  void progress(const Event& event);
  void metric_alarm(const Event& event);
  void uptime(const Event& event);
  void note_progress();
  void arm_uptime_timer();
  bool note_seen(base::Rank rank);
  bool note_ended(base::Rank rank);  // false: known already
  bool note_gone(base::NodeId node, const WorkersGone& body);
  void worker_succeeded();
  // `note`: added to the decision's text.
  void succeed(const std::string& note = {}, std::vector<std::string> evidence = {});
  // update.cpp
  void update_requested(const Event& event);
  void restart_for_update(const std::string& why);
  void use_version();  // of the attempt that begins
  void note_version_works();
  void roll_back(std::string why);  // to the last version before the current one that worked
  // outage.cpp
  void worker_exited_stopping(const Event& event);
  void worker_exited_finishing(const Event& event);
  void start_failed_stopping(const Event& event);
  void workers_gone_stopping(const Event& event);
  void stop_overdue(const Event& event);
  void break_down(Fault fault, std::optional<LookBack> look_back = {});  // → kStopping
  void add_fault(Fault fault, bool explains_root = false);
  void conclude_if_gone();
  void give_up_by_policy(StepChoice last, std::vector<std::string> evidence);
  [[nodiscard]] OutageVerdict verdict() const;
  // early_end.cpp
  void note_ended_well(const WorkerExited& exited);
  bool blame_early_end(Fault& fault, const WorkerExited& exited) const;
  bool blame_early_end(Fault& fault, const tracer::Verdict& verdict) const;
  void name_operation(const tracer::Verdict& verdict);
  // hang.cpp
  void diagnosed(const Event& event);
  void suspect(const Diagnosed& what);
  void convict(const tracer::Verdict& verdict);
  void end_lingering(const tracer::Verdict& verdict);
  void looked_back(const Event& event);
  // slow.cpp
  std::string begin_vote(const Diagnosed& what);  // what is done now, in words; empty: nothing
  void hear_round(const Diagnosed& what);
  void slow_timer(const Event& event);
  void end_vote();
  void replace_slow();
  bool waits_for_copies();
  // health.cpp
  void node_health(const Event& event);
  void node_health_working(const Event& event);  // starting or running
  std::optional<Classification> take_note(const Event& event);
  bool must_go(NodeState& node, Classification& looks, std::vector<std::string>& why_not) const;
  std::size_t count_recent(std::vector<base::Nanos>& moments, base::Nanos within) const;
  // drain.cpp
  void note_drain(const Event& event);
  void hand_over(base::NodeId node);
  void leave_drained();  // before a restart
  // escalation.cpp
  void attribute();
  StepChoice next_step();
  void take_step(Step step);
  void evict(const std::vector<base::NodeId>& suspects, const Classification& looks);
  bool is_blamed_too_often();
  // readmit.cpp
  void retest_unfit();  // in kJoining, while nodes are waited for
  void readmit(base::NodeId node);
  // checkpoint.cpp
  void checkpoint_noted(const Event& event);
  void checkpoint_demoted(const Event& event);
  [[nodiscard]] bool may_blame_checkpoint() const;  // for the outage
  [[nodiscard]] bool blames_checkpoint() const;
  void judge_checkpoint();
  void end_demotion();  // without an answer
  // copies.cpp
  void backup_solved(const Event& event);
  void copies_kept(const Event& event);
  void held_copies_saved(const Event& event);
  void ask_backup();
  void begin_copies();  // of the attempt that begins
  void place_copies();
  void say_keepers();
  void save_held_copies();  // of nodes that are gone
  void order_saves_again();
  void copies_after_loss(base::NodeId node, bool waited);  // in kBackoff
  void say_saved();
  void end_saving();  // without an answer
  void saving_over(const Event& event);
  void tell_saved();  // workers that wait
  // end.cpp
  void end_signal(const Event& event);
  void end_signal_again(const Event& event);  // while the run is ending
  void user_signal(const Event& event);
  void time_limit(const Event& event);
  void step_goal(const Event& event);
  void workers_gone_finishing(const Event& event);
  void finish_overdue(const Event& event);
  void do_not_requeue(const Event& event);
  void give_up(std::string text, std::vector<std::string> evidence = {},
               std::optional<int> exit_code = {});  // none: the infrastructure's
  void end_run(Ending how, int signal, base::Nanos grace);  // a stop keeps its deadline
  void finish_if_gone();
  void finish();
  void send_stops(int signal, StopReason reason);
  [[nodiscard]] Ending ending_of(const SignalReceived& received) const;
  void arm_stop_timer();
  // resume.cpp
  void resumed(const Event& event);
  void resumed_finished(const Event& event);
  void adopt_nodes();
  void order_again();
  void arm_timers_again();
  void enter(JobState next);
  void set_timer(TimerId id, base::Nanos at);
  void decide(Rule rule, std::string text, std::vector<std::string> evidence = {},
              std::vector<std::string> alternatives = {}, std::optional<Classification> looks = {});
  // Of the decision just made.
  void note_answer(Answer answer, std::vector<PassedStep> passed = {});
  [[nodiscard]] FaultContext context(base::NodeId node) const;
};

}  // namespace robustrun::supervisor
