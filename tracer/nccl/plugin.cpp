// The seven function tables that NCCL looks for, from one source: each callback is a template over
// the descriptor's type and hands on what all versions have in common.
//
// With another plugin behind ours (behind.h) each call is passed on to it as well, and the handles
// of both are joined (pairs.h).
//
// No callback blocks, allocates, enters the kernel or fails. NCCL reacts to some errors by
// continuing with whatever context it has.

#include <bit>
#include <cstddef>
#include <cstdint>

#include "tracer/nccl/abi.h"
#include "tracer/nccl/abi_tables.h"
#include "tracer/nccl/attach.h"
#include "tracer/nccl/behind.h"
#include "tracer/nccl/communicators.h"
#include "tracer/nccl/flows.h"
#include "tracer/nccl/groups.h"
#include "tracer/nccl/mask.h"
#include "tracer/nccl/names.h"
#include "tracer/nccl/operations.h"
#include "tracer/nccl/pairs.h"
#include "tracer/nccl/words.h"

namespace robustrun::tracer::nccl {
namespace {

constexpr abi::Result kSuccess = 0;

template <class Event>
constexpr int kVersion = 0;
template <>
constexpr int kVersion<abi::Event1> = 1;
template <>
constexpr int kVersion<abi::Event2> = 2;
template <>
constexpr int kVersion<abi::Event3> = 3;
template <>
constexpr int kVersion<abi::Event4> = 4;
template <>
constexpr int kVersion<abi::Event5> = 5;
template <>
constexpr int kVersion<abi::Event6> = 6;
template <>
constexpr int kVersion<abi::Event7> = 7;

// The table of the plugin behind ours; null without one.
template <class Event>
const typename TableOf<Event>::Table* other() {
  return static_cast<const typename TableOf<Event>::Table*>(behind(kVersion<Event>));
}

template <class Event>
const void* own_table();

struct Theirs {
  void* context = nullptr;  // may be null even if it has not failed
  bool has_failed = false;  // to open this communicator; it may open others
};

// Opens a communicator in the plugin behind ours, by `call`.
template <class Event, class Call>
Theirs open_behind(const Call& call) {
  attach();
  load_behind(kVersion<Event>, own_table<Event>());
  const auto* const table = other<Event>();
  Theirs theirs;
  if (table != nullptr && call(*table, &theirs.context) != kSuccess) theirs = {nullptr, true};
  return theirs;
}

void* join_contexts(const Theirs& theirs, void* ours) {
  Handle handle = unpack(ours);
  if (theirs.has_failed) handle.part = kOursAlone;
  return join(theirs.context, pack(handle));
}

abi::Result open(int version, void** context, int* mask, const Identity& identity,
                 const Theirs& theirs) {
  Tables* const t = tables();
  if (t == nullptr) {
    // Without a record there is nothing to report to, so ask for no events; the other plugin has
    // NCCL's own mask. Set a context all the same, because NCCL would keep the old value.
    if (behind(version) == nullptr) set(*mask, 0);
    *context = join_contexts(theirs, pack({HandleKind::kContext, 0, kNoSlot, 0}));
    return kSuccess;
  }
  const bool has_kernels = set_mask(*t, version, mask, now_ns());
  *context = join_contexts(theirs, open_communicator(*t, identity, has_kernels));
  return kSuccess;
}

template <class Event>
abi::Result init1(void** context, int* mask) {
  const Theirs theirs = open_behind<Event>(
      [&](const auto& table, void** made) { return table.init(made, mask_behind(mask)); });
  return open(kVersion<Event>, context, mask, {}, theirs);
}
abi::Result init4(void** context, int* mask, const char* name, std::uint64_t comm, int nodes,
                  int size, int rank, abi::Log log) {
  const Theirs theirs = open_behind<abi::Event4>([&](const auto& table, void** made) {
    return table.init(made, mask_behind(mask), name, comm, nodes, size, rank, log);
  });
  return open(4, context, mask, {name, comm, nodes, size, rank}, theirs);
}
template <class Event>
abi::Result init5(void** context, std::uint64_t comm, int* mask, const char* name, int nodes,
                  int size, int rank, abi::Log log) {
  const Theirs theirs = open_behind<Event>([&](const auto& table, void** made) {
    return table.init(made, comm, mask_behind(mask), name, nodes, size, rank, log);
  });
  return open(kVersion<Event>, context, mask, {name, comm, nodes, size, rank}, theirs);
}

bool has_root(OpKind kind) {
  return kind == OpKind::kBroadcast || kind == OpKind::kReduce || kind == OpKind::kGather ||
         kind == OpKind::kScatter;
}

// One rank's input count. NCCL passes the output count of a reduce-scatter, and the count per peer
// of an all-to-all.
std::uint64_t input_count(Tables& t, std::uint16_t comm, OpKind kind, std::uint64_t count) {
  const std::uint64_t size = get(t.communicators[comm].size);
  const bool is_part = kind == OpKind::kReduceScatter || kind == OpKind::kAllToAll;
  return is_part && size != 0 ? count * size : count;
}

template <class Func, class Type>
Task collective(Tables& t, std::uint16_t comm, Func func, std::size_t count, Type type, int root) {
  OpKind kind = kind_of(func);
  if (is_with_peer(kind)) kind = OpKind::kOther;
  return {comm, kind, type_of(type), input_count(t, comm, kind, count), has_root(kind) ? root : -1,
          0};
}

template <class Func, class Type>
Task with_peer(std::uint16_t comm, Func func, std::size_t count, Type type, int peer) {
  const OpKind kind = kind_of(func) == OpKind::kRecv ? OpKind::kRecv : OpKind::kSend;
  return {comm, kind, type_of(type), count, peer, 0};
}

// The number in a group's handle, of either kind of group; 0: not a group.
std::uint64_t group_of(const void* parent) {
  const HandleKind kind = unpack(parent).kind;
  const bool is_group = kind == HandleKind::kGroupApi || kind == HandleKind::kBatch;
  return is_group ? reinterpret_cast<std::uint64_t>(parent) : 0;
}

template <class Api>
void* start_call(Tables& t, std::uint16_t comm, const Task& task, const void* parent,
                 const Api& api, std::uint64_t now) {
  enter_group(t, unpack(parent), comm, now);
  if (api.captured) {
    // Captured: nothing runs now, and any number of replays may follow.
    return pack({HandleKind::kCaptured, generation_of_communicator(comm), comm, 0});
  }
  return call_operation(t, task, group_of(parent), now);
}

template <class Event>
void* start_coll(Tables& t, std::uint16_t comm, const Event& event, std::uint64_t now) {
  const auto& coll = event.coll;
  if constexpr (kVersion<Event> <= 3) learn(t, comm, {coll.name, coll.comm, 0, 0, event.rank});
  Task task = collective(t, comm, coll.func, coll.count, coll.type, coll.root);
  task.channels = coll.channels;
  if constexpr (kVersion<Event> >= 7) task.tag = coll.tag;
  std::uint64_t group = group_of(event.parent);
  if constexpr (kVersion<Event> >= 5) group = group_of(coll.group);
  return start_task(t, task, unpack(event.parent), group, now);
}

template <class Event>
void* start_p2p(Tables& t, std::uint16_t comm, const Event& event, std::uint64_t now) {
  const auto& p2p = event.p2p;
  if constexpr (kVersion<Event> <= 3) learn(t, comm, {p2p.name, p2p.comm, 0, 0, event.rank});
  Task task = with_peer(comm, p2p.func, p2p.count, p2p.type, p2p.peer);
  // Versions 1 to 3 do not pass the number of channels, 4 leaves it unset, and in 5 it does not
  // always match the kernel events (src/plugin/profiler.cc, ncclProfilerStartTaskEvents). So the
  // operation waits for the channels that start, and for at least one.
  task.channels = 1;
  std::uint64_t group = group_of(event.parent);
  if constexpr (kVersion<Event> >= 5) group = group_of(p2p.group);
  return start_task(t, task, unpack(event.parent), group, now);
}

// Events of threads that call NCCL.
template <class Event>
void* start_of_caller(Tables& t, const void* context, const Event& event, std::uint64_t now) {
  set(t.counters->calls_at_ns, now);
  const auto type = static_cast<std::uint64_t>(event.type);
  if (type == abi::kGroup) return new_batch();
  follow_wish(t, now);
  const std::uint16_t comm = communicator_of(t, context);
  if (comm == kNoSlot) return nullptr;
  if (type == abi::kColl) return start_coll(t, comm, event, now);
  if (type == abi::kP2p) return start_p2p(t, comm, event, now);
  if constexpr (kVersion<Event> >= 5) {
    switch (type) {
      case abi::kGroupApi: return start_group(t, comm, now);
      case abi::kCollApi: {
        const auto& api = event.coll_api;
        Task task = collective(t, comm, api.func, api.count, api.type, api.root);
        if constexpr (kVersion<Event> >= 7) task.tag = api.tag;
        return start_call(t, comm, task, event.parent, api, now);
      }
      case abi::kP2pApi: {
        const auto& api = event.p2p_api;
        const Task task = with_peer(comm, api.func, api.count, api.type, -1);
        return start_call(t, comm, task, event.parent, api, now);
      }
      case abi::kKernelLaunch: return start_launch(t, comm, now);
      default: break;
    }
  }
  return nullptr;
}

// Events of threads that move data. Their context may belong to another communicator or process:
// only the parent identifies the operation.
template <class Event>
void* start_of_mover(Tables& t, const Event& event, std::uint64_t now) {
  set(t.counters->proxy_at_ns, now);
  const Handle parent = unpack(event.parent);
  const auto type = static_cast<std::uint64_t>(event.type);
  if (type == abi::kProxyStep) {
    return parent.kind == HandleKind::kFlow ? start_step(t, parent, event.proxy_step.step, now)
                                            : nullptr;
  }
  if constexpr (kVersion<Event> >= 7) {
    if (type == abi::kKernelPhase) {
      const abi::KernelPhase& phase = event.kernel_phase;
      return parent.kind == HandleKind::kChannel
                 ? start_phase(t, parent, phase.phase, phase.timer_ns)
                 : nullptr;
    }
  }
  if (type == abi::kProxyOp) {
    const abi::ProxyOp& op = event.proxy_op;
    return start_flow(t, parent, {op.pid, op.channel, op.peer, op.steps, op.is_send != 0}, now);
  }
  if constexpr (kVersion<Event> >= 3) {
    std::uint64_t timer_ns = 0;
    if constexpr (kVersion<Event> >= 4) timer_ns = event.kernel_ch.timer_ns;
    if (parent.kind == HandleKind::kTask) {
      return start_channel(t, parent, event.kernel_ch.channel, timer_ns, now);
    }
  }
  return nullptr;
}

template <class Event>
void* start_ours(Tables& t, const void* context, const Event& event) {
  constexpr std::uint64_t kMovers =
      abi::kProxyOp | abi::kProxyStep | abi::kKernelCh | abi::kKernelPhase;
  constexpr std::uint64_t kCallers = abi::kGroup | abi::kColl | abi::kP2p | abi::kGroupApi |
                                     abi::kCollApi | abi::kP2pApi | abi::kKernelLaunch;
  const auto type = static_cast<std::uint64_t>(event.type);
  if ((type & kMovers) != 0) return start_of_mover(t, event, now_ns());
  return (type & kCallers) != 0 ? start_of_caller(t, context, event, now_ns()) : nullptr;
}

// A copy of the event in which all handles are those of one plugin.
template <class Event>
Event with_handles(const Event& event, void* (*part)(void*)) {
  Event copy = event;
  copy.parent = part(event.parent);
  if constexpr (kVersion<Event> >= 5) {
    if (event.type == abi::kColl) copy.coll.group = part(event.coll.group);
    if (event.type == abi::kP2p) copy.p2p.group = part(event.p2p.group);
  }
  return copy;
}

bool is_ours_alone(const void* context) {
  const Handle handle = unpack(context);
  return handle.kind == HandleKind::kContext && handle.part == kOursAlone;
}

// What the plugin behind ours asked for when this event, or the task of which it is a part, began:
// by this NCCL reports the parts, even if the mask changes meanwhile.
template <class Event>
std::uint32_t events_for(const Event& event) {
  constexpr std::uint64_t kParts =
      abi::kProxyOp | abi::kProxyStep | abi::kKernelCh | abi::kNetPlugin | abi::kKernelPhase;
  const auto now = static_cast<std::uint32_t>(events_behind());
  const bool is_part = (static_cast<std::uint64_t>(event.type) & kParts) != 0;
  return is_part ? events_of(event.parent, now) : now;
}

template <class Event>
abi::Result start(void* context, void** handle, Event* event) {
  *handle = nullptr;
  Tables* const t = tables();
  const auto* const table = other<Event>();
  if (table == nullptr) {
    if (t != nullptr) *handle = start_ours(*t, context, *event);
    return kSuccess;
  }
  void* theirs = nullptr;
  void* const our_context = ours_of(context);
  const std::uint32_t events = events_for(*event);
  if (!is_ours_alone(our_context) && is_wanted(static_cast<std::uint64_t>(event->type), events)) {
    Event for_them = with_handles(*event, theirs_of);
    if (table->start(theirs_of(context), &theirs, &for_them) != kSuccess) theirs = nullptr;
  }
  void* ours = nullptr;
  if (t != nullptr) ours = start_ours(*t, our_context, with_handles(*event, ours_of));
  *handle = join(theirs, ours, events);
  return kSuccess;
}

abi::Result stop_ours(void* pointer) {
  Tables* const t = tables();
  const Handle handle = unpack(pointer);
  if (t == nullptr || handle.kind == HandleKind::kNone) return kSuccess;
  const std::uint64_t now = now_ns();
  const bool is_mover = handle.kind == HandleKind::kFlow || handle.kind == HandleKind::kStep ||
                        handle.kind == HandleKind::kChannel || handle.kind == HandleKind::kPhase;
  set(is_mover ? t->counters->proxy_at_ns : t->counters->calls_at_ns, now);
  switch (handle.kind) {
    case HandleKind::kStep: end_step(*t, handle, now); break;
    case HandleKind::kFlow: end_flow(*t, handle, now); break;
    case HandleKind::kChannel: end_channel(*t, handle, now); break;
    case HandleKind::kTask: end_task(*t, handle, now); break;
    case HandleKind::kCall:
    case HandleKind::kCaptured:
    case HandleKind::kDropped: end_call(*t, handle); break;
    case HandleKind::kGroupApi: end_group(*t, handle); break;
    case HandleKind::kLaunch: end_launch(*t, handle); break;
    case HandleKind::kNone:
    case HandleKind::kPhase:
    case HandleKind::kContext:
    case HandleKind::kBatch: break;
  }
  return kSuccess;
}

// Events to which no later event refers.
bool is_last_use(HandleKind kind) {
  return kind == HandleKind::kStep || kind == HandleKind::kFlow || kind == HandleKind::kChannel ||
         kind == HandleKind::kPhase || kind == HandleKind::kLaunch;
}

template <class Event>
abi::Result stop(void* joined) {
  const auto* const table = other<Event>();
  if (table == nullptr) return stop_ours(joined);
  // First what is found by their handle: once they have ended the event they may use it again.
  void* const ours = ours_of(joined);
  void* const theirs = theirs_of(joined);
  stop_ours(ours);
  if (is_last_use(unpack(ours).kind)) forget_pair(joined);
  if (theirs != nullptr) table->stop(theirs);
  return kSuccess;
}

template <class Args>
abi::Result record_ours(void* pointer, abi::State state, Args* args) {
  Tables* const t = tables();
  const Handle handle = unpack(pointer);
  if (t == nullptr || handle.kind == HandleKind::kNone) return kSuccess;
  const std::uint64_t now = now_ns();
  constexpr bool kIsOld = sizeof(Args) == sizeof(abi::Args1);
  if (handle.kind == HandleKind::kGroupApi) {
    set_group_state(*t, handle, state, now);
    return kSuccess;
  }
  set(t->counters->proxy_at_ns, now);
  if (handle.kind == HandleKind::kStep) {
    std::uint64_t bytes = 0;
    if constexpr (!kIsOld) bytes = args == nullptr ? 0 : args->step.bytes;
    set_step_state(*t, handle, state, bytes, now);
  } else if constexpr (kIsOld) {
    if (handle.kind == HandleKind::kFlow && args != nullptr && args->op.steps >= 0) {
      const auto steps = static_cast<std::uint32_t>(args->op.steps);
      set_flow_state(*t, handle, state, steps, args->op.bytes, now);
    }
  } else if (handle.kind == HandleKind::kChannel && state == abi::kKernelChStop) {
    if (args != nullptr) set_channel_stop(*t, handle, args->kernel_ch.timer_ns);
  } else if (handle.kind == HandleKind::kPhase && state == abi::kKernelPhaseStop) {
    if (args != nullptr) set_phase_stop(*t, handle, args->kernel_ch.timer_ns);
  }
  return kSuccess;
}

template <class Event>
abi::Result record(void* joined, abi::State state, typename TableOf<Event>::Args* args) {
  const auto* const table = other<Event>();
  if (table == nullptr) return record_ours(joined, state, args);
  void* const theirs = theirs_of(joined);
  record_ours(ours_of(joined), state, args);
  if (theirs != nullptr) table->record(theirs, state, args);
  return kSuccess;
}

template <class Event>
abi::Result finalize(void* joined) {
  const auto* const table = other<Event>();
  Tables* const t = tables();
  void* const theirs = table == nullptr ? nullptr : theirs_of(joined);
  if (t != nullptr) close_communicator(*t, table == nullptr ? joined : ours_of(joined));
  if (table == nullptr) return kSuccess;
  forget_pair(joined);
  // Their context may be null, which NCCL would not pass to them.
  if (theirs != nullptr) table->finalize(theirs);
  return kSuccess;
}

constexpr const char* kName = "robustrun";

template <class Event>
constexpr typename TableOf<Event>::Table table_of() {
  if constexpr (kVersion<Event> <= 3) {
    return {kName, init1<Event>, start<Event>, stop<Event>, record<Event>, finalize<Event>};
  } else if constexpr (kVersion<Event> == 4) {
    return {kName, init4, start<Event>, stop<Event>, record<Event>, finalize<Event>};
  } else {
    return {kName, init5<Event>, start<Event>, stop<Event>, record<Event>, finalize<Event>};
  }
}
template <class Event>
constexpr typename TableOf<Event>::Table kTable = table_of<Event>();

template <class Event>
const void* own_table() {
  return &kTable<Event>;
}

}  // namespace

// NCCL looks for one symbol per version. Each is resolved when it is looked up, so that versions
// that the plugin behind ours lacks are not there (behind.h).
extern "C" {
using Shown = void (*)();  // in truth data, but this is what an ifunc resolver returns
#define RR_SHOW(version)                                                                         \
  Shown rr_table_##version() {                                                                   \
    return is_shown(version) ? std::bit_cast<Shown>(own_table<abi::Event##version>()) : nullptr; \
  }                                                                                              \
  __attribute__((ifunc("rr_table_" #version), visibility("default"))) void ncclProfiler_v##version()
RR_SHOW(1);
RR_SHOW(2);
RR_SHOW(3);
RR_SHOW(4);
RR_SHOW(5);
RR_SHOW(6);
RR_SHOW(7);
#undef RR_SHOW
}

}  // namespace robustrun::tracer::nccl
