#include "tracer/nccl/communicators.h"

#include <array>
#include <atomic>
#include <cstddef>

#include "tracer/nccl/history.h"
#include "tracer/nccl/operations.h"
#include "tracer/nccl/words.h"

namespace robustrun::tracer::nccl {
namespace {

constexpr std::uint64_t kFree = 0;
constexpr std::uint64_t kInUse = 1;
constexpr std::uint64_t kBusy = 2;

// The number of collectives done, in one word: those entered before the newest confirmed batch, and
// the number of further ones in the low bits.
constexpr unsigned kMoreBits = 20;
constexpr std::uint64_t kMoreMax = (1ULL << kMoreBits) - 1;

struct State {
  std::uint64_t generation = 0;  // odd: in use
  std::uint64_t group = 0;  // the newest batch's
  std::uint64_t before = 0;
  std::uint64_t done = 0;
  std::uint32_t waiting = 0;  // operations called and not yet reported
  std::uint32_t given_up = 0;  // newest batch with an operation that was given up
  bool reports_late = false;  // an operation was reported after it was given up
  bool counts_kernels = false;
};

std::array<State, kCommunicatorSlots> g_states;

bool is_ours(std::size_t slot) { return get(g_states[slot].generation) % 2 == 1; }

void copy_name(std::array<char, kCommunicatorNameBytes>& field, const char* name) {
  for (std::size_t i = 0; i < field.size(); ++i) {
    set(field[i], name == nullptr ? '\0' : *name);
    if (name != nullptr && *name != '\0') ++name;
  }
}

void fill(RecordCommunicator& row, const Identity& identity) {
  set(row.comm, identity.comm);
  set(row.size, static_cast<std::uint32_t>(identity.size));
  set(row.rank, static_cast<std::uint32_t>(identity.rank));
  set(row.source, static_cast<std::uint32_t>(RecordSource::kNccl));
  set(row.nodes, static_cast<std::uint32_t>(identity.nodes));
  copy_name(row.name, identity.name);
  copy_name(row.label, nullptr);
  for (std::uint64_t* word : {&row.entered, &row.started, &row.done, &row.entered_at_ns,
                              &row.done_at_ns, &row.in_call_at_ns, &row.in_launch_at_ns,
                              &row.p2p_entered, &row.p2p_done, &row.unreported}) {
    set<std::uint64_t>(*word, 0);
  }
  set<std::uint32_t>(row.batch, 0);
  set<std::uint32_t>(row.done_batch, 0);
}

void reset(State& state, bool counts) {
  for (std::uint64_t* word : {&state.group, &state.before, &state.done}) {
    set<std::uint64_t>(*word, 0);
  }
  set<std::uint32_t>(state.waiting, 0);
  set<std::uint32_t>(state.given_up, 0);
  set(state.reports_late, false);
  set(state.counts_kernels, counts);
}

// Takes a free slot; kNoSlot when only the one just below Python's slots is left.
std::uint16_t claim(Tables& t) {
  for (std::size_t slot = 0; slot + 1 < kCommunicatorSlots; ++slot) {
    std::uint64_t& in_use = t.communicators[slot].in_use;
    if (get(in_use) != kFree) continue;
    if (!is_ours(slot + 1) && get(t.communicators[slot + 1].in_use) != kFree) break;
    std::uint64_t expected = kFree;
    if (exchange(in_use, expected, kBusy)) return static_cast<std::uint16_t>(slot);
  }
  return kNoSlot;
}

}  // namespace

void* open_communicator(Tables& t, const Identity& identity, bool counts) {
  const std::uint16_t slot = claim(t);
  if (slot == kNoSlot) {
    add<std::uint64_t>(t.counters->communicators_dropped, 1);
    return pack({HandleKind::kContext, 0, kNoSlot, 0});
  }
  RecordCommunicator& row = t.communicators[slot];
  State& state = g_states[slot];
  forget_history(t, slot);
  fill(row, identity);
  reset(state, counts);
  const std::uint64_t generation = get(state.generation) + 1;
  publish(state.generation, generation);
  publish(row.in_use, kInUse);
  return pack({HandleKind::kContext, generation, slot, 0});
}

std::uint16_t communicator_of(Tables& t, const void* context) {
  const Handle handle = unpack(context);
  if (handle.kind == HandleKind::kContext && is_current(handle.index, handle.generation)) {
    return handle.index;
  }
  add<std::uint64_t>(t.counters->ignored, 1);
  return kNoSlot;
}

void close_communicator(Tables& t, const void* context) {
  const std::uint16_t comm = communicator_of(t, context);
  if (comm == kNoSlot) return;
  State& state = g_states[comm];
  std::uint64_t generation = unpack(context).generation;
  generation |= get(state.generation) & ~kGenerationMask;
  if (!exchange(state.generation, generation, generation + 1)) return;
  forget_operations(t, comm);
  publish(t.communicators[comm].in_use, kFree);
}

bool is_current(std::uint16_t comm, std::uint64_t generation) {
  if (comm >= kCommunicatorSlots) return false;
  const std::uint64_t current = get_published(g_states[comm].generation);
  return current % 2 == 1 && (current & kGenerationMask) == (generation & kGenerationMask);
}

std::uint64_t generation_of_communicator(std::uint16_t comm) {
  return get(g_states[comm].generation);
}

bool counts_kernels(std::uint16_t comm) { return get(g_states[comm].counts_kernels); }

void learn(Tables& t, std::uint16_t comm, const Identity& identity) {
  RecordCommunicator& row = t.communicators[comm];
  if (identity.comm == 0 || get(row.comm) != 0) return;
  set(row.rank, static_cast<std::uint32_t>(identity.rank));
  copy_name(row.name, identity.name);
  publish(row.comm, identity.comm);
}

Batch batch_of(Tables& t, std::uint16_t comm, std::uint64_t group) {
  RecordCommunicator& row = t.communicators[comm];
  State& state = g_states[comm];
  if (group != 0 && get(state.group) == group) return newest_batch(t, comm);
  set(state.group, group);
  const std::uint64_t entered = get(row.entered);
  if (get(state.waiting) != 0 && !get(state.reports_late)) {
    const std::uint32_t lost =
        std::atomic_ref(state.waiting).exchange(0, std::memory_order_relaxed);
    set(state.given_up, get(row.batch));
    add<std::uint64_t>(row.unreported, lost);
    const std::uint64_t started = get(row.started);
    if (started < entered) {
      set(row.started, entered);
      count_done(t, comm, get(state.before), entered - started, false);
    }
  }
  set(state.before, entered);
  return {add<std::uint32_t>(row.batch, 1) + 1, entered};
}

Batch newest_batch(Tables& t, std::uint16_t comm) {
  return {get(t.communicators[comm].batch), get(g_states[comm].before)};
}

void await_report(std::uint16_t comm) { add<std::uint32_t>(g_states[comm].waiting, 1); }

bool take_report(Tables& t, std::uint16_t comm, std::uint32_t batch) {
  State& state = g_states[comm];
  const std::uint32_t given_up = get(state.given_up);
  if (given_up != 0 && !is_before(given_up, batch)) {
    set(state.reports_late, true);
    add<std::uint64_t>(t.communicators[comm].unreported, ~std::uint64_t{0});
    return false;
  }
  std::uint32_t waiting = get(state.waiting);
  while (waiting != 0 && !exchange(state.waiting, waiting, waiting - 1)) {
  }
  return true;
}

void count_done(Tables& t, std::uint16_t comm, std::uint64_t before, std::uint64_t count,
                bool confirmed) {
  std::uint64_t& word = g_states[comm].done;
  std::uint64_t found = get(word);
  std::uint64_t done = 0;
  std::uint64_t next = 0;
  do {
    const std::uint64_t base = found >> kMoreBits;
    if (before < base) return;
    done = base + (found & kMoreMax) + count;
    const std::uint64_t new_base = confirmed ? before : base;
    if (confirmed && done < before + count) done = before + count;
    const std::uint64_t more = done - new_base;
    next = new_base << kMoreBits | (more < kMoreMax ? more : kMoreMax);
  } while (!exchange(word, found, next));
  raise(t.communicators[comm].done, done);
}

void confirm_batch(Tables& t, std::uint16_t comm, std::uint32_t batch) {
  std::uint32_t& word = t.communicators[comm].done_batch;
  std::uint32_t found = get(word);
  while (is_before(found, batch) && !exchange(word, found, batch)) {
  }
}

}  // namespace robustrun::tracer::nccl
