#include "supervisor/console/run_console.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "base/core/words.h"
#include "base/io/log.h"
#include "supervisor/console/console_log.h"
#include "supervisor/core/fault/fault_class.h"
#include "supervisor/limits.h"

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

RunConsole::RunConsole(const boost::asio::any_io_executor& executor, const RunRequest& request,
                       Hands hands)
    : executor_(executor),
      request_(request),
      hands_(std::move(hands)),
      hub_(executor),
      live_timer_(executor) {}

RunConsole::~RunConsole() {
  if (console_) base::copy_log(nullptr);
}

void RunConsole::open(int out_fd, int err_fd) {
  console_ = Console::open(executor_, out_fd, err_fd, request_.console, request_.spec.role,
                           [this, alive = std::weak_ptr(alive_)] {
                             if (!alive.expired()) hands_.on_drained();
                           });
  console_->copy_to(
      [this](bool is_stderr, std::string_view bytes) { note_shown(is_stderr, bytes); });
  base::copy_log([this](std::string_view line) { note_shown(true, line); });
}

// Called from the log, too, so it must not log.
void RunConsole::note_shown(bool is_stderr, std::string_view bytes) {
  hub_.append(is_stderr, bytes);
  if (log_ == nullptr || !log_->note(bytes.size())) return;
  boost::asio::post(executor_, [this, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    if (const auto done = log_->rotate(*console_); !done) {
      RR_LOG(kWarn, {}, "{}; the console's file grows on", done.error().what);
    }
  });
}

void RunConsole::introduce(const base::Clock& clock) const {
  const JobSpec& spec = request_.spec;
  if (spec.compat || spec.check_only) return;
  const std::string where =
      is_alone(spec) ? fmt::format("{} on {}", base::counted(spec.nodes[0].slots, "worker"),
                                   spec.nodes[0].name)
                     : base::counted(spec.nodes.size(), "node");
  RR_LOG(kInfo, {}, "run {}: {}, {}, {}, times in {}", spec.run_id, spec.program, where,
         spec.log_directory.empty() ? "no logs" : "logs in " + spec.log_directory,
         time_zone_words(clock));
}

void RunConsole::show_live() {
  if (!request_.console.live) return;
  console_->show_live(hands_.live_line());
  live_timer_.after(kLiveLineInterval, [this] { show_live(); });
}

void RunConsole::stop_live() { live_timer_.cancel(); }

void RunConsole::write(const wire::Output& output, std::string_view host) {
  if (is_shown(output.rank)) console_->write(output, host);
}

bool RunConsole::is_shown(base::Rank rank) const {
  const auto& ranges = request_.shown_ranks;
  return ranges.empty() || std::ranges::any_of(ranges, [rank](const RankRange& range) {
           return range.first <= rank.value && rank.value <= range.last;
         });
}

void RunConsole::begin_workers() {
  if (may_fold_tracebacks()) console_->fold_tracebacks(TracebackFold::kHold);
  console_->end_bars();
}

// They are whole in the logs alone.
bool RunConsole::may_fold_tracebacks() const {
  return !request_.spec.compat && !request_.spec.log_directory.empty();
}

void RunConsole::announce(const Decision& decision, std::optional<base::Rank> exited) {
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
    case Rule::kRestart: RR_LOG(kInfo, {}, "{}", decision.text); break;
    case Rule::kColdStart: RR_LOG(kDebug, {}, "{}", decision.text); break;
    case Rule::kSignal:
    case Rule::kTimeLimit:
    case Rule::kWorkerFailed:
      // What other ranks print while they end follows from this, and is in their logs.
      if (may_fold_tracebacks()) console_->fold_tracebacks(TracebackFold::kAll, exited);
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
    case Rule::kKilled:
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
    case Rule::kSecondSignal:
    case Rule::kPreempted: RR_LOG(kWarn, {}, "{}", decision.text); break;
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

void RunConsole::show(const GroupFormed& group) const {
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

void RunConsole::end(std::function<void()> done) {
  console_->flush([this, alive = std::weak_ptr(alive_), done = std::move(done)] {
    if (alive.expired()) return;
    if (!end_line_.empty()) RR_LOG(kInfo, {}, "{}", end_line_);
    hub_.end(done);
  });
}

}  // namespace robustrun::supervisor
