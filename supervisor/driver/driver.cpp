#include "supervisor/driver/driver.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "base/io/log.h"
#include "supervisor/driver/impl.h"
#include "supervisor/driver/translate.h"
#include "supervisor/group/placer.h"
#include "supervisor/limits.h"
#include "supervisor/outlets/outlets.h"
#include "supervisor/run_dir/version_store.h"

namespace robustrun::supervisor {

Driver::Impl::Impl(Parts parts, const RunRequest& request, std::function<void(int)> on_finished)
    : parts_(std::move(parts)),
      request_(request),
      on_finished_(std::move(on_finished)),
      nodes_(request.spec.nodes.size()),
      hang_watch_(request.hangs, request.spec.policy.hang_still),
      line_news_(!request.workers.metrics.empty() || !request.workers.line_formats.empty()),
      timers_{asio::steady_timer(parts_.executor), asio::steady_timer(parts_.executor),
              asio::steady_timer(parts_.executor), asio::steady_timer(parts_.executor),
              asio::steady_timer(parts_.executor), asio::steady_timer(parts_.executor)},
      summary_timer_(parts_.executor),
      lease_timer_(parts_.executor),
      live_timer_(parts_.executor),
      shutdown_timer_(parts_.executor),
      copies_timer_(parts_.executor),
      blocks_timer_(parts_.executor),
      slurm_timer_(parts_.executor) {
  for (const NodeSpec& node : request.spec.nodes) names_.push_back(node.name);
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
  dispatch(std::move(started));
  attend();
}

void Driver::Impl::attend() {
  arm_summary();
  arm_lease_check();
  open_control();
  look_at_node_states();
  if (outlets_ != nullptr) outlets_->begin([this] { return status(); });
}

Injector::Group Driver::Impl::reachable_group() const {
  Injector::Group group{job_.attempt(), {}};
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const NodeLink& link = nodes_[i];
    if (!link.joined || link.lost || !link.channel) continue;
    group.nodes.push_back({base::NodeId{i}, names_[i], link.address, link.ranks});
  }
  std::ranges::stable_sort(group.nodes, {}, [](const Injector::Node& node) {
    return node.ranks.empty() ? base::Rank{UINT32_MAX} : node.ranks.front();
  });
  return group;
}

void Driver::Impl::close() {
  base::copy_log(nullptr);
  control_.reset();
  injector_.reset();
  for (const auto& [number, check] : checks_) check->drop();
  checks_.clear();
  if (replay_) std::exchange(replay_, nullptr)->drop();
  for (auto* look : {&look_, &last_look_}) {
    if (*look) std::exchange(*look, nullptr)->drop();
  }
  for (const auto& look : std::exchange(use_looks_, {})) look->drop();
  agent_listener_.reset();
  for (auto& node : nodes_) {
    if (node.channel) node.channel->close();
  }
  for (auto& timer : timers_) timer.cancel();
  summary_timer_.cancel();
  lease_timer_.cancel();
  live_timer_.cancel();
  shutdown_timer_.cancel();
  copies_timer_.cancel();
  blocks_timer_.cancel();
  slurm_timer_.cancel();
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
  event.generation =
      node.value < nodes_.size() ? nodes_[node.value].generation : base::Generation{};
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
      perform(action);
    }
    up_ = up_ || job_.state() == JobState::kRunning;
    if (outlets_ != nullptr) outlets_->take(job_.state(), parts_.clock.now());
  }
  handling_ = false;
}

void Driver::Impl::journal(const JournalEntry& entry) {
  status_.take(entry);
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

void Driver::Impl::perform(const Action& action) {
  std::visit(
      [this](const auto& what) {
        using T = std::decay_t<decltype(what)>;
        if constexpr (std::is_same_v<T, LaunchAgent>) {
          launch_agent(what);
        } else if constexpr (std::is_same_v<T, AdoptNode>) {
          adopt(what);
        } else if constexpr (std::is_same_v<T, ReservePort>) {
          nodes_[what.node.value].orders.clear();
          order(what.node, wire::ReservePort{what.attempt});
        } else if constexpr (std::is_same_v<T, StartWorkers>) {
          start_workers(what);
        } else if constexpr (std::is_same_v<T, StopWorkers>) {
          nodes_[what.node.value].kill_at = parts_.clock.now() + what.grace;
          order(what.node, to_message(what));
        } else if constexpr (std::is_same_v<T, ForwardSignal>) {
          send(what.node, wire::SignalWorkers{what.attempt, what.signal});
        } else if constexpr (std::is_same_v<T, DismissAgent>) {
          send(what.node, wire::Dismiss{what.exit_code});
        } else if constexpr (std::is_same_v<T, SetTimer>) {
          set_timer(what);
        } else if constexpr (std::is_same_v<T, Decision>) {
          journal({parts_.clock.now(), what});
          announce(what);
        } else if constexpr (std::is_same_v<T, GroupFormed>) {
          journal({parts_.clock.now(), what});
          form_group(what);
          share_blocks(true);
        } else if constexpr (std::is_same_v<T, CheckNodes>) {
          check_nodes(what);
        } else if constexpr (std::is_same_v<T, NodesJudged>) {
          show_verdicts(what);
        } else if constexpr (std::is_same_v<T, ReplayNodes>) {
          replay_nodes(what);
        } else if constexpr (std::is_same_v<T, SolvePlacement>) {
          solve_placement(what);
        } else if constexpr (std::is_same_v<T, LookBack>) {
          look_back(what);
        } else if constexpr (std::is_same_v<T, LookAtPace>) {
          look_at_pace(what);
        } else if constexpr (std::is_same_v<T, DemoteCheckpoint>) {
          send(what.node, to_message(what));
        } else if constexpr (std::is_same_v<T, SolveBackup>) {
          solve_backup(what);
        } else if constexpr (std::is_same_v<T, PlaceCopies>) {
          place_copies(what);
        } else if constexpr (std::is_same_v<T, SaveHeldCopies>) {
          order(what.node, to_message(what));
        } else {
          static_assert(std::is_same_v<T, Finish>);
          journal({parts_.clock.now(), what});
          finish(what.exit_code);
        }
      },
      action);
}

void Driver::Impl::launch_agent(const LaunchAgent& action) {
  NodeLink& link = nodes_[action.node.value];
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
    if (!driver || driver->nodes_[node.value].generation != generation) return;
    if (!driver->finished_) {
      driver->on_launcher_lost(node, end);
    } else if (driver->all_agents_left()) {
      driver->say_goodbye();
    }
  };
  launcher::LaunchOrder order{node, generation, {}};
  if (agent_listener_) order.credential = agent_listener_->credential(node, generation);
  // Posted: a launcher may answer at once, and the action list is still being carried out.
  asio::post(parts_.executor, [self = weak_from_this(), order = std::move(order),
                               handlers = std::move(handlers)]() mutable {
    auto driver = self.lock();
    if (driver && !driver->finished_) {
      driver->parts_.launcher.launch(std::move(order), std::move(handlers));
    }
  });
}

// The group's places: shown to people when there are several machines, and used to translate local
// ranks in agents' reports.
void Driver::Impl::form_group(const GroupFormed& group) {
  for (NodeLink& link : nodes_) link.ranks.clear();
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

void Driver::Impl::start_workers(const StartWorkers& action) {
  console_->fold_tracebacks(false);
  console_->end_bars();
  NodeLink& link = nodes_[action.node.value];
  link.ranks.clear();
  link.orders.clear();
  for (const Assignment worker : action.workers) link.ranks.push_back(worker.rank);
  if (std::exchange(started_attempt_, action.attempt) != action.attempt) {
    progress_.begin_attempt(action.attempt, action.world_size);
    checkpoints_.begin_attempt(action.attempt, action.world_size);
    copies_.begin_attempt(action.attempt, action.world_size);
    copy_rounds_.begin_attempt(action.attempt, action.world_size);
    hang_watch_.begin_attempt(action.attempt, parts_.clock.now());
    group_wait_watch_.begin_attempt(parts_.clock.now());
    pace_looks_.begin_attempt(action.world_size);
    collectives_done_.reset();
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
  spare_standbys_.note_start(action.node, message);
  order(action.node, message);
}

void Driver::Impl::send(base::NodeId node, const wire::Message& message) {
  // Without a channel the order is lost on purpose: the node's agent is, and the core hears of it;
  // or it comes back and hears its orders again.
  if (auto& channel = nodes_[node.value].channel) channel->send(message);
}

void Driver::Impl::order(base::NodeId node, const wire::Message& message) {
  if (agent_listener_) nodes_[node.value].orders.push_back(message);
  send(node, message);
}

void Driver::Impl::set_timer(const SetTimer& action) {
  auto& timer = timers_[static_cast<std::size_t>(action.id)];
  timer.expires_after(action.at - parts_.clock.now());
  timer.async_wait([self = weak_from_this(), id = action.id,
                    sequence = action.sequence](const boost::system::error_code& error) {
    if (error) return;
    if (auto driver = self.lock()) driver->dispatch(TimerFired{id, sequence});
  });
}

void Driver::Impl::finish(int exit_code) {
  finished_ = true;
  static_cast<void>(journal_->sync());  // the report is only poorer without it
  exit_code_ = exit_code;
  for (NodeLink& link : nodes_) {
    // An agent that has not joined yet was not dismissed: the end of its channel makes it end.
    if (!link.joined && link.channel) std::exchange(link.channel, nullptr)->close();
  }
  if (all_agents_left()) return say_goodbye();
  // Otherwise the agents send the last output and end; on_lost reports it.
  shutdown_timer_.expires_after(kShutdownMax);
  shutdown_timer_.async_wait([self = weak_from_this()](const boost::system::error_code& error) {
    auto driver = error ? nullptr : self.lock();
    if (driver) driver->kill_agents();
  });
}

// Agents that we did not start (volunteers, those of another supervisor) end their connection.
bool Driver::Impl::all_agents_left() const {
  return parts_.launcher.idle() &&
         std::ranges::none_of(nodes_, [](const NodeLink& link) { return link.channel != nullptr; });
}

// An agent that does not end (stopped, hung) would keep its workers for ever.
void Driver::Impl::kill_agents() {
  parts_.launcher.kill_all();
  shutdown_timer_.expires_after(kKillMax);
  shutdown_timer_.async_wait([self = weak_from_this()](const boost::system::error_code& error) {
    auto driver = error ? nullptr : self.lock();
    if (driver) driver->say_goodbye();
  });
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

const std::string& Driver::Impl::node_name(base::NodeId node) const { return names_[node.value]; }

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
