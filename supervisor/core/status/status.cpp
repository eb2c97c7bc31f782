#include "supervisor/core/status/status.h"

#include <algorithm>
#include <utility>

#include "supervisor/core/report/facts.h"
#include "supervisor/core/types/json_writer.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
namespace {

NodeStatus planned(const NodeSpec& spec) {
  NodeStatus node;
  node.name = spec.name;
  node.address = spec.address;
  return node;
}

WorkerStage stage_after(const WorkerExited& exited) {
  if (exited.ended_well()) return WorkerStage::kSucceeded;
  return exited.stopped_by_us ? WorkerStage::kStopped : WorkerStage::kFailed;
}

}  // namespace

const char* to_string(AgentStatus status) {
  switch (status) {
    case AgentStatus::kStarting: return "starting";
    case AgentStatus::kJoined: return "joined";
    case AgentStatus::kSuspect: return "suspect";
    case AgentStatus::kLost: return "lost";
  }
  return "unknown";
}

const char* to_string(SupervisorStatus status) {
  switch (status) {
    case SupervisorStatus::kSilent: return "silent";
    case SupervisorStatus::kAnswers: return "answers";
    case SupervisorStatus::kEnded: return "ended";
  }
  return "unknown";
}

void StatusFold::take(const JournalEntry& entry) {
  if (const auto* event = std::get_if<Event>(&entry.what)) {
    take(*event);
  } else if (const auto* decision = std::get_if<Decision>(&entry.what)) {
    take(*decision, entry.at);
  } else if (const auto* group = std::get_if<GroupFormed>(&entry.what)) {
    take(*group);
  } else {
    now_.exit_code = std::get<Finish>(entry.what).exit_code;
  }
}

void StatusFold::take(const Event& event) {
  std::visit(
      [&](const auto& body) {
        using Body = std::decay_t<decltype(body)>;
        if constexpr (requires { body.attempt; }) {
          if (body.attempt.value > now_.attempt) begin_attempt(body.attempt);
        }
        if constexpr (std::is_same_v<Body, RunStarted>) {
          begin(event.at, body);
        } else if constexpr (std::is_same_v<Body, NodeOffered>) {
          if (now_.nodes.size() < kNodesMax) now_.nodes.push_back(planned(body.spec));
        } else if constexpr (std::is_same_v<Body, AgentJoined>) {
          if (NodeStatus* const joined = node(event.node)) {
            joined->agent = AgentStatus::kJoined;
            joined->pid = body.pid;
            if (!body.address.empty()) joined->address = body.address;
          }
        } else if constexpr (std::is_same_v<Body, AgentLost>) {
          if (NodeStatus* const lost = node(event.node)) {
            const AgentStatus before = std::exchange(lost->agent, AgentStatus::kLost);
            if (before == AgentStatus::kJoined) ++lost->losses;
            lost->pid = 0;
            lost->trouble = body.why;
          }
        } else if constexpr (std::is_same_v<Body, NodeHealth>) {
          NodeStatus* const planned = node(event.node);
          if (planned != nullptr && body.source == NodeHealth::Source::kScheduler) {
            planned->scheduler = body.over ? std::string() : body.line;
          }
        } else if constexpr (std::is_same_v<Body, Progress> ||
                             std::is_same_v<Body, CheckpointNoted>) {
          take(body);
        } else if constexpr (std::is_same_v<Body, Diagnosed>) {
          take(body, event.at);
        } else if constexpr (std::is_same_v<Body, WorkerStarted>) {
          note(body.attempt, body.rank, WorkerStage::kRunning, body.pid);
        } else if constexpr (std::is_same_v<Body, WorkerStartFailed>) {
          note(body.attempt, body.rank, WorkerStage::kFailed, 0);
        } else if constexpr (std::is_same_v<Body, WorkerExited>) {
          note(body.attempt, body.rank, stage_after(body), body.pid);
        } else if constexpr (std::is_same_v<Body, SupervisorResumed>) {
          now_.host = body.host;
          now_.pid = body.pid;
          // The new supervisor watches anew, and reports again what lasts. A confirmed hang ends
          // the attempt, unless ranks only do not end.
          const bool is_final =
              now_.hang && now_.hang->confirmed && now_.hang->finding != tracer::Finding::kNotEnded;
          if (!is_final) now_.hang.reset();
        }
      },
      event.body);
}

void StatusFold::begin(base::Nanos at, const RunStarted& run) {
  first_at_ = at;
  now_.run_id = run.spec.run_id;
  now_.program = run.spec.program;
  now_.command = run.spec.command;
  now_.version = run.version;
  now_.started = run.wall_time;
  now_.log_directory = run.spec.log_directory;
  now_.max_restarts = run.spec.restart.max_restarts;
  now_.stop_after_steps = run.spec.stop_after_steps;
  now_.nodes.clear();
  for (const NodeSpec& spec : run.spec.nodes) now_.nodes.push_back(planned(spec));
}

void StatusFold::begin_attempt(base::Attempt attempt) {
  now_.attempt = attempt.value;
  now_.steps = 0;
  now_.loaded_step.reset();
  now_.hang.reset();
  std::ranges::fill(ranks_, RankStatus{});
  stepped_at_.reset();
}

void StatusFold::take(const Decision& decision, base::Nanos at) {
  // After a kill the decision before it stays: it says why.
  if (decision.rule != Rule::kKilled) now_.decision = decision.text;
  if (is_about_places(decision.rule)) now_.placement = decision.text;
  if (decision.rule == Rule::kColdStart) now_.cold = decision.text;
  if (decision.rule == Rule::kSlowOver) now_.hang.reset();
  if (takes_out(decision.rule) || decision.rule == Rule::kNodeReturned) {
    for (const base::NodeId id : decision.nodes) {
      if (NodeStatus* const named = node(id)) named->evicted = takes_out(decision.rule);
    }
  }
  decided_at_ = at;
  const RuleRole role = role_of(decision.rule);
  const bool explains = decision.rule == Rule::kMismatch;  // what was the cause until now
  if (role == RuleRole::kCause && (cause_.empty() || explains)) cause_ = decision.text;
  if (role != RuleRole::kVerdict) return;
  if (decision.rule == Rule::kRestart) {
    ++now_.restarts;
    if (now_.last_restarts.size() == kRestartsKept) {
      now_.last_restarts.erase(now_.last_restarts.begin());
    }
    now_.last_restarts.push_back(
        {decision.attempt.value, elapsed(first_at_, at), cause_.empty() ? decision.text : cause_});
  }
  cause_.clear();
}

void StatusFold::take(const GroupFormed& group) {
  for (NodeStatus& each : now_.nodes) {
    each.node_rank.reset();
    each.first_rank = each.workers = 0;
  }
  now_.workers = 0;
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    const GroupMember& member = group.members[i];
    now_.workers += member.slots;
    NodeStatus* const found = node(member.node);
    if (found == nullptr) continue;
    found->node_rank = static_cast<std::uint32_t>(i);
    found->first_rank = member.first_rank;
    found->workers = member.slots;
    found->address = member.address;
  }
  ranks_.assign(now_.workers, {});
}

void StatusFold::take(const Progress& progress) {
  now_.steps = progress.steps;
  if (progress.step) now_.step = progress.step;
  if (!progress.metric_names.empty()) {
    now_.metrics.clear();
    const std::size_t count = std::min(progress.metric_names.size(), progress.metric_values.size());
    for (std::size_t i = 0; i < count; ++i) {
      now_.metrics.push_back({progress.metric_names[i], progress.metric_values[i]});
    }
  }
  if (!progress.bandwidth.empty()) now_.bandwidth = rows_of(progress.bandwidth);
  pace_.take(progress);
  if (progress.steps > 0 && progress.reached_at != base::Nanos{}) stepped_at_ = progress.reached_at;
}

void StatusFold::take(const CheckpointNoted& noted) {
  if (noted.what == CheckpointNoted::What::kCommitted) now_.committed_step = noted.id.step;
  if (noted.what == CheckpointNoted::What::kLoaded) now_.loaded_step = noted.id.step;
}

void StatusFold::take(const Diagnosed& diagnosed, base::Nanos at) {
  using Stage = Diagnosed::Stage;
  if (diagnosed.attempt.value != now_.attempt) return;
  const bool is_slow = is_slowness(diagnosed.verdict.finding);
  const bool is_shown = now_.hang && is_slowness(now_.hang->finding) == is_slow;
  if (diagnosed.stage == Stage::kPassed && is_shown) now_.hang.reset();
  const bool is_confirmed = diagnosed.stage == Stage::kConvicted;
  if (!is_confirmed && diagnosed.stage != Stage::kSuspected) return;
  const tracer::Verdict& verdict = diagnosed.verdict;
  const bool has_hang = now_.hang && !is_slowness(now_.hang->finding);
  if (has_hang && is_slowness(verdict.finding)) return;  // the graver one
  HangStatus& hang = now_.hang.emplace();
  hang.finding = verdict.finding;
  hang.confirmed = is_confirmed;
  hang.sentence = verdict.sentence;
  for (const base::Rank rank : verdict.culprits) hang.culprits.push_back(rank.value);
  hang.nodes = verdict.nodes;
  for (const base::Rank rank : verdict.victims) hang.victims.push_back(rank.value);
  if (verdict.ordinal != 0) hang.operation = to_string(verdict.signature.kind);
  hang.ordinal = verdict.ordinal;
  hang.group = verdict.group;
  hang.place = verdict.place;
  hang.lasting = verdict.lasting;
  hang_at_ = at;
}

void StatusFold::note(base::Attempt attempt, base::Rank rank, WorkerStage state, std::int32_t pid) {
  if (attempt.value != now_.attempt || rank.value >= ranks_.size()) return;
  ranks_[rank.value].state = state;
  if (pid > 0) ranks_[rank.value].pid = pid;
}

NodeStatus* StatusFold::node(base::NodeId id) {
  return id.value < now_.nodes.size() ? &now_.nodes[id.value] : nullptr;
}

std::optional<double> StatusFold::steps_per_second() const {
  return pace_.of(base::Attempt{now_.attempt});
}

RunStatus StatusFold::status(base::Nanos now) const {
  RunStatus status = now_;
  status.steps_per_second = steps_per_second();
  if (first_at_ != base::Nanos{}) status.uptime = elapsed(first_at_, now);
  status.decided = elapsed(decided_at_, now);
  if (stepped_at_) status.stepped = elapsed(*stepped_at_, now);
  if (status.hang) status.hang->lasting += elapsed(hang_at_, now);
  for (NodeStatus& each : status.nodes) {
    const std::size_t first = std::min<std::size_t>(each.first_rank, ranks_.size());
    const std::size_t count = std::min<std::size_t>(each.workers, ranks_.size() - first);
    const auto begin = ranks_.begin() + static_cast<std::ptrdiff_t>(first);
    each.ranks.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
  }
  return status;
}

void note_time_left(RunStatus& status) {
  status.left.reset();
  if (status.state != JobState::kRunning) return;
  status.left = time_left(step_goal(status.stop_after_steps, status.metrics), status.steps,
                          status.step, status.steps_per_second);
}

DataWaits data_waits_of(const RunStatus& status) {
  DataWaits waits;
  for (const NodeStatus& node : status.nodes) {
    for (std::uint32_t local = 0; local < node.ranks.size(); ++local) {
      const RankStatus& rank = node.ranks[local];
      const std::uint32_t number = node.first_rank + local;
      waits.skipped = std::max(waits.skipped, rank.data_skipped);
      if (rank.data_waited > waits.waited) {
        waits.waited = rank.data_waited;
        waits.waited_rank = number;
      }
      if (rank.state != WorkerStage::kRunning) continue;
      if (!rank.data_waiting || *rank.data_waiting < kDataWaitShown) continue;
      ++waits.waiting_ranks;
      if (waits.waiting != nullptr && *waits.waiting->data_waiting >= *rank.data_waiting) continue;
      waits.waiting = &rank;
      waits.waiting_rank = number;
    }
  }
  return waits;
}

void arrange(RunStatus& status) {
  std::ranges::stable_sort(status.nodes, {}, [](const NodeStatus& node) {
    return node.node_rank ? *node.node_rank : UINT32_MAX;
  });
}

RunStatus status_of_journal(const std::vector<JournalEntry>& entries) {
  StatusFold fold;
  Job job;
  base::Nanos last{};
  for (const JournalEntry& entry : entries) {
    last = std::max(last, entry.at);
    fold.take(entry);
    if (const auto* event = std::get_if<Event>(&entry.what)) job.handle(*event);
    if (std::holds_alternative<Finish>(entry.what)) break;  // afterwards agents only leave
  }
  RunStatus status = fold.status(last);
  status.state = status.exit_code ? JobState::kFinished : job.state();
  status.supervisor = status.exit_code ? SupervisorStatus::kEnded : SupervisorStatus::kSilent;
  status.restarts_used = job.restarts_used();
  note_time_left(status);
  arrange(status);
  return status;
}

std::string status_json(const RunStatus& status) { return JsonWriter::object(status); }

}  // namespace robustrun::supervisor
