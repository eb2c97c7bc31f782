#include "tracer/nccl/operations.h"

#include <array>
#include <atomic>
#include <cstddef>

#include "tracer/nccl/communicators.h"
#include "tracer/nccl/mask.h"
#include "tracer/nccl/names.h"
#include "tracer/nccl/words.h"

namespace robustrun::tracer::nccl {
namespace {

constexpr std::uint32_t kMostChannels = 64;  // MAXCHANNELS

// State of an operation that is not in the record.
struct OperationState {
  std::uint64_t before = 0;  // Batch::before of its batch
  bool is_counted = false;   // as done
  bool awaits_kernel = false;
  std::uint64_t wait_ns = 0, own_ns = 0;  // as in Finished
  std::uint64_t phase_at_ns = 0;  // start of the phase that is being reported
};

struct OperationSlot {
  std::uint16_t index = kNoSlot;
  std::uint64_t generation = 0;
};

RecordPhase phase_in(std::uint64_t state) { return static_cast<RecordPhase>(phase_of(state)); }

// A part of RecordOperation::counts.
std::uint64_t part_of(std::uint64_t counts, unsigned shift, std::uint64_t mask) {
  return counts >> shift & mask;
}

// Slots tried for one operation.
constexpr std::size_t kProbes = 64;

std::array<OperationState, kOperationSlots> g_states;
std::atomic<std::uint32_t> g_next{0};

// Whether its batch is done, and so the operation is, although NCCL never reported that.
bool is_over(Tables& t, RecordOperation& row, RecordPhase at) {
  const std::uint32_t slot = get(row.comm_slot);
  if (slot >= kCommunicatorSlots) return true;
  RecordCommunicator& comm = t.communicators[slot];
  const std::uint32_t batch = get(row.batch);
  return is_before(batch, get(comm.done_batch)) ||
         (at == RecordPhase::kCalled && is_before(batch, get(comm.batch)));
}

bool is_finished(RecordOperation& row, const bool awaits_kernel, std::uint64_t counts) {
  const std::uint64_t stops = part_of(counts, kChannelStopsShift, 0xff);
  if (part_of(counts, kQueuedShift, 1) == 0) return false;
  if (part_of(counts, kOpenFlowsShift, 0xffff) != 0) return false;
  if (stops != part_of(counts, kChannelStartsShift, 0xff)) return false;
  return awaits_kernel ? stops >= get(row.channels)
                       : part_of(counts, kBegunShift, 1) != 0 || stops != 0;
}

std::uint64_t between(std::uint64_t from, std::uint64_t to) {
  return from != 0 && to > from ? to - from : 0;
}

void keep(Tables& t, RecordOperation& row, OperationState& state, std::uint64_t now) {
  const auto comm = static_cast<std::uint16_t>(get(row.comm_slot));
  const auto kind = static_cast<OpKind>(get(row.kind));
  const std::uint64_t before = get(t.communicators[comm].done_at_ns);
  set(t.communicators[comm].done_at_ns, now);
  if (is_with_peer(kind)) return;
  const std::uint64_t kernel_at = get(row.kernel_at_ns);
  Finished finished;
  finished.ordinal = get(row.ordinal);
  finished.bytes = get(row.count) * size_of(static_cast<DataType>(get(row.type)));
  finished.kernel_ns = between(get(row.gpu_start_ns), get(row.gpu_stop_ns));
  if (finished.kernel_ns == 0) {
    finished.kernel_ns = between(kernel_at != 0 ? kernel_at : get(row.started_at_ns), now);
  }
  finished.queued_ns = between(get(row.started_at_ns), kernel_at);
  finished.gap_ns = between(before, get(row.entered_at_ns));
  finished.wait_ns = get(state.wait_ns);
  finished.own_ns = get(state.own_ns);
  finished.whole_ns = between(get(row.entered_at_ns), now);
  finished.ended_at_ns = now;
  keep_time(t, comm, kind, finished);
}

OperationState& state_of(std::uint16_t index) { return g_states[index]; }

// Moves the slot from one phase to another; false when it is not in phase `from` of `generation`.
[[nodiscard]] bool move(RecordOperation& row, std::uint64_t generation, RecordPhase from,
                        RecordPhase to) {
  std::uint64_t expected = record_state(generation, from);
  return exchange(row.state, expected, record_state(generation, to));
}

// Claims a free slot: raises its generation and sets it to kWriting. kNoSlot when all of the slots
// tried are in use, which is counted.
OperationSlot claim_operation(Tables& t) {
  for (std::size_t i = 0; i < kProbes; ++i) {
    const std::size_t index = g_next.fetch_add(1, std::memory_order_relaxed) % kOperationSlots;
    RecordOperation& row = t.operations[index];
    std::uint64_t state = get_published(row.state);
    const RecordPhase at = phase_in(state);
    if (at == RecordPhase::kWriting) continue;
    if (at == RecordPhase::kCalled || at == RecordPhase::kStarted) {
      if (!is_over(t, row, at)) continue;
    }
    const std::uint64_t generation = generation_of(state) + 1;
    if (!exchange(row.state, state, record_state(generation, RecordPhase::kWriting))) continue;
    set(row.generation, generation);
    std::atomic_thread_fence(std::memory_order_release);
    return {static_cast<std::uint16_t>(index), generation};
  }
  add<std::uint64_t>(t.counters->operations_dropped, 1);
  return {};
}

void fill(Tables& t, OperationSlot slot, const Task& task, std::uint64_t ordinal, Batch batch,
          std::uint64_t now) {
  RecordOperation& row = t.operations[slot.index];
  set(row.ordinal, ordinal);
  set(row.comm, get(t.communicators[task.comm].comm));
  set<std::uint32_t>(row.comm_slot, task.comm);
  set(row.batch, batch.number);
  set(row.count, task.count);
  set(row.root, task.root);
  set(row.kind, static_cast<std::uint8_t>(task.kind));
  set(row.type, static_cast<std::uint8_t>(task.type));
  set(row.channels, task.channels);
  set(row.entered_at_ns, now);
  set(row.changed_at_ns, now);
  for (std::uint64_t* word : {&row.started_at_ns, &row.kernel_at_ns, &row.channels_started,
                              &row.channels_stopped, &row.gpu_start_ns, &row.gpu_stop_ns}) {
    set<std::uint64_t>(*word, 0);
  }
  set(row.counts, slot.generation << kTagShift);
  OperationState& state = g_states[slot.index];
  set(state.before, batch.before);
  set(state.is_counted, false);
  set(state.awaits_kernel, false);
  set<std::uint64_t>(state.wait_ns, 0);
  set<std::uint64_t>(state.own_ns, 0);
}

// Sets `bits` in the counts, adds `summand`, and stores the result in `after`. False when the slot
// belongs to another generation by now.
[[nodiscard]] bool change(RecordOperation& row, std::uint64_t generation, std::uint64_t bits,
                          std::uint64_t summand, std::uint64_t& after) {
  std::uint64_t counts = get(row.counts);
  do {
    if (counts >> kTagShift != (generation & 0xffffU)) return false;
    after = (counts | bits) + summand;
  } while (!exchange(row.counts, counts, after));
  return true;
}

// Counts the operation as done, at most once. `confirmed`: it is known to be done, not assumed.
void count_operation(Tables& t, std::uint16_t index, bool confirmed) {
  RecordOperation& row = t.operations[index];
  OperationState& state = g_states[index];
  const auto comm = static_cast<std::uint16_t>(get(row.comm_slot));
  const auto kind = static_cast<OpKind>(get(row.kind));
  const bool is_new = !std::atomic_ref(state.is_counted).exchange(true, std::memory_order_relaxed);
  if (confirmed) confirm_batch(t, comm, get(row.batch));
  if (!is_with_peer(kind)) {
    count_done(t, comm, get(state.before), is_new ? 1 : 0, confirmed);
    return;
  }
  if (!is_new) return;
  add<std::uint64_t>(t.communicators[comm].p2p_done, 1);
  RecordEdge* const edge = edge_to(t, comm, get(row.root));
  if (edge != nullptr) {
    add<std::uint64_t>(kind == OpKind::kSend ? edge->sends_done : edge->recvs_done, 1);
  }
}

void finish_if_done(Tables& t, std::uint16_t index, std::uint64_t generation, std::uint64_t counts,
                    std::uint64_t now) {
  RecordOperation& row = t.operations[index];
  if (!is_finished(row, get(g_states[index].awaits_kernel), counts)) return;
  // The thread that wins this move is the only one to write the slot's words.
  if (!move(row, generation, RecordPhase::kStarted, RecordPhase::kWriting)) return;
  keep(t, row, g_states[index], now);
  count_operation(t, index, true);
  publish(row.state, record_state(generation, RecordPhase::kFree));
}

// The full generation of the operation that `task` names if it is in flight, else 0. Revives a
// parked operation.
std::uint64_t in_flight(Tables& t, Handle task) {
  if (task.index >= kOperationSlots) return 0;
  RecordOperation& row = t.operations[task.index];
  const std::uint64_t state = get_published(row.state);
  const std::uint64_t generation = generation_of(state);
  if (is_of(task, generation)) {
    if (phase_in(state) == RecordPhase::kStarted) return generation;
    if (phase_in(state) == RecordPhase::kParked &&
        move(row, generation, RecordPhase::kParked, RecordPhase::kStarted)) {
      return generation;
    }
  }
  add<std::uint64_t>(t.counters->ignored, 1);
  return 0;
}

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

// Hands a called operation to the device. Null if `call` is not waiting for that.
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
    // An operation that was given up is already counted.
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
  std::size_t comm = call.index;  // for calls without a slot
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
    // Its end will not be seen.
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

void* start_phase(Tables& t, Handle channel, std::uint32_t phase, std::uint64_t timer_ns) {
  // All channels meet in barriers of the same ranks, so one tells what there is to know.
  if (channel.part != 0 || (phase != kInitialSync && phase != kCompute)) return nullptr;
  const std::uint64_t generation = in_flight(t, channel);
  if (generation == 0) return nullptr;
  set(g_states[channel.index].phase_at_ns, timer_ns);
  return pack({HandleKind::kPhase, generation, channel.index, phase});
}

void set_phase_stop(Tables& t, Handle phase, std::uint64_t timer_ns) {
  if (in_flight(t, phase) == 0) return;
  OperationState& state = g_states[phase.index];
  set(phase.part == kCompute ? state.own_ns : state.wait_ns,
      between(get(state.phase_at_ns), timer_ns));
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
