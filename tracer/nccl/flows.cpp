#include "tracer/nccl/flows.h"

#include <array>
#include <atomic>
#include <cstddef>

#include "tracer/nccl/communicators.h"
#include "tracer/nccl/history.h"
#include "tracer/nccl/operations.h"
#include "tracer/nccl/words.h"

namespace robustrun::tracer::nccl {
namespace {

// Slots tried for one flow.
constexpr std::size_t kProbes = 64;
constexpr std::size_t kStepsUnderWay = 8;  // NCCL_STEPS

// The word of a step in progress: its number + 1 above kNumberShift, its level and flags below.
constexpr unsigned kNumberShift = 8;
constexpr std::uint64_t kLevelBits = 3;  // 0 posted, 1 ready, 2 transmitted, 3 done
constexpr std::uint64_t kOnNetwork = 4;
constexpr std::uint64_t kRefused = 8;

struct Step {
  std::uint64_t word = 0;
  std::uint64_t since_ns = 0;  // when it entered the network
};

// State of a flow, written only by the thread that moves its data.
struct State {
  std::array<Step, kStepsUnderWay> steps;
  std::array<std::uint32_t, 4> reached{};  // number of steps that reached each level
  std::uint32_t refused = 0;
};

std::array<State, kFlowSlots> g_states;
std::atomic<std::uint32_t> g_next{0};

std::uint16_t operation_slot(std::uint64_t operation) {
  return static_cast<std::uint16_t>(operation);
}
std::uint64_t operation_generation(std::uint64_t operation) { return operation >> 16U; }

// As raise(), for words that only one thread writes.
template <class T>
void lift(T& word, T value) {
  if (get(word) < value) set(word, value);
}

RecordFlow* claim(Tables& t, std::uint64_t& generation, std::uint16_t& index) {
  for (std::size_t i = 0; i < kProbes; ++i) {
    index = static_cast<std::uint16_t>(g_next.fetch_add(1, std::memory_order_relaxed) % kFlowSlots);
    RecordFlow& row = t.flows[index];
    std::uint64_t state = get_published(row.state);
    const auto phase = static_cast<RecordPhase>(phase_of(state));
    if (phase == RecordPhase::kWriting) continue;
    const std::uint64_t operation = get(row.operation);
    if (phase == RecordPhase::kStarted &&
        is_in_flight(t, operation_slot(operation), operation_generation(operation))) {
      continue;
    }
    generation = generation_of(state) + 1;
    if (!exchange(row.state, state, record_state(generation, RecordPhase::kWriting))) continue;
    set(row.generation, generation);
    std::atomic_thread_fence(std::memory_order_release);
    return &row;
  }
  add<std::uint64_t>(t.counters->flows_dropped, 1);
  return nullptr;
}

void reset(State& state) {
  for (Step& step : state.steps) set<std::uint64_t>(step.word, 0);
  for (std::uint32_t& count : state.reached) set<std::uint32_t>(count, 0);
  set<std::uint32_t>(state.refused, 0);
}

// The row of an open flow. Null for other handles, which are counted.
RecordFlow* open_flow(Tables& t, Handle handle) {
  if (handle.index < kFlowSlots) {
    RecordFlow& row = t.flows[handle.index];
    const std::uint64_t state = get_published(row.state);
    if (static_cast<RecordPhase>(phase_of(state)) == RecordPhase::kStarted &&
        is_of(handle, generation_of(state))) {
      return &row;
    }
  }
  add<std::uint64_t>(t.counters->ignored, 1);
  return nullptr;
}

void changed(Tables& t, RecordFlow& row, std::uint64_t now) {
  set(row.changed_at_ns, now);
  const std::uint64_t operation = get(row.operation);
  touch_operation(t, operation_slot(operation), operation_generation(operation), now);
}

// A step in the state `word` has reached `level`: counts it for all levels up to that one.
void reach(RecordFlow& row, State& state, std::uint64_t& word, std::uint64_t level) {
  const std::array<std::uint32_t*, 4> counters = {&row.posted, &row.ready, &row.transmitted,
                                                  &row.done};
  for (std::uint64_t at = (word & kLevelBits) + 1; at <= level; ++at) {
    const std::uint32_t count = get(state.reached[at]) + 1;
    set(state.reached[at], count);
    lift(*counters[at], count);
  }
  if ((word & kLevelBits) < level) word = (word & ~kLevelBits) | level;
}

void set_refused(RecordFlow& row, State& state, std::uint64_t& word, bool refused) {
  if (((word & kRefused) != 0) == refused) return;
  word ^= kRefused;
  const std::uint32_t count = get(state.refused);
  set(state.refused, refused ? count + 1 : count - 1);
  set(row.refused, get(state.refused));
}

void leave_network(RecordFlow& row, Step& step, std::uint64_t& word, std::uint64_t now) {
  if ((word & kOnNetwork) == 0) return;
  word &= ~kOnNetwork;
  const std::uint64_t since = get(step.since_ns);
  if (now > since) set(row.net_wait_ns, get(row.net_wait_ns) + (now - since));
}

void enter_network(Step& step, std::uint64_t& word, std::uint64_t now) {
  if ((word & kOnNetwork) != 0) return;
  word |= kOnNetwork;
  set(step.since_ns, now);
}

bool has_number(std::uint64_t word, std::uint32_t number) {
  return word >> kNumberShift == number + std::uint64_t{1};
}

}  // namespace

void* start_flow(Tables& t, Handle task, const FlowStart& start, std::uint64_t now) {
  if (start.pid != own_pid() || task.kind != HandleKind::kTask) return nullptr;
  std::uint64_t generation = 0;
  std::uint16_t index = 0;
  RecordFlow* const row = claim(t, generation, index);
  if (row == nullptr) return nullptr;
  // Only now: the flow has a slot, so its end will be reported.
  const std::uint64_t operation = add_flow(t, task);
  if (operation == 0) {
    publish(row->state, record_state(generation, RecordPhase::kFree));
    return nullptr;
  }
  reset(g_states[index]);
  set(row->operation, operation << 16U | task.index);
  set(row->channel, start.channel);
  set(row->peer, start.peer);
  set<std::uint32_t>(row->is_send, start.is_send ? 1 : 0);
  set(row->steps, start.steps < 0 ? 0 : static_cast<std::uint32_t>(start.steps));
  for (std::uint32_t* word :
       {&row->posted, &row->ready, &row->transmitted, &row->done, &row->refused}) {
    set<std::uint32_t>(*word, 0);
  }
  set<std::uint64_t>(row->bytes, 0);
  set<std::uint64_t>(row->net_wait_ns, 0);
  set(row->began_at_ns, now);
  set(row->changed_at_ns, now);
  publish(row->state, record_state(generation, RecordPhase::kStarted));
  touch_operation(t, task.index, operation, now);
  return pack({HandleKind::kFlow, generation, index, 0});
}

void set_flow_state(Tables& t, Handle flow, abi::State state, std::uint32_t steps,
                    std::uint64_t bytes, std::uint64_t now) {
  RecordFlow* const row = open_flow(t, flow);
  if (row == nullptr || steps > get(row->steps)) return;
  if (state > abi::kRecvDone) return;
  const bool waits_for_peer = state == abi::kSendRemFifoWait;
  set<std::uint32_t>(row->refused, waits_for_peer ? 1 : 0);
  lift(row->posted, steps);
  if (state != abi::kSendPosted && state != abi::kRecvPosted) lift(row->ready, steps);
  if (state == abi::kSendTransmitted || state == abi::kRecvTransmitted) {
    lift(row->transmitted, steps);
  }
  if (state == abi::kSendDone || state == abi::kRecvDone) {
    lift(row->transmitted, steps);
    lift(row->done, steps);
  }
  lift(row->bytes, bytes);
  changed(t, *row, now);
}

void end_flow(Tables& t, Handle flow, std::uint64_t now) {
  RecordFlow* const row = open_flow(t, flow);
  if (row == nullptr) return;
  std::uint64_t state = get(row->state);
  const std::uint64_t generation = generation_of(state);
  if (!exchange(row->state, state, record_state(generation, RecordPhase::kWriting))) return;
  const std::uint64_t operation = get(row->operation);
  if (get(row->is_send) != 0 && operation_slot(operation) < kOperationSlots) {
    const std::uint32_t comm = get(t.operations[operation_slot(operation)].comm_slot);
    RecordEdge* const edge = comm >= kCommunicatorSlots
                                 ? nullptr
                                 : edge_to(t, static_cast<std::uint16_t>(comm), get(row->peer));
    if (edge != nullptr) {
      add(edge->bytes, get(row->bytes));
      add(edge->net_wait_ns, get(row->net_wait_ns));
    }
  }
  publish(row->state, record_state(generation, RecordPhase::kFree));
  remove_flow(t, operation_slot(operation), operation_generation(operation), now);
}

void* start_step(Tables& t, Handle flow, int number, std::uint64_t now) {
  if (number < 0 || static_cast<std::uint32_t>(number) > kPartMask) return nullptr;
  RecordFlow* const row = open_flow(t, flow);
  if (row == nullptr) return nullptr;
  const auto part = static_cast<std::uint32_t>(number);
  void* const handle = pack({HandleKind::kStep, flow.generation, flow.index, part});
  State& state = g_states[flow.index];
  Step& step = state.steps[part % kStepsUnderWay];
  std::uint64_t word = get(step.word);
  if (has_number(word, part)) return handle;
  word = (part + std::uint64_t{1}) << kNumberShift;
  const std::uint32_t posted = get(state.reached[0]) + 1;
  set(state.reached[0], posted);
  lift(row->posted, posted);
  if (get(row->is_send) == 0) enter_network(step, word, now);
  set(step.word, word);
  changed(t, *row, now);
  return handle;
}

void set_step_state(Tables& t, Handle handle, abi::State to, std::uint64_t bytes,
                    std::uint64_t now) {
  RecordFlow* const row = open_flow(t, handle);
  if (row == nullptr) return;
  State& state = g_states[handle.index];
  Step& step = state.steps[handle.part % kStepsUnderWay];
  const std::uint64_t before = get(step.word);
  if (!has_number(before, handle.part) || (before & kLevelBits) == 3) return;
  std::uint64_t word = before;
  switch (to) {
    case abi::kSendPeerWait:
      reach(*row, state, word, 1);
      if ((word & kLevelBits) == 1) set_refused(*row, state, word, true);
      break;
    case abi::kSendWait:
      set_refused(*row, state, word, false);
      if ((word & kLevelBits) < 2) add(row->bytes, bytes);
      reach(*row, state, word, 2);
      enter_network(step, word, now);
      break;
    case abi::kRecvFlushWait:
      if ((word & kLevelBits) < 1) add(row->bytes, bytes);
      leave_network(*row, step, word, now);
      reach(*row, state, word, 1);
      break;
    case abi::kRecvGpuWait:
      leave_network(*row, step, word, now);
      reach(*row, state, word, 2);
      break;
    default: break;  // SendGPUWait and RecvWait hold from the start of the step
  }
  if (word == before) return;
  set(step.word, word);
  changed(t, *row, now);
}

void end_step(Tables& t, Handle handle, std::uint64_t now) {
  RecordFlow* const row = open_flow(t, handle);
  if (row == nullptr) return;
  State& state = g_states[handle.index];
  Step& step = state.steps[handle.part % kStepsUnderWay];
  std::uint64_t word = get(step.word);
  if (!has_number(word, handle.part) || (word & kLevelBits) == 3) return;
  set_refused(*row, state, word, false);
  leave_network(*row, step, word, now);
  reach(*row, state, word, 3);
  set(step.word, word);
  changed(t, *row, now);
}

}  // namespace robustrun::tracer::nccl
