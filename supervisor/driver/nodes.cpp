// The driver's half that listens: what agents say.

#include <algorithm>
#include <csignal>
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

template <class T, class... Others>
inline constexpr bool kIsOneOf = (std::is_same_v<T, Others> || ...);
// What only a supervisor sends, and what opens a connection before there is an agent.
template <class T>
inline constexpr bool kIsOrder =
    kIsOneOf<T, wire::Welcome, wire::ReservePort, wire::StartWorkers, wire::StopWorkers,
             wire::SignalWorkers, wire::Dismiss, wire::Enrol, wire::Enrolled, wire::Inject,
             wire::CheckNode, wire::ReachPeers, wire::MeasurePeers, wire::EndCheck, wire::Observe,
             wire::ReplayNode, wire::EndReplay, wire::KeepStandbys, wire::DemoteCheckpoint,
             wire::PlaceCopies, wire::SaveHeldCopies, wire::CopyRound, wire::BlockPeers,
             wire::CodeBlock>;
template <class T>
inline constexpr bool kIsOfChecks =
    kIsOneOf<T, wire::CheckReady, wire::NodeChecked, wire::PeersMeasured, wire::NodeReplayed>;
template <class T>
inline constexpr bool kIsOfHangs =
    kIsOneOf<T, wire::CollectiveProgress, wire::Overdue, wire::BandwidthReport>;
template <class T>
inline constexpr bool kIsOfLooks = kIsOneOf<T, wire::Observed, wire::RasAnswer>;

}  // namespace

void Driver::Impl::on_message(base::NodeId node, base::Generation generation,
                              wire::Message message) {
  if (nodes_[node].generation != generation) return;
  nodes_[node].heard_at = parts_.clock.now();
  std::visit(
      [&](auto& report) {
        using T = std::decay_t<decltype(report)>;
        if constexpr (kIsOrder<T>) {
          // Of ours, which never comes back.
        } else if constexpr (kIsOfChecks<T>) {
          checks_.on_report(node, report);
        } else if constexpr (kIsOfHangs<T>) {
          hangs_.on_report(node, report);
        } else if constexpr (kIsOfLooks<T>) {
          looks_.on_report(node, report);
        } else if constexpr (std::is_same_v<T, wire::CopiesKept>) {
          copies_.on_report(node, report);
        } else if constexpr (std::is_same_v<T, wire::CodeWanted>) {
          blocks_.on_report(node, report);
        } else {
          on_report(node, report);
        }
      },
      message);
}

void Driver::Impl::on_report(base::NodeId node, const wire::Output& output) {
  if (is_shown(output.rank)) console_->write(output, nodes_[node].host);
  if (console_->congested()) pause(nodes_[node]);
}

void Driver::Impl::on_report(base::NodeId node, const wire::WorkerStarted& started) {
  if (job_.is_foreign(node, started.attempt, started.ordered_by)) {
    return lose(node, kUsedByAnother, true);
  }
  const auto rank = nodes_.rank_of(node, started.local_rank);
  if (rank) dispatch(to_event(started, *rank), node);
}

void Driver::Impl::on_report(base::NodeId node, const wire::WorkerStartFailed& failed) {
  const auto rank = nodes_.rank_of(node, failed.local_rank);
  if (rank) dispatch(to_event(failed, *rank), node);
}

void Driver::Impl::on_report(base::NodeId node, wire::PortReserved& report) {
  if (!checks_.takes_port(node, report)) dispatch(std::move(report), node);
}

void Driver::Impl::on_report(base::NodeId node, wire::WorkersGone& report) {
  dispatch(std::move(report), node);
}

void Driver::Impl::on_report(base::NodeId node, const wire::SavingOver& report) {
  dispatch(report, node);
}

void Driver::Impl::on_report(base::NodeId node, wire::NodeHealth& report) {
  dispatch(checked(std::move(report)), node);
}

void Driver::Impl::on_report(base::NodeId node, wire::CheckpointDemoted& report) {
  dispatch(checked(std::move(report)), node);
}

void Driver::Impl::on_report(base::NodeId node, wire::CheckpointMoved& report) {
  dispatch(checked(std::move(report)), node);
}

void Driver::Impl::on_report(base::NodeId node, wire::HeldCopiesSaved& report) {
  dispatch(checked(std::move(report)), node);
}

void Driver::Impl::on_report(base::NodeId, const wire::StandbyModules& report) {
  spare_standbys_.note_modules(report);
}

void Driver::Impl::on_report(base::NodeId node, const wire::Hello& hello) {
  NodeLink& link = nodes_[node];
  if (hello.protocol != wire::kProtocolVersion) {
    RR_LOG(kError, ({.node = nodes_.name(node)}),
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
    nodes_.send(node, welcome_for(node));
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
  link.addresses = hello.addresses;
  link.bulk = hello.bulk;
  nodes_.send(node, welcome_for(node));
  if (std::exchange(link.joined, true)) {
    spare_standbys_.forget(node);
    checks_.on_connected_again(node);
    blocks_.on_joined();
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
  blocks_.on_joined();
}

void Driver::Impl::on_report(base::NodeId node, const wire::NodeStages& report) {
  if (report.attempt != job_.attempt()) return;
  const NodeLink& link = nodes_[node];
  StartStages stages = to_event(report, link.ranks, link.clock_offset);
  if (!stages.stages.empty()) dispatch(std::move(stages), node);
}

void Driver::Impl::on_report(base::NodeId node, wire::StageNews& news) {
  NodeLink& link = nodes_[node];
  news.since += link.clock_offset;
  for (wire::RankStage& rank : news.ranks) rank.since += link.clock_offset;
  link.stage = std::move(news);
}

// The agent obeys another supervisor: the run is not ours any more, and neither is its journal.
void Driver::Impl::on_report(base::NodeId node, const wire::Refused& refused) {
  if (std::exchange(finished_, true)) return;
  end_parts();
  RR_LOG(kError, ({.node = nodes_.name(node)}), "{}; this supervisor steps down", refused.text);
  exit_code_ = kExitFailure;
  parts_.launcher.abandon();
  // No agent is dismissed: the other supervisor's agents must not end with us.
  nodes_.each([](base::NodeId, NodeLink& link) {
    if (link.channel) std::exchange(link.channel, nullptr)->close();
  });
  say_goodbye();
}

void Driver::Impl::on_report(base::NodeId node, wire::WorkerProgress& report) {
  const auto known = nodes_.rank_of(node, report.local_rank);
  if (report.attempt != job_.attempt() || !known) return;
  const base::Rank rank = *known;
  const base::Nanos offset = nodes_[node].clock_offset;
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
    if (auto summary = this->summary()) dispatch(*std::move(summary), node);
    dispatch(StepGoalReached{report.attempt, progress_.steps_done()}, node);
  }
}

void Driver::Impl::on_report(base::NodeId node, wire::WorkerExited& report) {
  const auto known = nodes_.rank_of(node, report.local_rank);
  if (!known) return;
  const base::Rank rank = *known;
  report.at += nodes_[node].clock_offset;
  // So that the journal knows the last step before a failure, and the final metrics.
  if (auto summary = this->summary()) dispatch(*std::move(summary), node);
  tell(checkpoints_.rest());
  WorkerExited exited = to_event(report, rank);
  exited.traced = request_.workers.trace;
  if (report.attempt == job_.attempt()) {
    exited.steps = progress_.steps_of(rank);
    exited.step = progress_.step_of(rank);
    if (exited.ended_well()) hangs_.note_ended();
  }
  dispatch(std::move(exited), node);
}

void Driver::Impl::on_report(base::NodeId node, wire::CheckpointNote& note) {
  const auto rank = nodes_.rank_of(node, note.local_rank);
  if (!rank) return;
  tell(checkpoints_.take(*rank, node, std::move(note), parts_.clock.now()));
}

void Driver::Impl::tell(const std::vector<CheckpointWatch::News>& news) {
  for (const CheckpointWatch::News& one : news) dispatch(one.event, one.node);
}

std::optional<Progress> Driver::Impl::summary() {
  std::optional<Progress> made = progress_.summary();
  if (made && made->attempt == job_.attempt()) made->bandwidth = hangs_.bandwidth().total();
  return made;
}

void Driver::Impl::arm_summary() {
  summary_timer_.after(kSummaryInterval, [this] {
    if (finished_) return;
    if (auto summary = this->summary()) dispatch(*std::move(summary));
    tell(checkpoints_.rest());
    arm_summary();
  });
}

void Driver::Impl::on_report(base::NodeId node, const wire::Notice& notice) {
  const auto level = static_cast<base::LogLevel>(
      std::min<std::uint8_t>(notice.level, static_cast<std::uint8_t>(base::LogLevel::kError)));
  if (base::log_enabled(level)) {
    base::log_line(level, {.node = nodes_.name(node), .rank = notice.rank}, notice.text);
  }
}

void Driver::Impl::on_report(base::NodeId node, const wire::Heartbeat& heartbeat) {
  note_clock(nodes_[node], heartbeat.at);
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
  // A job that brought one node ends alone: all workers save, and the run goes on without it.
  const bool ends_alone =
      request_.spec.group.replace > 0 && node.value >= request_.spec.nodes.size();
  if (is_of_slurm && ends_alone) ending.signal = SIGTERM;
  dispatch(std::move(ending), node);
  if (is_of_slurm && !ends_alone && slurm_.may_signal()) slurm_.signalled();
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
