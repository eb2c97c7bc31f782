#include "tracer/nccl/operation_slots.h"

#include <array>
#include <atomic>
#include <cstddef>

#include "tracer/nccl/names.h"
#include "tracer/nccl/words.h"

namespace robustrun::tracer::nccl {
namespace {

// Slots are looked at in turn, so many at most for one operation.
constexpr std::size_t kProbes = 64;

std::array<OperationState, kOperationSlots> g_states;
std::atomic<std::uint32_t> g_next{0};

// Its batch is over, so it is, although NCCL never said so.
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

void keep(Tables& t, RecordOperation& row, std::uint64_t now) {
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
  finished.whole_ns = between(get(row.entered_at_ns), now);
  finished.ended_at_ns = now;
  keep_time(t, comm, kind, finished);
}

}  // namespace

OperationState& state_of(std::uint16_t index) { return g_states[index]; }

bool move(RecordOperation& row, std::uint64_t generation, RecordPhase from, RecordPhase to) {
  std::uint64_t expected = record_state(generation, from);
  return exchange(row.state, expected, record_state(generation, to));
}

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
}

bool change(RecordOperation& row, std::uint64_t generation, std::uint64_t bits,
            std::uint64_t summand, std::uint64_t& after) {
  std::uint64_t counts = get(row.counts);
  do {
    if (counts >> kTagShift != (generation & 0xffffU)) return false;
    after = (counts | bits) + summand;
  } while (!exchange(row.counts, counts, after));
  return true;
}

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
  // Whoever gets it has its words to himself.
  if (!move(row, generation, RecordPhase::kStarted, RecordPhase::kWriting)) return;
  keep(t, row, now);
  count_operation(t, index, true);
  publish(row.state, record_state(generation, RecordPhase::kFree));
}

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

}  // namespace robustrun::tracer::nccl
