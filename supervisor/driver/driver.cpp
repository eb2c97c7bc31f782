#include "supervisor/driver/driver.h"

#include <unistd.h>

#include <array>
#include <cstdint>
#include <deque>
#include <type_traits>
#include <utility>

#include "base/io/fd.h"
#include "base/io/log.h"
#include "base/io/timer.h"
#include "supervisor/agents/connections.h"
#include "supervisor/agents/leases.h"
#include "supervisor/agents/node_table.h"
#include "supervisor/console/run_console.h"
#include "supervisor/control/file.h"
#include "supervisor/core/job/job.h"
#include "supervisor/core/report/pace.h"
#include "supervisor/core/status/live_line.h"
#include "supervisor/core/types/exit_code.h"
#include "supervisor/driver/agent_reports.h"
#include "supervisor/driver/block_sharing.h"
#include "supervisor/driver/copy_orders.h"
#include "supervisor/driver/end_signals.h"
#include "supervisor/driver/group_progress.h"
#include "supervisor/driver/hangs.h"
#include "supervisor/driver/job_end.h"
#include "supervisor/driver/node_checks.h"
#include "supervisor/driver/replacements.h"
#include "supervisor/driver/run_control.h"
#include "supervisor/driver/run_end.h"
#include "supervisor/driver/run_record.h"
#include "supervisor/driver/slurm_side.h"
#include "supervisor/driver/status_view.h"
#include "supervisor/driver/worker_looks.h"
#include "supervisor/driver/worker_orders.h"
#include "supervisor/group/placer.h"
#include "supervisor/limits.h"

namespace robustrun::supervisor {
namespace {

// A successor must know of these, even after a loss of power: that an attempt began, and that
// another supervisor took over.
bool is_irrevocable(const Action& action) {
  return std::holds_alternative<StartWorkers>(action) || std::holds_alternative<AdoptNode>(action);
}

// What only a supervisor sends, and what opens a connection before there is an agent.
template <class T, class... Others>
inline constexpr bool kIsOneOf = (std::is_same_v<T, Others> || ...);
template <class T>
inline constexpr bool kIsOrder =
    kIsOneOf<T, wire::Welcome, wire::ReservePort, wire::StartWorkers, wire::StopWorkers,
             wire::SignalWorkers, wire::Dismiss, wire::Enrol, wire::Enrolled, wire::Inject,
             wire::CheckNode, wire::ReachPeers, wire::MeasurePeers, wire::EndCheck, wire::Observe,
             wire::ReplayNode, wire::EndReplay, wire::KeepStandbys, wire::DemoteCheckpoint,
             wire::PlaceCopies, wire::SaveHeldCopies, wire::CopyRound, wire::BlockPeers,
             wire::CodeBlock>;

// Gives a report to the first part that takes it.
template <class Report, class Part, class... Others>
void deliver(base::NodeId node, Report& report, Part& part, Others&... others) {
  if constexpr (requires { part.on_report(node, report); }) {
    part.on_report(node, report);
  } else {
    static_assert(sizeof...(others) > 0, "no part takes this report");
    deliver(node, report, others...);
  }
}

JobEnd::Settings job_end_settings(const RunRequest& request) {
  const NetworkPlan& network = request.network;
  const bool is_slurm = network.launch == NetworkPlan::Launch::kSlurm;
  return {is_slurm ? network.slurm.job : network.batch.id,
          is_slurm ? network.slurm.poll : network.batch.poll, request.spec.deadlines.shutdown_grace,
          kJobEndPatience, is_slurm ? "Slurm" : std::string(to_string(network.batch.system))};
}

}  // namespace

class Driver::Impl {
 public:
  Impl(Parts parts, const RunRequest& request, std::function<void(int)> on_finished);

  base::Status open_listener(const RunAuthority* before);
  void start();
  void resume(Folded folded);
  // Reports of agents that no part takes.
  void on_report(base::NodeId node, const wire::Output& output);
  void on_report(base::NodeId node, const wire::Refused& refused);

  // Used by Driver's functions of the same names.
  RunRecord& record() { return record_; }
  RunConsole& console() { return console_; }
  EndSignals& signals() { return signals_; }
  [[nodiscard]] const AgentConnections& connections() const { return connections_; }
  [[nodiscard]] bool has_stepped_down() const { return has_stepped_down_; }

 private:
  using Sink = std::function<void(EventBody, base::NodeId)>;
  [[nodiscard]] Sink sink() {
    return [this](EventBody event, base::NodeId node) { dispatch(std::move(event), node); };
  }
  // For an answer that may come after the run's end, or after ours.
  template <class Answer>
  [[nodiscard]] std::function<void(Answer)> later() {
    return [this, alive = std::weak_ptr(alive_)](Answer answer) {
      if (!alive.expired() && !end_.is_over()) dispatch(std::move(answer));
    };
  }
  [[nodiscard]] std::function<base::Attempt()> attempt() const {
    return [this] { return job_.attempt(); };
  }
  [[nodiscard]] std::function<bool()> is_running() const {
    return [this] { return job_.state() == JobState::kRunning; };
  }
  [[nodiscard]] bool is_ending() const {
    return job_.state() == JobState::kFinishing || end_.is_over();
  }
  [[nodiscard]] bool peers_progress() const;
  [[nodiscard]] JobEnd::Hands job_end_hands();
  [[nodiscard]] Leases::Hands lease_hands();
  [[nodiscard]] AgentConnections::Hands connection_hands();
  [[nodiscard]] RunControl::Hands control_hands();
  [[nodiscard]] RunEnd::Hands end_hands(std::function<void(int)> on_finished);

  // Begins the activities that last as long as the run, whose start was at `since` (Unix time).
  void attend(base::Nanos since);
  void end_parts();
  void begin_attempt(const StartWorkers& first, base::Nanos began);
  void dispatch(EventBody body, base::NodeId node = {});
  void deliver_report(base::NodeId node, wire::Message message);
  void on_connected(base::NodeId node, bool is_again);
  void on_lost(base::NodeId node, AgentLost lost);

  // Actions of the core, one by one: an action without an overload does not compile.
  void perform(const LaunchAgent& action) { connections_.perform(action); }
  void perform(const AdoptNode& action) { connections_.perform(action); }
  void perform(const ReservePort& action) { orders_.perform(action); }
  void perform(const StartWorkers& action);
  void perform(const StopWorkers& action) { orders_.perform(action); }
  void perform(const ForwardSignal& action) { orders_.perform(action); }
  void perform(const DismissAgent& action) { orders_.perform(action); }
  void perform(const DemoteCheckpoint& action) { orders_.perform(action); }
  void perform(const SaveHeldCopies& action) { orders_.perform(action); }
  void perform(const PlaceCopies& action) { copies_.place(action); }
  void perform(const CheckNodes& action) { checks_.check(action); }
  void perform(const ReplayNodes& action) { checks_.replay(action, job_.attempt()); }
  void perform(const NodesJudged& judged);
  void perform(const LookAtPace& action) { hangs_.look_at_pace(action); }
  void perform(const LookBack& action);
  void perform(const SolvePlacement& action);
  void perform(const SolveBackup& action);
  void perform(const SetTimer& action);
  void perform(const Decision& decision);
  void perform(const GroupFormed& group);
  void perform(const Finish& action);

  const Parts parts_;
  const RunRequest& request_;
  Job job_;
  std::deque<Event> queue_;
  bool handling_ = false;
  std::optional<base::Rank> exited_;  // whose end is being handled
  bool has_stepped_down_ = false;
  NodeTable nodes_;
  RunRecord record_;
  RunEnd end_;
  RunConsole console_;
  GroupProgress progress_;
  CopyOrders copies_;
  BlockSharing blocks_;
  NodeChecks checks_;
  WorkerLooks looks_;
  Hangs hangs_;
  SlurmSide slurm_;
  JobEnd job_end_;
  Replacements replacements_;
  EndSignals signals_;
  WorkerOrders orders_;
  AgentConnections connections_;
  AgentReports reports_;
  Leases leases_;
  StatusView status_;
  RunControl control_;
  std::array<base::Timer, kTimers> timers_;  // by TimerId
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

Driver::Impl::Impl(Parts parts, const RunRequest& request, std::function<void(int)> on_finished)
    : parts_(std::move(parts)),
      request_(request),
      nodes_(request.spec.nodes),
      end_(parts_.executor, {}, end_hands(std::move(on_finished))),
      console_(parts_.executor, request,
               {[this] {
                  nodes_.each([this](base::NodeId node, const NodeLink&) {
                    nodes_.resume(node, parts_.clock.now());
                  });
                },
                [this] { return live_line(status_.status()); }}),
      progress_(parts_.executor, parts_.clock, nodes_, request.spec.stop_after_steps,
                !request.workers.metrics.empty() || !request.workers.line_formats.empty(),
                {attempt(), [this] { return hangs_.bandwidth().total(); }, sink()}),
      copies_(parts_.executor, parts_.clock, nodes_, {request.network.copies_rate, sink()}),
      blocks_(parts_.executor, parts_.clock, nodes_,
              {request.workers.share_blocks && has_remote_agents(request), request.spec.group.open,
               request.network.peers_rate,
               request.workers.code ? parts_.read_code : decltype(parts_.read_code)()}),
      checks_(
          parts_.executor, parts_.clock, nodes_,
          {[this](NodesChecked result) { dispatch(std::move(result)); },
           [this](NodesReplayed result) { dispatch(std::move(result)); }, request.replay_command}),
      looks_(parts_.executor, nodes_,
             {attempt(), is_running(), request.placement.parallel, parts_.analyze,
              parts_.analyze_failed}),
      hangs_(parts_.clock, nodes_, looks_,
             {request.hangs, request.spec.policy.hang_still, request.workers.trace},
             {attempt(), is_running(), [this] { return progress_.readings().furthest(); },
              [this] { progress_.journal_steps(); },
              [this](Diagnosed diagnosed) { dispatch(std::move(diagnosed)); }}),
      slurm_(parts_.executor, nodes_, request.network.slurm.poll,
             {parts_.ask_slurm, parts_.ask_node_states,
              [this](SignalReceived received) { dispatch(std::move(received)); },
              [this](base::Nanos end) { return job_end_.timed_save(end); },
              [this](base::Nanos end) { return job_end_.time_to_save(end); },
              [this](base::NodeId node) { return job_.drained(node); }, sink()}),
      job_end_(parts_.executor, parts_.clock, job_end_settings(request), job_end_hands()),
      replacements_(
          parts_.executor, parts_.clock, nodes_,
          {request.spec.group.replace, request.spec.group.max_nodes, request.network.slurm.poll},
          {parts_.order_replacements, [this](base::NodeId node) { return job_.works(node); },
           [this] { return is_ending(); }}),
      signals_(parts_.clock, nodes_, slurm_, {request.end_signals, request.batch_signals},
               {[this] { return is_ending(); }, [this] { return end_.is_over(); },
                [this](base::NodeId node) {
                  return request_.spec.group.replace > 0 &&
                         node.value >= request_.spec.nodes.size();
                },
                [this](base::NodeId node) { return job_.is_ending(node); }, sink()}),
      orders_(
          parts_.clock, request, nodes_,
          {[this](const StartWorkers& first, base::Nanos began) { begin_attempt(first, began); },
           sink()}),
      connections_(parts_.executor, parts_.clock, {request, job_, nodes_, parts_.launcher},
                   connection_hands()),
      reports_(job_, nodes_, progress_, request.workers.trace,
               {sink(), [this](base::NodeId node) { connections_.lose(node, {kUsedByAnother}); },
                [this] { hangs_.note_ended(); },
                [this](base::NodeId node, const wire::PortReserved& report) {
                  return checks_.takes_port(node, report);
                }}),
      leases_(parts_.executor, parts_.clock, request.network.lease, nodes_, lease_hands()),
      status_(parts_.clock, {request, job_, record_, nodes_, progress_, hangs_.bandwidth()}),
      control_(parts_.executor, {request, job_, nodes_, looks_, console_.hub()}, control_hands()),
      timers_{base::Timer(parts_.executor), base::Timer(parts_.executor),
              base::Timer(parts_.executor), base::Timer(parts_.executor),
              base::Timer(parts_.executor), base::Timer(parts_.executor)} {
  if (has_remote_agents(request)) nodes_.keep_orders();
}

JobEnd::Hands Driver::Impl::job_end_hands() {
  JobEnd::Hands hands;
  hands.ask_end = parts_.ask_job_end;
  hands.longest_saves = [this] { return record_.longest_saves(); };
  hands.step_time = [this] { return step_time(record_.status().steps_per_second()); };
  hands.is_ending = [this] { return is_ending(); };
  hands.on_save = [this](SignalReceived received) {
    slurm_.note_end();
    dispatch(std::move(received));
  };
  return hands;
}

AgentConnections::Hands Driver::Impl::connection_hands() {
  AgentConnections::Hands hands;
  hands.on_event = sink();
  hands.on_message = [this](base::NodeId node, wire::Message message) {
    deliver_report(node, std::move(message));
  };
  hands.on_connected = [this](base::NodeId node, bool is_again) { on_connected(node, is_again); };
  hands.on_broken = [this](base::NodeId node, const std::string& why) {
    leases_.suspect(node, why);
  };
  hands.on_lost = [this](base::NodeId node, AgentLost lost) { on_lost(node, std::move(lost)); };
  hands.on_left = [this] { end_.on_agent_left(); };
  return hands;
}

Leases::Hands Driver::Impl::lease_hands() {
  Leases::Hands hands;
  hands.lose = [this](base::NodeId node, const std::string& why, bool node_answers) {
    connections_.lose(node, {why, node_answers});
  };
  hands.probe = [this](base::NodeId node, std::function<void(bool)> done) {
    parts_.launcher.probe(node, std::move(done));
  };
  // A volunteer has no second channel.
  hands.has_probe = [this](base::NodeId node) { return node.value < request_.spec.nodes.size(); };
  hands.peers_progress = [this] { return peers_progress(); };
  hands.on_check = [this] {
    progress_.watch();
    status_.watch_group_wait();
    hangs_.watch();
  };
  hands.beat = [this](base::NodeId node, std::uint64_t number) {
    connections_.beat(node, number);
    if (job_.state() == JobState::kRunning) orders_.prepare_spare(node);
  };
  return hands;
}

RunControl::Hands Driver::Impl::control_hands() {
  RunControl::Hands hands;
  hands.status = [this] { return status_.status(); };
  hands.tell = [this](OutputNews& news) {
    news.state = to_string(job_.state());
    news.up = record_.was_up();
    if (news.output.ended) news.exit_code = end_.exit_code();
  };
  hands.is_over = [this] { return end_.is_over(); };
  hands.on_event = sink();
  return hands;
}

RunEnd::Hands Driver::Impl::end_hands(std::function<void(int)> on_finished) {
  RunEnd::Hands hands;
  hands.are_agents_gone = [this] { return connections_.have_left(); };
  hands.kill_agents = [this] { parts_.launcher.kill_all(); };
  // Watchers of the console see the end, too.
  hands.flush = [this](std::function<void()> done) {
    console_.stop_live();
    record_.end_outlets([this, alive = std::weak_ptr(alive_), done = std::move(done)] {
      if (!alive.expired()) console_.end(done);
    });
  };
  hands.on_finished = std::move(on_finished);
  return hands;
}

// Steps that were done before the silence are still reported for a moment after its start. So what
// counts is that the furthest rank went on lately; and when a group is being stopped, nothing does.
bool Driver::Impl::peers_progress() const {
  const auto stepped_at = progress_.stepped_at();
  return job_.state() == JobState::kRunning && stepped_at &&
         parts_.clock.now() - *stepped_at < request_.network.lease.suspect_after;
}

base::Status Driver::Impl::open_listener(const RunAuthority* before) {
  return connections_.listen(
      {parts_.look_up, [this](const wire::StopRun& order) { signals_.on_stop(order); }, before});
}

void Driver::Impl::start() {
  console_.open(parts_.out_fd, parts_.err_fd);
  console_.introduce(parts_.clock);
  console_.show_live();
  RunStarted started;
  started.spec = request_.spec;
  started.spec.placement = placement_use(request_.placement);
  started.wall_time = parts_.clock.wall_time();
  started.seed = base::system_seed();
  started.version = ROBUSTRUN_VERSION;
  const base::Nanos since = started.wall_time;
  dispatch(std::move(started));
  attend(since);
}

// What the agents and orders of the other supervisor were is known from its journal.
void Driver::Impl::resume(Folded folded) {
  console_.open(parts_.out_fd, parts_.err_fd);
  orders_.take_over(folded.started);
  record_.take_over(folded);
  job_ = std::move(folded.job);
  for (const NodeStatus& node : record_.status().status(parts_.clock.now()).nodes) {
    if (!node.address.empty()) connections_.expect(node.address);
  }
  SupervisorResumed resumed;
  resumed.incarnation = job_.incarnation() + 1;
  resumed.host = this_host();
  resumed.pid = ::getpid();
  resumed.wall_time = parts_.clock.wall_time();
  resumed.away = parts_.clock.now() - folded.last;
  dispatch(std::move(resumed));
  if (!end_.is_over()) attend(folded.run.wall_time);
}

void Driver::Impl::attend(base::Nanos since) {
  progress_.begin();
  leases_.begin();
  control_.open();
  slurm_.watch_nodes();
  job_end_.begin(since);
  replacements_.begin();
  if (parts_.read_earlier_saves) {
    parts_.read_earlier_saves([this, alive = std::weak_ptr(alive_)](const SaveTimes& earlier) {
      if (!alive.expired()) record_.add_saves(earlier);
    });
  }
  record_.begin_outlets([this] { return status_.status(); });
}

// The run is over: nothing is reported to the core any more.
void Driver::Impl::end_parts() {
  leases_.end();
  progress_.end();
  slurm_.end();
  job_end_.end();
  replacements_.end();
  blocks_.end();
  copies_.end();
  looks_.end();
  connections_.end();
}

void Driver::Impl::dispatch(EventBody body, base::NodeId node) {
  Event event;
  event.at = parts_.clock.now();
  event.node = node;
  event.generation = nodes_.has(node) ? nodes_[node].generation : base::Generation{};
  event.body = std::move(body);
  queue_.push_back(std::move(event));
  if (handling_) return;  // an action below caused it; the loop that is running takes it
  handling_ = true;
  while (!queue_.empty() && !end_.is_over()) {
    const Event next = std::move(queue_.front());
    queue_.pop_front();
    record_.write({next.at, next});
    const auto* exited = std::get_if<WorkerExited>(&next.body);
    exited_ = exited == nullptr ? std::nullopt : std::optional(exited->rank);
    bool is_settled = false;
    for (const Action& action : job_.handle(next)) {
      if (!is_settled && is_irrevocable(action)) {
        record_.sync();
        is_settled = true;
      }
      std::visit([this](const auto& what) { perform(what); }, action);
    }
    record_.take(job_.state(), parts_.clock.now());
  }
  handling_ = false;
}

void Driver::Impl::deliver_report(base::NodeId node, wire::Message message) {
  std::visit(
      [&](auto& report) {
        // An order would be one of ours, and never comes back.
        if constexpr (!kIsOrder<std::decay_t<decltype(report)>>) {
          deliver(node, report, reports_, progress_, connections_, signals_, hangs_, looks_,
                  checks_, copies_, blocks_, orders_, control_, *this);
        }
      },
      message);
}

void Driver::Impl::on_report(base::NodeId node, const wire::Output& output) {
  console_.write(output, nodes_[node].host);
  if (console_.is_congested()) nodes_.pause(node);
}

// The agent obeys another supervisor: the run is not ours any more, and neither is its journal.
void Driver::Impl::on_report(base::NodeId node, const wire::Refused& refused) {
  if (!end_.begin(kExitFailure)) return;
  has_stepped_down_ = true;
  end_parts();
  RR_LOG(kError, ({.node = nodes_.name(node)}), "{}; this supervisor steps down", refused.text);
  connections_.leave_to_successor();
  end_.say_goodbye();
}

void Driver::Impl::on_connected(base::NodeId node, bool is_again) {
  if (!is_again) return blocks_.on_joined();
  checks_.on_connected_again(node);
  blocks_.on_connected_again(node);
  signals_.on_connected_again(node);
  orders_.on_connected_again(node);
  copies_.on_connected_again(node);
}

void Driver::Impl::on_lost(base::NodeId node, AgentLost lost) {
  const std::string why = lost.why;
  control_.on_agent_lost(node);
  dispatch(std::move(lost), node);
  checks_.on_agent_lost(node, why);
  looks_.on_agent_lost(node);
}

void Driver::Impl::begin_attempt(const StartWorkers& first, base::Nanos began) {
  progress_.begin_attempt(first.attempt, first.world_size, began);
  copies_.begin_attempt(first.attempt, first.world_size);
  hangs_.begin_attempt(first.attempt, first.world_size);
  status_.begin_attempt();
}

void Driver::Impl::perform(const StartWorkers& action) {
  console_.begin_workers();
  orders_.perform(action);
}

// For `robustrun check`. stdout may be closed; the exit code has the result, too.
void Driver::Impl::perform(const NodesJudged& judged) {
  if (!request_.spec.check_only) return;
  static_cast<void>(base::write_all(parts_.out_fd, checks_.table(judged)));
}

void Driver::Impl::perform(const LookBack& action) {
  looks_.look_back(action, [this, attempt = action.attempt,
                            began = parts_.clock.now()](tracer::Verdict verdict) {
    dispatch(Diagnosed{attempt, Diagnosed::Stage::kPostMortem, std::move(verdict),
                       parts_.clock.now() - began});
  });
}

// Which node gets which place: asked by the core, worked out elsewhere.
void Driver::Impl::perform(const SolvePlacement& action) {
  if (parts_.place) return parts_.place(action, later<PlacementSolved>());
  dispatch(PlacementSolved{action.digest, {}, "no topology is known any more", {}, {}});
}

void Driver::Impl::perform(const SolveBackup& action) {
  if (parts_.keep_copies) parts_.keep_copies(action, later<BackupSolved>());
}

void Driver::Impl::perform(const SetTimer& action) {
  auto& timer = timers_[static_cast<std::size_t>(action.id)];
  timer.after(action.at - parts_.clock.now(), [this, id = action.id, sequence = action.sequence] {
    dispatch(TimerFired{id, sequence});
  });
}

void Driver::Impl::perform(const Decision& decision) {
  record_.write({parts_.clock.now(), decision});
  console_.announce(decision, exited_);
}

// Places of the nodes; reports of an earlier group no longer name ranks.
void Driver::Impl::perform(const GroupFormed& group) {
  record_.write({parts_.clock.now(), group});
  nodes_.each([](base::NodeId, NodeLink& link) { link.ranks.clear(); });
  console_.show(group);
  blocks_.on_group_formed();
}

void Driver::Impl::perform(const Finish& action) {
  record_.write_last({parts_.clock.now(), action});
  static_cast<void>(end_.begin(action.exit_code));
  replacements_.release();
  end_parts();
  end_.wait_for_agents();
}

Driver::Driver(Parts parts, const RunRequest& request, std::function<void(int)> on_finished)
    : impl_(std::make_unique<Impl>(std::move(parts), request, std::move(on_finished))) {}

Driver::~Driver() = default;

base::Status Driver::open_listener(const RunAuthority* before) {
  return impl_->open_listener(before);
}

std::optional<RunAuthority> Driver::authority() const { return impl_->connections().authority(); }

void Driver::record_to(Journal journal) { impl_->record().record_to(std::move(journal)); }

void Driver::log_console_to(ConsoleLog& log) { impl_->console().log_to(log); }

void Driver::publish_to(Outlets& outlets) { impl_->record().publish_to(outlets); }

const std::deque<JournalEntry>& Driver::lost_entries() const { return impl_->record().lost(); }

void Driver::start() { impl_->start(); }

void Driver::resume(Folded folded) { impl_->resume(std::move(folded)); }

bool Driver::has_stepped_down() const { return impl_->has_stepped_down(); }

void Driver::signal_received(int signal, bool forward_only) {
  impl_->signals().received(signal, forward_only);
}

}  // namespace robustrun::supervisor
