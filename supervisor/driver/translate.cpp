#include "supervisor/driver/translate.h"

#include "supervisor/core/types/limits.h"
#include "wire/messages/limits.h"

namespace robustrun::supervisor {
namespace {

Oom to_oom(wire::OomKiller killer) {
  switch (killer) {
    case wire::OomKiller::kNo: return Oom::kNo;
    case wire::OomKiller::kUnknown: return Oom::kUnknown;
    case wire::OomKiller::kKernel: return Oom::kKernel;
    case wire::OomKiller::kCgroup: return Oom::kCgroup;
  }
  return Oom::kUnknown;  // a value of a newer agent
}

NodeHealth::Source to_source(wire::NodeHealth::Source source) {
  switch (source) {
    case wire::NodeHealth::Source::kKernel: return NodeHealth::Source::kKernel;
    case wire::NodeHealth::Source::kGpu: return NodeHealth::Source::kGpu;
    case wire::NodeHealth::Source::kNetwork: return NodeHealth::Source::kNetwork;
    case wire::NodeHealth::Source::kDisk: return NodeHealth::Source::kDisk;
    case wire::NodeHealth::Source::kMemory: return NodeHealth::Source::kMemory;
    case wire::NodeHealth::Source::kProcessor: return NodeHealth::Source::kProcessor;
    case wire::NodeHealth::Source::kClock: return NodeHealth::Source::kClock;
  }
  return NodeHealth::Source::kKernel;  // a value of a newer agent
}

std::optional<Stage> to_stage(wire::StageName name) {
  switch (name) {
    case wire::StageName::kAllocate:
    case wire::StageName::kConnect: return std::nullopt;  // not for the agent to say
    case wire::StageName::kImage: return Stage::kImage;
    case wire::StageName::kEnvironment: return Stage::kEnvironment;
    case wire::StageName::kImports: return Stage::kImports;
    case wire::StageName::kProcessGroup: return Stage::kProcessGroup;
    case wire::StageName::kModel: return Stage::kModel;
    case wire::StageName::kLoad: return Stage::kLoad;
    case wire::StageName::kFirstStep: return Stage::kFirstStep;
  }
  return std::nullopt;  // a value of a newer agent
}

bool is_possible(const wire::StageTime& time) {
  constexpr base::Nanos kLatest = base::Nanos::max() / 4;  // of any clock
  const bool ended = time.end != base::Nanos{};
  return time.begin >= base::Nanos{} && time.begin <= kLatest && time.took >= base::Nanos{} &&
         time.took <= kLatest && (!ended || (time.end <= kLatest && time.end >= time.begin)) &&
         (!ended || time.took <= time.end - time.begin);
}

wire::StopReason to_reason(StopCause cause) {
  switch (cause) {
    case StopCause::kRestart: return wire::StopReason::kRestart;
    case StopCause::kPreempt: return wire::StopReason::kPreempt;
    case StopCause::kStop: return wire::StopReason::kStop;
  }
  return wire::StopReason::kStop;
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
  event.oom = to_oom(message.oom);
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

WorkersGone to_event(const wire::WorkersGone& message) {
  return {message.attempt, message.descendants_killed, message.unkillable, message.shm_removed,
          message.saving};
}

PortReserved to_event(const wire::PortReserved& message) {
  return {message.attempt, message.port, message.error};
}

NodeHealth to_event(const wire::NodeHealth& message) {
  NodeHealth event;
  event.source = to_source(message.source);
  event.subject = wire::short_text(message.subject, wire::kHealthSubjectBytesMax);
  event.line = wire::short_text(message.line, wire::kHealthLineBytesMax);
  event.xid = message.xid;
  event.over = message.over;
  return event;
}

StartStages to_event(const wire::NodeStages& message, const std::vector<base::Rank>& ranks,
                     base::Nanos offset) {
  StartStages event{message.attempt, {}};
  for (const wire::StageTime& time : message.stages) {
    const std::optional<Stage> stage = to_stage(time.stage);
    const bool is_next = stage && (event.stages.empty() || event.stages.back().stage < *stage);
    if (!is_next || !is_possible(time)) continue;
    StageTime& told = event.stages.emplace_back();
    told.stage = *stage;
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
  return {action.attempt, action.signal, action.grace, to_reason(action.cause), action.save_first};
}

CheckpointDemoted to_event(const wire::CheckpointDemoted& message) {
  return {message.order, wire::short_text(message.error, wire::kHealthLineBytesMax)};
}

HeldCopiesSaved to_event(const wire::HeldCopiesSaved& message) {
  HeldCopiesSaved event{message.attempt, message.order, message.saved, {}, message.saving};
  for (const std::string& error : message.errors) {
    if (event.errors.size() == kEvidenceMax) break;
    event.errors.push_back(wire::short_text(error, wire::kHealthLineBytesMax));
  }
  return event;
}

SavingOver to_event(const wire::SavingOver& message) { return {message.attempt, message.order}; }

wire::PlaceCopies to_message(const PlaceCopies& action) {
  const auto routes = [](const std::vector<CopyRoute>& from) {
    std::vector<wire::CopyRoute> to;
    for (const CopyRoute& one : from) {
      to.push_back({one.rank, one.node, one.generation, one.endpoint});
    }
    return to;
  };
  return {action.attempt, routes(action.send), routes(action.hold), routes(action.fetch)};
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
