#include "supervisor/driver/driver.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <csignal>
#include <cstdint>
#include <utility>

#include "base/io/log.h"
#include "supervisor/core/report/pace.h"
#include "supervisor/driver/impl.h"
#include "supervisor/driver/translate.h"
#include "supervisor/group/placer.h"
#include "supervisor/limits.h"
#include "supervisor/outlets/outlets.h"
#include "supervisor/run_dir/version_store.h"

namespace robustrun::supervisor {

namespace {

// Agents connect over a network, and may come back after a broken connection.
bool is_remote(const RunRequest& request) {
  return request.network.launch != NetworkPlan::Launch::kSocketPair || request.spec.group.open;
}

JobEnd::Settings job_end_settings(const RunRequest& request) {
  const NetworkPlan& network = request.network;
  const bool is_slurm = network.launch == NetworkPlan::Launch::kSlurm;
  return {is_slurm ? network.slurm.job : network.batch.id,
          is_slurm ? network.slurm.poll : network.batch.poll, request.spec.deadlines.shutdown_grace,
          kJobEndPatience, is_slurm ? "Slurm" : std::string(to_string(network.batch.system))};
}

}  // namespace

Driver::Impl::Impl(Parts parts, const RunRequest& request, std::function<void(int)> on_finished)
    : parts_(std::move(parts)),
      request_(request),
      on_finished_(std::move(on_finished)),
      nodes_(request.spec.nodes),
      racks_(request.placement.cluster),
      line_news_(!request.workers.metrics.empty() || !request.workers.line_formats.empty()),
      copies_(parts_.executor, parts_.clock, nodes_,
              {request.network.copies_rate,
               [this](CopiesKept news, base::NodeId node) { dispatch(std::move(news), node); }}),
      blocks_(parts_.executor, parts_.clock, nodes_,
              {request.workers.share_blocks && is_remote(request), request.spec.group.open,
               request.network.peers_rate,
               request.workers.code ? parts_.read_code : decltype(parts_.read_code)()}),
      checks_(
          parts_.executor, parts_.clock, nodes_,
          {[this](NodesChecked result) { dispatch(std::move(result)); },
           [this](NodesReplayed result) { dispatch(std::move(result)); }, request.replay_command}),
      looks_(
          parts_.executor, nodes_,
          {[this] { return job_.attempt(); }, [this] { return job_.state() == JobState::kRunning; },
           request.placement.parallel, parts_.analyze, parts_.analyze_failed}),
      hangs_(
          parts_.clock, nodes_, looks_,
          {request.hangs, request.spec.policy.hang_still, request.workers.trace},
          {[this] { return job_.attempt(); }, [this] { return job_.state() == JobState::kRunning; },
           [this] { return progress_.furthest(); },
           [this] {
             if (auto summary = this->summary()) dispatch(*std::move(summary));
           },
           [this](Diagnosed diagnosed) { dispatch(std::move(diagnosed)); }}),
      slurm_(parts_.executor, nodes_, request.network.slurm.poll,
             {parts_.ask_slurm, parts_.ask_node_states,
              [this](SignalReceived received) { dispatch(std::move(received)); },
              [this](base::Nanos end) { return job_end_.timed_save(end); },
              [this](base::Nanos end) { return job_end_.time_to_save(end); },
              [this](base::NodeId node) { return job_.drained(node); },
              [this](NodeHealth health, base::NodeId node) { dispatch(std::move(health), node); }}),
      job_end_(parts_.executor, parts_.clock, job_end_settings(request), job_end_hands()),
      replacements_(
          parts_.executor, parts_.clock, nodes_,
          {request.spec.group.replace, request.spec.group.max_nodes, request.network.slurm.poll},
          {parts_.order_replacements, [this](base::NodeId node) { return job_.works(node); },
           [this] { return job_.state() == JobState::kFinishing || finished_; }}),
      leases_(parts_.executor, parts_.clock, request.network.lease, nodes_,
              {[this](base::NodeId node, const std::string& why, bool node_answers) {
                 lose(node, why, node_answers);
               },
               [this](base::NodeId node, std::function<void(bool)> done) {
                 parts_.launcher.probe(node, std::move(done));
               },
               // A volunteer has no second channel.
               [this](base::NodeId node) { return node.value < request_.spec.nodes.size(); },
               [this] { return peers_progress(); },
               [this] {
                 note_steps();
                 note_group_wait();
                 hangs_.watch();
               },
               [this](base::NodeId node, std::uint64_t number) { beat(node, number); }}),
      timers_{LoopTimer(parts_.executor), LoopTimer(parts_.executor), LoopTimer(parts_.executor),
              LoopTimer(parts_.executor), LoopTimer(parts_.executor), LoopTimer(parts_.executor)},
      summary_timer_(parts_.executor),
      live_timer_(parts_.executor),
      shutdown_timer_(parts_.executor) {
  if (is_remote(request)) nodes_.keep_orders();
}

JobEnd::Hands Driver::Impl::job_end_hands() {
  JobEnd::Hands hands;
  hands.ask_end = parts_.ask_job_end;
  hands.longest_saves = [this] { return save_times_.longest(); };
  hands.step_time = [this] { return step_time(status_.steps_per_second()); };
  hands.is_ending = [this] { return job_.state() == JobState::kFinishing || finished_; };
  hands.on_save = [this](SignalReceived received) {
    slurm_.note_end();
    dispatch(std::move(received));
  };
  return hands;
}

void Driver::Impl::start() {
  open_console();
  introduce();
  show_live();
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

void Driver::Impl::attend(base::Nanos since) {
  arm_summary();
  leases_.begin();
  open_control();
  slurm_.watch_nodes();
  job_end_.begin(since);
  replacements_.begin();
  if (parts_.read_earlier_saves) {
    parts_.read_earlier_saves([self = weak_from_this()](const SaveTimes& earlier) {
      if (const auto driver = self.lock()) driver->save_times_.add(earlier);
    });
  }
  if (outlets_ != nullptr) outlets_->begin([this] { return status(); });
}

Injector::Group Driver::Impl::reachable_group() const {
  Injector::Group group{job_.attempt(), {}};
  nodes_.each([&](base::NodeId node, const NodeLink& link) {
    if (!link.joined || link.lost || !link.channel) return;
    group.nodes.push_back({node, nodes_.name(node), link.address, link.ranks});
  });
  std::ranges::stable_sort(group.nodes, {}, [](const Injector::Node& node) {
    return node.ranks.empty() ? base::Rank{UINT32_MAX} : node.ranks.front();
  });
  return group;
}

void Driver::Impl::close() {
  base::copy_log(nullptr);
  control_.reset();
  injector_.reset();
  end_parts();
  checks_.drop();
  looks_.drop();
  agent_listener_.reset();
  nodes_.each([](base::NodeId, const NodeLink& link) {
    if (link.channel) link.channel->close();
  });
  for (auto& timer : timers_) timer.cancel();
  summary_timer_.cancel();
  live_timer_.cancel();
  shutdown_timer_.cancel();
}

// The run is over: nothing is reported to the core any more.
void Driver::Impl::end_parts() {
  leases_.end();
  slurm_.end();
  job_end_.end();
  replacements_.end();
  blocks_.end();
  copies_.end();
  looks_.end();
}

void Driver::Impl::signal_received(int signal, bool forward_only) {
  if (!forward_only && was_relayed(signal)) return;
  if (signal == SIGTERM && slurm_.may_signal()) return slurm_.signalled();
  dispatch(SignalReceived{signal, forward_only});
}

namespace {

// A successor must know of these, even after a loss of power: that an attempt began, and that
// another supervisor took over.
bool is_irrevocable(const Action& action) {
  return std::holds_alternative<StartWorkers>(action) || std::holds_alternative<AdoptNode>(action);
}

}  // namespace

void Driver::Impl::dispatch(EventBody body, base::NodeId node) {
  Event event;
  event.at = parts_.clock.now();
  event.node = node;
  event.generation = nodes_.has(node) ? nodes_[node].generation : base::Generation{};
  event.body = std::move(body);
  queue_.push_back(std::move(event));
  if (handling_) return;  // an action below caused it; the loop that is running takes it
  handling_ = true;
  while (!queue_.empty() && !finished_) {
    const Event next = std::move(queue_.front());
    queue_.pop_front();
    journal({next.at, next});
    bool is_settled = false;
    for (const Action& action : job_.handle(next)) {
      if (!is_settled && is_irrevocable(action)) {
        if (const base::Status synced = journal_->sync(); !synced) note_journal(synced);
        is_settled = true;
      }
      std::visit([this](const auto& what) { perform(what); }, action);
    }
    up_ = up_ || job_.state() == JobState::kRunning;
    if (outlets_ != nullptr) outlets_->take(job_.state(), parts_.clock.now());
  }
  handling_ = false;
}

void Driver::Impl::journal(const JournalEntry& entry) {
  status_.take(entry);
  save_times_.take(entry);
  if (outlets_ != nullptr) outlets_->take(entry);
  note_journal(journal_->append(entry));
}

void Driver::Impl::note_journal(const base::Status& written) {
  if (written) {
    if (std::exchange(journal_failed_, false))
      RR_LOG(kWarn, {}, "the journal can be written again");
  } else if (!std::exchange(journal_failed_, true)) {
    // A full disk must not end the training; the report will have a gap, and tells so.
    RR_LOG(kError, {}, "{}; the run goes on, its report will be incomplete", written.error().what);
  }
}

void Driver::Impl::perform(const ReservePort& action) {
  nodes_[action.node].orders.clear();
  nodes_.order(action.node, wire::ReservePort{action.attempt});
}

void Driver::Impl::perform(const StopWorkers& action) {
  nodes_[action.node].kill_at = parts_.clock.now() + action.grace;
  nodes_.order(action.node, to_message(action));
}

void Driver::Impl::perform(const ForwardSignal& action) {
  nodes_.send(action.node, wire::SignalWorkers{action.attempt, action.signal});
}

void Driver::Impl::perform(const DismissAgent& action) {
  nodes_.send(action.node, wire::Dismiss{action.exit_code});
}

void Driver::Impl::perform(const DemoteCheckpoint& action) {
  nodes_.send(action.node, to_message(action));
}

void Driver::Impl::perform(const SaveHeldCopies& action) {
  nodes_.order(action.node, to_message(action));
}

void Driver::Impl::perform(const Decision& decision) {
  journal({parts_.clock.now(), decision});
  announce(decision);
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
  if (!parts_.place) {
    return dispatch(PlacementSolved{action.digest, {}, "no topology is known any more", {}, {}});
  }
  parts_.place(action, [self = weak_from_this()](PlacementSolved solved) {
    const auto driver = self.lock();
    if (driver && !driver->finished_) driver->dispatch(std::move(solved));
  });
}

void Driver::Impl::perform(const SolveBackup& action) {
  if (!parts_.keep_copies) return;  // no copies are kept
  parts_.keep_copies(action, [self = weak_from_this()](BackupSolved solved) {
    const auto driver = self.lock();
    if (driver && !driver->finished_) driver->dispatch(std::move(solved));
  });
}

void Driver::Impl::perform(const LaunchAgent& action) {
  NodeLink& link = nodes_[action.node];
  if (link.channel) link.channel->close();
  link = NodeLink{};
  link.generation = action.generation;
  link.heard_at = parts_.clock.now();
  if (action.node.value >= request_.spec.nodes.size()) return;  // a volunteer calls by itself
  link.asked_at = link.heard_at;
  const auto node = action.node;
  const auto generation = action.generation;
  launcher::AgentLauncher::Handlers handlers;
  handlers.on_channel = [self = weak_from_this(), node, generation](base::Fd socket) {
    if (auto driver = self.lock()) driver->on_channel(node, generation, std::move(socket));
  };
  handlers.on_lost = [self = weak_from_this(), node, generation](const launcher::AgentEnd& end) {
    auto driver = self.lock();
    if (!driver || driver->nodes_[node].generation != generation) return;
    if (!driver->finished_) {
      driver->on_launcher_lost(node, end);
    } else if (driver->all_agents_left()) {
      driver->say_goodbye();
    }
  };
  launcher::LaunchOrder order{node, generation, {}};
  if (agent_listener_) order.credential = agent_listener_->credential(node, generation);
  // Posted: a launcher may answer at once, and the action list is still being carried out.
  boost::asio::post(parts_.executor, [self = weak_from_this(), order = std::move(order),
                                      handlers = std::move(handlers)]() mutable {
    auto driver = self.lock();
    if (driver && !driver->finished_) {
      driver->parts_.launcher.launch(std::move(order), std::move(handlers));
    }
  });
}

// Places of the nodes; reports of an earlier group no longer name ranks.
void Driver::Impl::perform(const GroupFormed& group) {
  journal({parts_.clock.now(), group});
  nodes_.each([](base::NodeId, NodeLink& link) { link.ranks.clear(); });
  show_group(group);
  blocks_.on_group_formed();
}

// Only where there are several machines.
void Driver::Impl::show_group(const GroupFormed& group) const {
  if (group.members.size() + group.spares.size() <= 1) return;
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    const GroupMember& member = group.members[i];
    if (i == kTableLinesMax) {
      RR_LOG(kInfo, {}, "  … and {} more nodes (robustrun report)", group.members.size() - i);
      break;
    }
    const std::string ranks = member.slots == 1 ? fmt::format("rank {}", member.first_rank)
                                                : fmt::format("ranks {}-{}", member.first_rank,
                                                              member.first_rank + member.slots - 1);
    RR_LOG(kInfo, {}, "  node {:<3} {:<20} {:<16} {}", i, member.name, member.address, ranks);
  }
  for (std::size_t i = 0; i < group.spares.size() && i < kTableLinesMax; ++i) {
    RR_LOG(kInfo, {}, "  spare    {}", group.spares[i]);
  }
}

void Driver::Impl::perform(const StartWorkers& action) {
  console_->fold_tracebacks(false);
  console_->end_bars();
  NodeLink& link = nodes_[action.node];
  link.ranks.clear();
  link.orders.clear();
  for (const Assignment worker : action.workers) link.ranks.push_back(worker.rank);
  if (std::exchange(started_attempt_, action.attempt) != action.attempt) {
    progress_.begin_attempt(action.attempt, action.world_size);
    checkpoints_.begin_attempt(
        action.attempt, action.world_size,
        std::exchange(taken_over_since_, std::nullopt).value_or(parts_.clock.now()));
    copies_.begin_attempt(action.attempt, action.world_size);
    hangs_.begin_attempt(action.attempt, action.world_size);
    group_wait_watch_.begin_attempt(parts_.clock.now());
    step_goal_sent_ = false;
  }
  wire::StartWorkers message = to_message(action, request_.routes);
  if (action.version != 0) {
    auto content = load_version(request_.run_directory, action.version);
    if (!content) {
      // As the agent would say it; nothing was ordered, so nothing is left there, either.
      const std::string why =
          fmt::format("version {} is lost: {}", action.version, content.error().what);
      return dispatch(WorkerStartFailed{action.attempt, link.ranks.front(), 0, why}, action.node);
    }
    message.version = to_message(request_.run_directory, action.version, *content);
  }
  const bool has_rank_zero = std::ranges::find(link.ranks, base::Rank{0}) != link.ranks.end();
  if (has_rank_zero && action.group_world_size > 1) message.store_clients = nodes_.addresses();
  spare_standbys_.note_start(action.node, message);
  nodes_.order(action.node, message);
}

void Driver::Impl::perform(const SetTimer& action) {
  auto& timer = timers_[static_cast<std::size_t>(action.id)];
  timer.after(action.at - parts_.clock.now(), [this, id = action.id, sequence = action.sequence] {
    dispatch(TimerFired{id, sequence});
  });
}

void Driver::Impl::perform(const Finish& action) {
  journal({parts_.clock.now(), action});
  finished_ = true;
  static_cast<void>(journal_->sync());  // the report is only poorer without it
  exit_code_ = action.exit_code;
  replacements_.release();
  end_parts();
  nodes_.each([](base::NodeId, NodeLink& link) {
    // An agent that has not joined yet was not dismissed: the end of its channel makes it end.
    if (!link.joined && link.channel) std::exchange(link.channel, nullptr)->close();
  });
  if (all_agents_left()) return say_goodbye();
  // Otherwise the agents send the last output and end; on_lost reports it.
  shutdown_timer_.after(kShutdownMax, [this] { kill_agents(); });
}

// Agents that we did not start (volunteers, those of another supervisor) end their connection.
bool Driver::Impl::all_agents_left() const {
  bool is_connected = false;
  nodes_.each([&](base::NodeId, const NodeLink& link) { is_connected |= link.channel != nullptr; });
  return parts_.launcher.idle() && !is_connected;
}

// An agent that does not end (stopped, hung) would keep its workers for ever.
void Driver::Impl::kill_agents() {
  parts_.launcher.kill_all();
  shutdown_timer_.after(kKillMax, [this] { say_goodbye(); });
}

void Driver::Impl::say_goodbye() {
  if (std::exchange(said_goodbye_, true)) return;
  shutdown_timer_.cancel();
  auto part = [self = shared_from_this()] {
    self->console_->flush([self] {
      if (!self->end_line_.empty()) RR_LOG(kInfo, {}, "{}", self->end_line_);
      // Watchers see the end, too.
      self->hub_->end([self] { self->on_finished_(self->exit_code_); });
    });
  };
  if (outlets_ == nullptr) return part();
  outlets_->end(std::move(part));
}

Driver::Driver(Parts parts, const RunRequest& request, std::function<void(int)> on_finished)
    : impl_(std::make_shared<Impl>(std::move(parts), request, std::move(on_finished))) {}

Driver::~Driver() { impl_->close(); }

base::Status Driver::open_listener(const RunAuthority* before) {
  return impl_->open_listener(before);
}

std::optional<RunAuthority> Driver::authority() const { return impl_->authority(); }

void Driver::record_to(Journal journal) { impl_->record_to(std::move(journal)); }

void Driver::log_console_to(ConsoleLog& log) { impl_->log_console_to(log); }

void Driver::publish_to(Outlets& outlets) { impl_->publish_to(outlets); }

void Driver::start() { impl_->start(); }

void Driver::resume(Folded folded) { impl_->resume(std::move(folded)); }

void Driver::signal_received(int signal, bool forward_only) {
  impl_->signal_received(signal, forward_only);
}

}  // namespace robustrun::supervisor
