#include "tracer/nccl/operations.h"

#include <cstddef>

#include "tracer/nccl/communicators.h"
#include "tracer/nccl/mask.h"
#include "tracer/nccl/operation_slots.h"
#include "tracer/nccl/words.h"

namespace robustrun::tracer::nccl {
namespace {

constexpr std::uint32_t kMostChannels = 64;  // MAXCHANNELS

void enter(Tables& t, const Task& task, std::uint64_t& ordinal, std::uint64_t now) {
  if (is_with_peer(task.kind)) return;
  RecordCommunicator& comm = t.communicators[task.comm];
  ordinal = add<std::uint64_t>(comm.entered, 1) + 1;
  set(comm.entered_at_ns, now);
  sign(t, task, ordinal);
}

void enter_peer(Tables& t, const Task& task, std::uint64_t& ordinal, std::uint64_t now) {
  if (!is_with_peer(task.kind)) return;
  RecordCommunicator& comm = t.communicators[task.comm];
  add<std::uint64_t>(comm.p2p_entered, 1);
  set(comm.entered_at_ns, now);
  RecordEdge* const edge = edge_to(t, task.comm, task.root);
  if (edge == nullptr) return;
  const bool is_send = task.kind == OpKind::kSend;
  ordinal = add<std::uint64_t>(is_send ? edge->sends_entered : edge->recvs_entered, 1) + 1;
}

void set_started(RecordOperation& row, std::uint16_t index, const Task& task, std::uint64_t now) {
  set(row.started_at_ns, now);
  set(row.changed_at_ns, now);
  set(row.channels, task.channels);
  set<std::uint8_t>(row.blind, tells_flows(now) ? 0 : 1);
  set(state_of(index).awaits_kernel, counts_kernels(task.comm) && task.channels != 0);
}

// What was called before goes on. Null: it is not one that waits for that.
void* start_called(Tables& t, const Task& task, Handle call, std::uint64_t now) {
  if (call.index >= kOperationSlots) return nullptr;
  RecordOperation& row = t.operations[call.index];
  const std::uint64_t state = get_published(row.state);
  const std::uint64_t generation = generation_of(state);
  if (phase_in(state) != RecordPhase::kCalled || !is_of(call, generation)) return nullptr;
  const auto kind = static_cast<OpKind>(get(row.kind));
  if (get(row.comm_slot) != task.comm || is_with_peer(kind) != is_with_peer(task.kind)) {
    return nullptr;
  }
  if (!move(row, generation, RecordPhase::kCalled, RecordPhase::kWriting)) return nullptr;
  if (is_with_peer(kind)) {
    std::uint64_t ordinal = 0;
    enter_peer(t, task, ordinal, now);
    set(row.ordinal, ordinal);
    set(row.root, task.root);
  }
  set_started(row, call.index, task, now);
  const bool in_time = take_report(t, task.comm, get(row.batch));
  if (!is_with_peer(kind)) {
    // What was given up is counted already.
    set(state_of(call.index).is_counted, !in_time);
    if (in_time) add<std::uint64_t>(t.communicators[task.comm].started, 1);
  }
  publish(row.state, record_state(generation, RecordPhase::kStarted));
  return pack({HandleKind::kTask, generation, call.index, 0});
}

}  // namespace

void* call_operation(Tables& t, const Task& task, std::uint64_t group, std::uint64_t now) {
  const Batch batch = batch_of(t, task.comm, group);
  const OperationSlot slot = claim_operation(t);
  std::uint64_t ordinal = 0;
  enter(t, task, ordinal, now);
  if (slot.index == kNoSlot) {
    return pack({HandleKind::kDropped, generation_of_communicator(task.comm), task.comm, 0});
  }
  await_report(task.comm);
  fill(t, slot, task, ordinal, batch, now);
  publish(t.operations[slot.index].state, record_state(slot.generation, RecordPhase::kCalled));
  return pack({HandleKind::kCall, slot.generation, slot.index, 0});
}

void end_call(Tables& t, Handle call) {
  std::size_t comm = call.index;  // of calls without a slot
  if (call.kind == HandleKind::kCall) {
    if (call.index >= kOperationSlots) return;
    RecordOperation& row = t.operations[call.index];
    if (!is_of(call, generation_of(get_published(row.state)))) return;
    comm = get(row.comm_slot);
  }
  if (comm < kCommunicatorSlots) set<std::uint64_t>(t.communicators[comm].in_call_at_ns, 0);
}

void* start_task(Tables& t, const Task& task, Handle parent, std::uint64_t group,
                 std::uint64_t now) {
  if (parent.kind == HandleKind::kCall) {
    void* const started = start_called(t, task, parent, now);
    if (started != nullptr) return started;
  }
  const bool was_called = parent.kind == HandleKind::kDropped && parent.index == task.comm;
  const Batch batch = was_called ? newest_batch(t, task.comm) : batch_of(t, task.comm, group);
  const OperationSlot slot = was_called ? OperationSlot{} : claim_operation(t);
  std::uint64_t ordinal = 0;
  if (!was_called) enter(t, task, ordinal, now);
  enter_peer(t, task, ordinal, now);
  if (!is_with_peer(task.kind)) add<std::uint64_t>(t.communicators[task.comm].started, 1);
  if (slot.index == kNoSlot) {
    // Nobody will see its end.
    if (is_with_peer(task.kind)) {
      add<std::uint64_t>(t.communicators[task.comm].p2p_done, 1);
    } else {
      count_done(t, task.comm, batch.before, 1, false);
    }
    return nullptr;
  }
  RecordOperation& row = t.operations[slot.index];
  fill(t, slot, task, ordinal, batch, now);
  set_started(row, slot.index, task, now);
  publish(row.state, record_state(slot.generation, RecordPhase::kStarted));
  return pack({HandleKind::kTask, slot.generation, slot.index, 0});
}

void end_task(Tables& t, Handle task, std::uint64_t now) {
  const std::uint64_t generation = in_flight(t, task);
  if (generation == 0) return;
  RecordOperation& row = t.operations[task.index];
  std::uint64_t counts = 0;
  if (!change(row, generation, std::uint64_t{1} << kQueuedShift, 0, counts)) return;
  finish_if_done(t, task.index, generation, counts, now);
  const bool has_none =
      part_of(counts, kBegunShift, 1) == 0 && part_of(counts, kChannelStartsShift, 0xff) == 0;
  if (get(state_of(task.index).awaits_kernel) || !has_none) return;
  if (!move(row, generation, RecordPhase::kStarted, RecordPhase::kWriting)) return;
  count_operation(t, task.index, false);
  publish(row.state, record_state(generation, RecordPhase::kParked));
}

void* start_channel(Tables& t, Handle task, std::uint32_t channel, std::uint64_t timer_ns,
                    std::uint64_t now) {
  if (channel >= kMostChannels) return nullptr;
  const std::uint64_t generation = in_flight(t, task);
  if (generation == 0) return nullptr;
  RecordOperation& row = t.operations[task.index];
  const std::uint64_t bit = std::uint64_t{1} << channel;
  if ((set_bits(row.channels_started, bit) & bit) == 0) {
    std::uint64_t counts = 0;
    if (!change(row, generation, 0, std::uint64_t{1} << kChannelStartsShift, counts))
      return nullptr;
  }
  std::uint64_t never = 0;
  static_cast<void>(exchange(row.kernel_at_ns, never, now));
  std::uint64_t first = get(row.gpu_start_ns);
  while (timer_ns != 0 && (first == 0 || timer_ns < first) &&
         !exchange(row.gpu_start_ns, first, timer_ns)) {
  }
  set(row.changed_at_ns, now);
  return pack({HandleKind::kChannel, generation, task.index, channel});
}

void set_channel_stop(Tables& t, Handle channel, std::uint64_t timer_ns) {
  const std::uint64_t generation = in_flight(t, channel);
  if (generation != 0) raise(t.operations[channel.index].gpu_stop_ns, timer_ns);
}

void end_channel(Tables& t, Handle channel, std::uint64_t now) {
  const std::uint64_t generation = in_flight(t, channel);
  if (generation == 0 || channel.part >= kMostChannels) return;
  RecordOperation& row = t.operations[channel.index];
  set(row.changed_at_ns, now);
  const std::uint64_t bit = std::uint64_t{1} << channel.part;
  if ((set_bits(row.channels_stopped, bit) & bit) != 0) return;
  std::uint64_t counts = 0;
  if (!change(row, generation, 0, std::uint64_t{1} << kChannelStopsShift, counts)) return;
  finish_if_done(t, channel.index, generation, counts, now);
}

std::uint64_t add_flow(Tables& t, Handle task) {
  const std::uint64_t generation = in_flight(t, task);
  if (generation == 0) return 0;
  std::uint64_t counts = 0;
  const bool added = change(t.operations[task.index], generation, std::uint64_t{1} << kBegunShift,
                            std::uint64_t{1} << kOpenFlowsShift, counts);
  return added ? generation : 0;
}

void remove_flow(Tables& t, std::uint16_t slot, std::uint64_t generation, std::uint64_t now) {
  RecordOperation& row = t.operations[slot];
  std::uint64_t counts = 0;
  if (!change(row, generation, 0, ~std::uint64_t{0}, counts)) return;
  touch_operation(t, slot, generation, now);
  finish_if_done(t, slot, generation, counts, now);
}

void touch_operation(Tables& t, std::uint16_t slot, std::uint64_t generation, std::uint64_t now) {
  RecordOperation& row = t.operations[slot];
  if (generation_of(get(row.state)) == generation) set(row.changed_at_ns, now);
}

bool is_in_flight(Tables& t, std::uint16_t slot, std::uint64_t generation) {
  return slot < kOperationSlots &&
         get(t.operations[slot].state) == record_state(generation, RecordPhase::kStarted);
}

void forget_operations(Tables& t, std::uint16_t comm) {
  for (std::size_t index = 0; index < kOperationSlots; ++index) {
    RecordOperation& row = t.operations[index];
    std::uint64_t state = get_published(row.state);
    const RecordPhase at = phase_in(state);
    if (at == RecordPhase::kFree || at == RecordPhase::kWriting) continue;
    if (get(row.comm_slot) != comm) continue;
    const std::uint64_t free = record_state(generation_of(state), RecordPhase::kFree);
    static_cast<void>(exchange(row.state, state, free));
  }
}

}  // namespace robustrun::tracer::nccl
