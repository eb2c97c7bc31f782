#include "supervisor/driver/translate.h"

#include "supervisor/core/types/limits.h"
#include "wire/messages/limits.h"
#include "wire/messages/node_health.h"

namespace robustrun::supervisor {
namespace {

// Not the supervisor's own stages, and none of a newer agent.
bool is_for_an_agent(StageName stage) {
  return stage >= StageName::kImage && stage <= StageName::kFirstStep;
}

bool is_possible(const wire::StageTime& time) {
  constexpr base::Nanos kLatest = base::Nanos::max() / 4;  // of any clock
  const bool ended = time.end != base::Nanos{};
  return time.begin >= base::Nanos{} && time.begin <= kLatest && time.took >= base::Nanos{} &&
         time.took <= kLatest && (!ended || (time.end <= kLatest && time.end >= time.begin)) &&
         (!ended || time.took <= time.end - time.begin);
}

}  // namespace

WorkerStarted to_event(const wire::WorkerStarted& message, base::Rank rank) {
  return {message.attempt, rank, message.pid, message.warm, message.ordered_by, message.cold};
}

WorkerStartFailed to_event(const wire::WorkerStartFailed& message, base::Rank rank) {
  return {message.attempt, rank, message.os_errno, message.what};
}

WorkerExited to_event(const wire::WorkerExited& message, base::Rank rank) {
  WorkerExited event;
  event.attempt = message.attempt;
  event.rank = rank;
  event.pid = message.pid;
  event.kind = message.end.kind;
  event.code = message.end.code;
  event.core_dumped = message.end.core_dumped;
  event.stopped_by_us = message.stopped_by_us;
  event.shim_lost = message.shim_lost;
  event.oom = message.oom <= OomKiller::kCgroup ? message.oom : OomKiller::kUnknown;
  if (message.error_file) {
    event.error_file = message.error_file->path;
    event.error_message = message.error_file->message;
    event.error_callstack = message.error_file->callstack;
    event.error_timestamp_s = message.error_file->timestamp_s;
  }
  event.stderr_tail = message.stderr_tail;
  event.dropped_bytes = message.dropped_bytes;
  event.seen_at = message.at;
  const bool is_known = message.script_end <= base::ScriptEnd::kFinished;
  event.script_end = is_known ? message.script_end : base::ScriptEnd::kNotSeen;
  return event;
}

NodeHealth checked(NodeHealth health) {
  if (static_cast<std::size_t>(health.source) >= wire::kHealthSources) {
    health.source = NodeHealth::Source::kKernel;
  }
  health.subject = wire::short_text(health.subject, wire::kHealthSubjectBytesMax);
  health.line = wire::short_text(health.line, wire::kHealthLineBytesMax);
  return health;
}

CheckpointDemoted checked(CheckpointDemoted answer) {
  answer.error = wire::short_text(answer.error, wire::kHealthLineBytesMax);
  return answer;
}

CheckpointMoved checked(CheckpointMoved report) {
  report.path = wire::short_text(report.path, wire::kMovedPathBytesMax);
  report.moved_to = wire::short_text(report.moved_to, wire::kMovedPathBytesMax);
  report.evidence = wire::short_text(report.evidence, wire::kHealthLineBytesMax);
  return report;
}

HeldCopiesSaved checked(HeldCopiesSaved answer) {
  if (answer.errors.size() > kEvidenceMax) answer.errors.resize(kEvidenceMax);
  for (std::string& error : answer.errors) {
    error = wire::short_text(error, wire::kHealthLineBytesMax);
  }
  return answer;
}

StartStages to_event(const wire::NodeStages& message, const std::vector<base::Rank>& ranks,
                     base::Nanos offset) {
  StartStages event{message.attempt, {}};
  for (const wire::StageTime& time : message.stages) {
    const bool is_next = event.stages.empty() || event.stages.back().stage < time.stage;
    if (!is_for_an_agent(time.stage) || !is_next || !is_possible(time)) continue;
    StageTime& told = event.stages.emplace_back();
    told.stage = time.stage;
    told.begin = time.begin + offset;
    if (time.end != base::Nanos{}) told.end = time.end + offset;
    told.took = time.took;
    if (time.slowest && time.slowest->value < ranks.size()) {
      told.slowest = ranks[time.slowest->value];
    }
  }
  return event;
}

wire::StartWorkers to_message(const StartWorkers& action, const std::vector<StreamRoutes>& routes) {
  wire::StartWorkers message;
  message.attempt = action.attempt;
  message.group_rank = action.group_rank;
  message.group_world_size = action.group_world_size;
  message.world_size = action.world_size;
  message.master_addr = action.master_addr;
  message.master_port = action.master_port;
  message.ordered_by = action.ordered_by;
  message.saving = action.saving;
  message.restarts = action.restarts;
  for (const Assignment worker : action.workers) {
    wire::WorkerSlot slot;
    slot.rank = worker.rank;
    slot.local_rank = worker.local_rank;
    slot.role_rank = worker.role_rank;
    if (worker.local_rank.value < routes.size()) {
      slot.out = routes[worker.local_rank.value].out;
      slot.err = routes[worker.local_rank.value].err;
    }
    message.slots.push_back(slot);
  }
  return message;
}

wire::StopWorkers to_message(const StopWorkers& action) {
  return {action.attempt, action.signal, action.grace, action.reason, action.save_first};
}

wire::PlaceCopies to_message(const PlaceCopies& action) {
  return {action.attempt, action.send, action.hold, action.fetch};
}

wire::SaveHeldCopies to_message(const SaveHeldCopies& action) {
  return {action.attempt, action.order, action.ranks};
}

wire::DemoteCheckpoint to_message(const DemoteCheckpoint& action) {
  constexpr const char* kReason = "failed-soon-after";
  return {action.order,    action.id.step,     action.id.generation,
          action.id.token, action.directories, kReason};
}

}  // namespace robustrun::supervisor
