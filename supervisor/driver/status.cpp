// The run's console, control socket and status, for users and other commands.

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "base/core/text.h"
#include "base/core/words.h"
#include "base/io/fd.h"
#include "base/io/log.h"
#include "supervisor/control/diagnose_row.h"
#include "supervisor/control/file.h"
#include "supervisor/control/inject_command.h"
#include "supervisor/control/update_request.h"
#include "supervisor/core/fault/fault_class.h"
#include "supervisor/core/status/live_line.h"
#include "supervisor/driver/impl.h"
#include "supervisor/limits.h"
#include "supervisor/outlets/outlets.h"
#include "supervisor/watch/group_wait_fold.h"

namespace robustrun::supervisor {
namespace {

// "UTC+02:00"; "UTC"
std::string time_zone_words(const base::Clock& clock) {
  const std::time_t now =
      std::chrono::duration_cast<std::chrono::seconds>(clock.wall_time()).count();
  std::tm local{};
  ::localtime_r(&now, &local);
  const long minutes = local.tm_gmtoff / 60;
  if (minutes == 0) return "UTC";
  return fmt::format("UTC{}{:02}:{:02}", minutes < 0 ? '-' : '+', std::abs(minutes) / 60,
                     std::abs(minutes) % 60);
}

// One machine whose number of workers is known before the start.
bool is_alone(const JobSpec& spec) { return spec.nodes.size() == 1 && spec.nodes[0].slots > 0; }

}  // namespace

void Driver::Impl::open_console() {
  hub_ = std::make_unique<OutputHub>(parts_.executor);
  console_ = Console::open(
      parts_.executor, parts_.out_fd, parts_.err_fd, request_.console, request_.spec.role,
      [self = weak_from_this()] {
        if (auto driver = self.lock()) {
          driver->nodes_.each([&](base::NodeId, NodeLink& link) { driver->resume(link); });
        }
      });
  console_->copy_to(
      [this](bool is_stderr, std::string_view bytes) { note_shown(is_stderr, bytes); });
  base::copy_log([this](std::string_view line) { note_shown(true, line); });
}

// The line at the bottom of the terminal, until the console is flushed.
void Driver::Impl::show_live() {
  if (!request_.console.live || said_goodbye_) return;
  console_->show_live(live_line(status()));
  live_timer_.after(kLiveLineInterval, [this] { show_live(); });
}

// The first line of a run.
void Driver::Impl::introduce() const {
  const JobSpec& spec = request_.spec;
  if (spec.compat || spec.check_only) return;
  const std::string where =
      is_alone(spec) ? fmt::format("{} on {}", base::counted(spec.nodes[0].slots, "worker"),
                                   spec.nodes[0].name)
                     : base::counted(spec.nodes.size(), "node");
  RR_LOG(kInfo, {}, "run {}: {}, {}, {}, times in {}", spec.run_id, spec.program, where,
         spec.log_directory.empty() ? "no logs" : "logs in " + spec.log_directory,
         time_zone_words(parts_.clock));
}

void Driver::Impl::announce(const Decision& decision) {
  console_->show_held();
  switch (decision.rule) {
    // All nodes of an allocation report it, and one report is enough for people.
    case Rule::kNodeEnding:
      if (!std::exchange(node_ends_said_, true)) RR_LOG(kWarn, {}, "{}", decision.text);
      break;
    case Rule::kStart:
      // introduce() has said it.
      if (!request_.spec.compat && is_alone(request_.spec)) break;
      RR_LOG(kInfo, {}, "{}", decision.text);
      break;
    // Logged once the console has shown what the workers wrote: the log does not wait for it.
    case Rule::kSucceeded: end_line_ = decision.text; break;
    case Rule::kStepGoal:
    case Rule::kBudgetRefilled:
    case Rule::kNodeReplaced:
    case Rule::kSpareChanged:
    case Rule::kGroupGrew:
    case Rule::kNodeLeft:
    case Rule::kNodeDrained:
    case Rule::kResumed:
    case Rule::kPreflight:
    case Rule::kPlaced:
    case Rule::kHangPassed:
    case Rule::kSlowUnclear:
    case Rule::kSlowKept:
    case Rule::kSlowOver:
    case Rule::kNodeReturned:
    case Rule::kUpdated:
    case Rule::kUpdating:
    case Rule::kResumePoint:
    case Rule::kCopiesPlaced:
    case Rule::kCopiesSaved:
    case Rule::kCopiesAwaited:
    case Rule::kColdStart:
    case Rule::kRestart: RR_LOG(kInfo, {}, "{}", decision.text); break;
    case Rule::kWorkerFailed:
      // What the other ranks say while they end follows from this, and is in their logs.
      console_->fold_tracebacks(!request_.spec.compat && !request_.spec.log_directory.empty());
      RR_LOG(kWarn, {}, "{}", decision.text);
      break;
    case Rule::kStartFailed:
    case Rule::kAgentLost:
    case Rule::kPortConflict:
    case Rule::kGroupShrunk:
    case Rule::kWaitForNodes:
    case Rule::kPreflightWarning:
    case Rule::kNodeUnfit:
    case Rule::kNotPlaced:
    case Rule::kHangSuspected:
    case Rule::kHangConvicted:
    case Rule::kSlow:
    case Rule::kSlowDrain:
    case Rule::kSlowEvicted:
    case Rule::kMetricAlarm:
    case Rule::kMismatch:
    case Rule::kEndedEarly:
    case Rule::kLateCrash:
    case Rule::kNotResumed:
    case Rule::kNodeHealth:
    case Rule::kMachineFault:
    case Rule::kNodeEvicted:
    case Rule::kStopTimeCheck:
    case Rule::kReplay:
    case Rule::kReplayed:
    case Rule::kMetricFault:
    case Rule::kCheckpointPoisoned:
    case Rule::kCheckpointKept:
    case Rule::kCopiesLost:
    case Rule::kRolledBack:
    case Rule::kSignal:
    case Rule::kSecondSignal:
    case Rule::kPreempted:
    case Rule::kTimeLimit: RR_LOG(kWarn, {}, "{}", decision.text); break;
    case Rule::kBudgetExhausted:
    case Rule::kCrashLoop:
    case Rule::kInfrastructureGivenUp:
    case Rule::kDoNotRequeue: RR_LOG(kError, {}, "{}", decision.text); break;
  }
  if (decision.looks_like && !request_.spec.compat) {
    const bool is_clear = is_surely_the_scripts(*decision.looks_like);  // by its exception
    const std::string likely = is_clear ? "" : in_words(*decision.looks_like, decision.text);
    if (!likely.empty()) RR_LOG(kWarn, {}, "{}", likely);
  }
}

// Called from the log, too, so it must not log.
void Driver::Impl::note_shown(bool is_stderr, std::string_view bytes) {
  hub_->append(is_stderr, bytes);
  if (console_log_ == nullptr || !console_log_->note(bytes.size())) return;
  boost::asio::post(parts_.executor, [self = weak_from_this()] {
    const auto driver = self.lock();
    if (!driver) return;
    if (const auto done = driver->console_log_->rotate(*driver->console_); !done) {
      RR_LOG(kWarn, {}, "{}; the console's file grows on", done.error().what);
    }
  });
}

void Driver::Impl::open_control() {
  injector_ = std::make_unique<Injector>(
      parts_.executor, Injector::Hands{[this] { return reachable_group(); },
                                       [this](base::NodeId node, const wire::Message& message) {
                                         nodes_.send(node, message);
                                       },
                                       [this](const FaultInjected& fault) { dispatch(fault); }});
  std::vector<ControlServer::Row> rows = operation_rows(
      *hub_, {[this] { return status(); },
              [this](const StopRequest& request) {
                dispatch(SignalReceived{request.signal, false, request.grace, "robustrun stop"});
              },
              [this](OutputNews& news) { tell_news(news); }});
  rows.push_back(until_finished(inject_row(*injector_)));
  rows.push_back(
      until_finished(diagnose_row([this](std::function<void(const tracer::Verdict*)> done) {
        if (job_.state() != JobState::kRunning) return done(nullptr);
        looks_.look(true, std::move(done));
      })));
  rows.push_back(until_finished(use_row(
      [this](base::Rank rank, UseAnswer done) { looks_.look_at_use(rank, std::move(done)); })));
  rows.push_back(
      until_finished(stacks_row([this](std::optional<base::Rank> rank, StacksAnswer done) {
        looks_.look_at_stacks(rank, std::move(done));
      })));
  rows.push_back(
      until_finished(evict_row([this](const std::string& node) { return evict(node); })));
  const bool many = request_.spec.group.open ||
                    request_.network.launch == NetworkPlan::Launch::kSsh ||
                    request_.network.launch == NetworkPlan::Launch::kSlurm;
  rows.push_back(
      until_finished(update_row({[this]() -> const Job& { return job_; },
                                 [this](UpdateRequested event) { dispatch(std::move(event)); },
                                 request_.run_directory, many})));
  auto opened = ControlServer::open(
      parts_.executor, {request_.run_directory, request_.spec.run_id, request_.workers.environment},
      std::move(rows));
  if (opened) {
    control_ = *std::move(opened);
  } else {
    RR_LOG(kWarn, {}, "{}; no other command can reach this run", opened.error().what);
  }
}

// Agents that have been dismissed take no orders.
ControlServer::Row Driver::Impl::until_finished(ControlServer::Row row) const {
  auto answer = std::move(row.answer);
  row.answer = [this, answer = std::move(answer)](const ControlFields& fields,
                                                  ControlServer::Reply reply) {
    if (finished_) return reply(control_refusal("the run is over"), nullptr);
    answer(fields, std::move(reply));
  };
  return row;
}

void Driver::Impl::tell_news(OutputNews& news) const {
  news.state = to_string(job_.state());
  news.up = up_;
  if (news.output.ended) news.exit_code = exit_code_;
}

RunStatus Driver::Impl::status() const {
  const base::Nanos now = parts_.clock.now();
  RunStatus status = status_.status(now);
  status.supervisor = SupervisorStatus::kAnswers;
  status.host = this_host();
  status.pid = ::getpid();
  status.state = job_.state();
  status.attempt = job_.attempt().value;
  status.restarts_used = job_.restarts_used();
  status.run_directory = request_.run_directory;
  if (console_log_ != nullptr) status.console_log = console_log_file(request_.run_directory);
  if (outlets_ != nullptr) status.metrics_url = outlets_->metrics_url();
  // Readings are newer than the marks in the journal.
  const Progress newest = progress_.newest();
  if (newest.attempt == job_.attempt() && newest.steps > 0) {
    status.steps = newest.steps;
    if (newest.step) status.step = newest.step;
    if (const auto speed = speed_.per_second(now)) status.steps_per_second = speed;
    if (stepped_at_ != base::Nanos{}) status.stepped = now - stepped_at_;
    status.metrics.clear();
    for (std::size_t i = 0; i < newest.metric_names.size(); ++i) {
      status.metrics.push_back({newest.metric_names[i], newest.metric_values[i]});
    }
  }
  const std::size_t known = std::min(nodes_.size(), status.nodes.size());
  nodes_.each([&](base::NodeId node, const NodeLink& link) {
    if (node.value >= known) return;
    NodeStatus& one = status.nodes[node.value];
    one = node_status(std::move(one), link);
  });
  if (is_up_or_starting()) {
    GroupWaitFold waits(job_.attempt(), now);
    nodes_.each([&](base::NodeId node, const NodeLink& link) {
      if (node.value < known) waits.take(status.nodes[node.value], link.stage);
    });
    status.group_wait = waits.result();
  }
  if (newest.attempt == job_.attempt()) note_steps_of_ranks(status);
  status.bandwidth = rows_of(hangs_.bandwidth().recent(now));
  note_time_left(status);
  arrange(status);
  return status;
}

// Workers that are being stopped wait for no rank.
bool Driver::Impl::is_up_or_starting() const {
  return job_.state() == JobState::kStarting || job_.state() == JobState::kRunning;
}

// Mostly no rank waits, which is cheaper to find out than the whole status.
void Driver::Impl::note_group_wait() {
  const base::Nanos now = parts_.clock.now();
  if (!is_up_or_starting() || !group_wait_watch_.wants_look(now)) return;
  bool some_wait = false;
  nodes_.each([&](base::NodeId, const NodeLink& link) {
    some_wait = some_wait || std::ranges::any_of(link.stage.ranks, waits_in_group);
  });
  const auto found = some_wait ? status().group_wait : std::nullopt;
  const auto news = group_wait_watch_.take(found, request_.spec.run_id, now);
  if (news) RR_LOG(kWarn, {}, "{}", *news);
}

void Driver::Impl::note_steps_of_ranks(RunStatus& status) const {
  for (NodeStatus& node : status.nodes) {
    for (std::uint32_t local = 0; local < node.ranks.size(); ++local) {
      const base::Rank rank{node.first_rank + local};
      node.ranks[local].steps = progress_.steps_of(rank);
      node.ranks[local].step = progress_.step_of(rank);
      ProgressTracker::DataWait data = progress_.data_wait_of(rank, parts_.clock.now());
      node.ranks[local].data_waited = data.waited;
      node.ranks[local].data_waiting = data.lasting;
      node.ranks[local].data_place = std::move(data.place);
    }
  }
}

// Before an attempt begins, stages of its nodes belong to the next attempt.
void Driver::Impl::note_stage(const NodeLink& link, NodeStatus& known) const {
  const wire::StageNews& news = link.stage;
  const bool is_old = news.attempt < job_.attempt() && news.rank;
  if (!news.stage || is_old || static_cast<std::size_t>(*news.stage) >= wire::kStageNames) {
    return;
  }
  known.stage = to_string(*news.stage);
  known.stage_took = std::max(base::Nanos{}, parts_.clock.now() - news.since);
  if (news.rank && news.rank->value < link.ranks.size()) {
    known.stage_rank = link.ranks[news.rank->value].value;
  }
}

NodeStatus Driver::Impl::node_status(NodeStatus known, const NodeLink& link) const {
  if (link.lost) {
    known.agent = AgentStatus::kLost;
  } else if (!link.joined) {
    known.agent = AgentStatus::kStarting;
  } else {
    known.agent = link.suspect || link.broken_at ? AgentStatus::kSuspect : AgentStatus::kJoined;
    known.heard = parts_.clock.now() - link.heard_at;
    if (link.broken_at) known.trouble = link.broken_why;
    note_stage(link, known);
  }
  if (!link.address.empty()) known.address = link.address;
  known.rack = racks_.of(known.name);
  return known;
}

// A finding about the machine that no agent made: the core stops the workers, and goes on without
// the node, as after any other sure fault of a machine.
base::Status Driver::Impl::evict(const std::string& name) {
  const auto node = nodes_.find(name);
  if (!node) {
    return base::fail(base::Errc::kInvalidArgument,
                      fmt::format("no node of this run is called '{}'",
                                  base::printable(name.substr(0, kNodeNameBytesMax))));
  }
  if (const std::string why = job_.why_not_evict(*node); !why.empty()) {
    return base::fail(base::Errc::kUnavailable, fmt::format("cannot evict {}: {}", name, why));
  }
  dispatch(NodeHealth{NodeHealth::Source::kUser, {}, "a user ordered its eviction"}, *node);
  return {};
}

// For `robustrun check`. stdout may be closed; the exit code has the result, too.
void Driver::Impl::write_verdicts(const NodesJudged& judged) {
  if (!request_.spec.check_only) return;
  static_cast<void>(base::write_all(parts_.out_fd, checks_.table(judged)));
}

}  // namespace robustrun::supervisor
