// The driver's half that listens: what agents say.

#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/io/log.h"
#include "supervisor/core/types/exit_code.h"
#include "supervisor/driver/impl.h"
#include "supervisor/driver/translate.h"
#include "supervisor/limits.h"

namespace robustrun::supervisor {
namespace {

constexpr const char* kUsedByAnother = "another supervisor, which this one has followed, uses it";

}  // namespace

template <class Report>
void Driver::Impl::pass_to_checks(base::NodeId node, Report& report) {
  for (const auto& [number, check] : std::map(checks_)) check->on_report(node, report);
}

void Driver::Impl::on_message(base::NodeId node, base::Generation generation,
                              wire::Message message) {
  NodeLink& link = nodes_[node.value];
  if (link.generation != generation) return;
  link.heard_at = parts_.clock.now();
  std::visit(
      [&](auto& report) {
        using T = std::decay_t<decltype(report)>;
        base::Rank rank;
        if constexpr (std::is_same_v<T, wire::Output>) {
          if (is_shown(report.rank)) console_->write(report, link.host);
          if (console_->congested()) pause(link);
        } else if constexpr (std::is_same_v<T, wire::WorkerStarted>) {
          if (job_.is_foreign(node, report.attempt, report.ordered_by)) {
            return lose(node, kUsedByAnother, true);
          }
          if (rank_of(node, report.local_rank, &rank)) dispatch(to_event(report, rank), node);
        } else if constexpr (std::is_same_v<T, wire::WorkerStartFailed>) {
          if (rank_of(node, report.local_rank, &rank)) dispatch(to_event(report, rank), node);
        } else if constexpr (std::is_same_v<T, wire::PortReserved>) {
          const bool is_for_replay = replay_ && replay_->on_report(node, report);
          if (!is_for_replay) dispatch(std::move(report), node);
        } else if constexpr (std::is_same_v<T, wire::NodeReplayed>) {
          if (replay_) replay_->on_report(node, report);
        } else if constexpr (std::is_same_v<T, WorkersGone> || std::is_same_v<T, SavingOver>) {
          dispatch(std::move(report), node);
        } else if constexpr (requires { checked(report); }) {
          dispatch(checked(std::move(report)), node);
        } else if constexpr (std::is_same_v<T, wire::CheckReady> ||
                             std::is_same_v<T, wire::NodeChecked> ||
                             std::is_same_v<T, wire::PeersMeasured>) {
          pass_to_checks(node, report);
        } else if constexpr (std::is_same_v<T, wire::StandbyModules>) {
          spare_standbys_.note_modules(report);
        } else if constexpr (requires { on_report(node, report); }) {
          on_report(node, report);
        }
        // Orders of ours never come back.
      },
      message);
}

void Driver::Impl::on_report(base::NodeId node, const wire::Hello& hello) {
  NodeLink& link = nodes_[node.value];
  if (hello.protocol != wire::kProtocolVersion) {
    RR_LOG(kError, ({.node = node_name(node)}),
           "the agent speaks protocol {}, we speak {}: install the same robustrun everywhere",
           hello.protocol, wire::kProtocolVersion);
    link.channel->close();
    link.channel.reset();
    return;
  }
  // Its workers may not have started yet.
  const bool is_foreign =
      link.joined && hello.attempt && job_.is_foreign(node, *hello.attempt, hello.ordered_by);
  if (is_foreign) {
    // An agent that has another supervisor stays with it, unless it knows that we came later.
    send(node, welcome_for(node));
    return lose(node, kUsedByAnother, true);
  }
  note_clock(link, hello.at);
  const auto& planned = request_.spec.nodes;
  if (!hello.address.empty()) {
    link.address = hello.address;
  } else if (node.value < planned.size()) {
    link.address = planned[node.value].address;
  }
  link.host = hello.host;
  link.bulk = hello.bulk;
  send(node, welcome_for(node));
  if (std::exchange(link.joined, true)) {
    spare_standbys_.forget(node);
    for (const auto& [number, check] : std::map(checks_)) check->on_connected_again(node);
    if (replay_) replay_->on_connected_again(node);
    share_blocks(false);
    return repeat_orders(node);
  }
  const base::Nanos now = parts_.clock.now();
  base::Nanos began{};
  if (hello.began > base::Nanos{} && hello.at >= hello.began && hello.at - hello.began <= now) {
    began = std::max(now - (hello.at - hello.began), link.asked_at);
  }
  dispatch(AgentJoined{hello.pid, hello.address, hello.slots, hello.listens, hello.bulk,
                       link.asked_at, began},
           node);
  share_blocks(false);
}

void Driver::Impl::on_report(base::NodeId node, const wire::NodeStages& report) {
  if (report.attempt != job_.attempt()) return;
  const NodeLink& link = nodes_[node.value];
  StartStages stages = to_event(report, link.ranks, link.clock_offset);
  if (!stages.stages.empty()) dispatch(std::move(stages), node);
}

void Driver::Impl::on_report(base::NodeId node, wire::StageNews& news) {
  NodeLink& link = nodes_[node.value];
  news.since += link.clock_offset;
  for (wire::RankStage& rank : news.ranks) rank.since += link.clock_offset;
  link.stage = std::move(news);
}

// The agent obeys another supervisor: the run is not ours any more, and neither is its journal.
void Driver::Impl::on_report(base::NodeId node, const wire::Refused& refused) {
  if (std::exchange(finished_, true)) return;
  RR_LOG(kError, ({.node = node_name(node)}), "{}; this supervisor steps down", refused.text);
  exit_code_ = kExitFailure;
  parts_.launcher.abandon();
  // No agent is dismissed: the other supervisor's agents must not end with us.
  for (NodeLink& link : nodes_) {
    if (link.channel) std::exchange(link.channel, nullptr)->close();
  }
  say_goodbye();
}

void Driver::Impl::on_report(base::NodeId node, wire::WorkerProgress& report) {
  base::Rank rank;
  if (report.attempt != job_.attempt() || !rank_of(node, report.local_rank, &rank)) return;
  const base::Nanos offset = nodes_[node.value].clock_offset;
  for (auto* at : {&report.user_code_at, &report.first_step_at, &report.last_step_at}) {
    if (*at) **at += offset;
  }
  line_news_.note(rank, report);
  for (Progress& mark : progress_.take(rank, report, node)) dispatch(std::move(mark), node);
  for (MetricAlarm& alarm : progress_.watch(rank, report, parts_.clock.now())) {
    dispatch(std::move(alarm));
  }
  if (request_.spec.stop_after_steps && !step_goal_sent_ &&
      progress_.steps_done() >= *request_.spec.stop_after_steps) {
    step_goal_sent_ = true;
    if (auto summary = progress_.summary()) dispatch(*std::move(summary), node);
    dispatch(StepGoalReached{report.attempt, progress_.steps_done()}, node);
  }
}

void Driver::Impl::on_report(base::NodeId node, wire::WorkerExited& report) {
  base::Rank rank;
  if (!rank_of(node, report.local_rank, &rank)) return;
  report.at += nodes_[node.value].clock_offset;
  // So that the journal knows the last step before a failure, and the final metrics.
  if (auto summary = progress_.summary()) dispatch(*std::move(summary), node);
  tell(checkpoints_.rest());
  WorkerExited exited = to_event(report, rank);
  exited.traced = request_.workers.trace;
  if (report.attempt == job_.attempt()) {
    exited.steps = progress_.steps_of(rank);
    exited.step = progress_.step_of(rank);
  }
  dispatch(std::move(exited), node);
}

void Driver::Impl::on_report(base::NodeId node, wire::CheckpointNote& note) {
  base::Rank rank;
  if (!rank_of(node, note.local_rank, &rank)) return;
  tell(checkpoints_.take(rank, node, std::move(note), parts_.clock.now()));
}

void Driver::Impl::tell(const std::vector<CheckpointWatch::News>& news) {
  for (const CheckpointWatch::News& one : news) dispatch(one.event, one.node);
}

void Driver::Impl::arm_summary() {
  summary_timer_.expires_after(kSummaryInterval);
  summary_timer_.async_wait([self = weak_from_this()](const boost::system::error_code& error) {
    auto driver = error ? nullptr : self.lock();
    if (!driver || driver->finished_) return;
    if (auto summary = driver->progress_.summary()) driver->dispatch(*std::move(summary));
    driver->tell(driver->checkpoints_.rest());
    driver->arm_summary();
  });
}

void Driver::Impl::on_report(base::NodeId node, const wire::Notice& notice) {
  const auto level = static_cast<base::LogLevel>(
      std::min<std::uint8_t>(notice.level, static_cast<std::uint8_t>(base::LogLevel::kError)));
  if (base::log_enabled(level)) {
    base::log_line(level, {.node = node_name(node), .rank = notice.rank}, notice.text);
  }
}

void Driver::Impl::on_report(base::NodeId node, const wire::Heartbeat& heartbeat) {
  note_clock(nodes_[node.value], heartbeat.at);
}

// An agent that another process told to end reports that before it ends.
void Driver::Impl::on_report(base::NodeId node, const wire::Bye&) {
  if (agent_listener_ && !finished_) lose(node, "it was told to end on its node", true);
}

void Driver::Impl::on_report(base::NodeId node, const wire::Injected& injected) {
  injector_->on_report(node, injected);
}

void Driver::Impl::on_report(base::NodeId node, wire::NodeEnding& ending) {
  const bool is_of_slurm = ending.signal == 0;
  dispatch(std::move(ending), node);
  if (is_of_slurm && parts_.ask_slurm) signalled_by_slurm();
}

// Clocks of machines start with their boot. The message that was under way for the shortest time
// tells the difference best. On one machine there is none.
void Driver::Impl::note_clock(NodeLink& link, base::Nanos theirs) const {
  if (!agent_listener_ || theirs == base::Nanos{}) return;
  const base::Nanos difference = parts_.clock.now() - theirs;
  const bool known = link.clock_offset != base::Nanos{};
  link.clock_offset = known ? std::min(link.clock_offset, difference) : difference;
}

bool Driver::Impl::is_shown(base::Rank rank) const {
  const auto& ranges = request_.shown_ranks;
  return ranges.empty() || std::ranges::any_of(ranges, [rank](const RankRange& range) {
           return range.first <= rank.value && rank.value <= range.last;
         });
}

bool Driver::Impl::rank_of(base::NodeId node, base::LocalRank local_rank, base::Rank* rank) const {
  const auto& ranks = nodes_[node.value].ranks;
  if (local_rank.value >= ranks.size()) return false;
  *rank = ranks[local_rank.value];
  return true;
}

// The console is slower than the workers: the node waits, and cannot be called silent meanwhile.
void Driver::Impl::pause(NodeLink& link) {
  if (!link.channel || link.paused) return;
  link.paused = true;
  link.channel->pause_reading();
}

void Driver::Impl::resume(NodeLink& link) {
  if (!link.channel || !link.paused) return;
  link.paused = false;
  link.heard_at = parts_.clock.now();
  link.channel->resume_reading();
}

}  // namespace robustrun::supervisor
