#pragma once
// The event descriptors and function tables of a profiler plugin, one of each per version (abi.h).
//
// A descriptor begins with `type`, `parent` and `rank`. `rank` is set only for Coll, P2p, ProxyOp,
// ProxyStep and NetPlugin. `type` has 64 bits from version 5 on.

#include <cstddef>
#include <cstdint>

#include "tracer/nccl/abi.h"
#include "tracer/nccl/abi_events.h"

namespace robustrun::tracer::nccl::abi {

struct Event1 {
  std::uint8_t type;
  void* parent;
  int rank;
  union {
    Coll1 coll;
    P2p1 p2p;
    ProxyOp proxy_op;
    ProxyStep proxy_step;
  };
};
struct Event2 {
  std::uint8_t type;
  void* parent;
  int rank;
  union {
    Coll2 coll;
    P2p2 p2p;
    ProxyOp proxy_op;
    ProxyStep proxy_step;
  };
};
struct Event3 {
  std::uint8_t type;
  void* parent;
  int rank;
  union {
    Coll3 coll;
    P2p2 p2p;
    ProxyOp proxy_op;
    ProxyStep proxy_step;
    KernelCh3 kernel_ch;
    NetPlugin net_plugin;
  };
};
struct Event4 {
  std::uint8_t type;
  void* parent;
  int rank;
  union {
    Coll4 coll;
    P2p4 p2p;
    ProxyOp proxy_op;
    ProxyStep proxy_step;
    KernelCh kernel_ch;
    NetPlugin net_plugin;
  };
};
struct Event5 {
  std::uint64_t type;
  void* parent;
  int rank;
  union {
    GroupApi group_api;
    CollApi coll_api;
    P2pApi p2p_api;
    KernelLaunch kernel_launch;
    Coll5 coll;
    P2p5 p2p;
    ProxyOp proxy_op;
    ProxyStep proxy_step;
    KernelCh kernel_ch;
    NetPlugin net_plugin;
  };
};
struct Event6 {
  std::uint64_t type;
  void* parent;
  int rank;
  union {
    GroupApi group_api;
    CollApi coll_api;
    P2pApi p2p_api;
    KernelLaunch kernel_launch;
    Coll5 coll;
    P2p5 p2p;
    ProxyOp proxy_op;
    ProxyStep proxy_step;
    KernelCh kernel_ch;
    NetPlugin net_plugin;
    CeColl ce_coll;
  };
};
struct Event7 {
  std::uint64_t type;
  void* parent;
  int rank;
  union {
    GroupApi group_api;
    CollApi7 coll_api;
    P2pApi7 p2p_api;
    KernelLaunch kernel_launch;
    Coll7 coll;  // the largest
    P2p7 p2p;
    ProxyOp proxy_op;
    ProxyStep proxy_step;
    KernelCh kernel_ch;
    NetPlugin net_plugin;
    KernelPhase kernel_phase;
  };
};

// Versions 1 to 3. `op` comes with states of ProxyOp; its counts are cumulative. The pointer to the
// union is null for states of ProxyStep in NCCL 2.26.
union Args1 {
  struct {
    std::size_t bytes;
    int steps;
  } op;
  struct {
    int appended;
  } proxy_ctrl;
};
// From version 4 on. The pointer to the union may be null for states of GroupApi.
union Args4 {
  struct {
    std::size_t bytes;
  } step;  // of this step
  struct {
    int appended;
  } proxy_ctrl;
  struct {
    void* data;
  } net_plugin;
  struct {
    std::uint64_t timer_ns;
  } kernel_ch;  // of a kernel's channel, or of a phase
};

template <class Event, class Args>
struct Table1 {
  const char* name;
  Result (*init)(void** context, int* mask);
  Result (*start)(void* context, void** handle, Event* event);
  Result (*stop)(void* handle);
  Result (*record)(void* handle, State state, Args* args);
  Result (*finalize)(void* context);
};
template <class Event>
struct Table4 {
  const char* name;
  Result (*init)(void** context, int* mask, const char* comm_name, std::uint64_t comm, int nodes,
                 int size, int rank, Log log);
  Result (*start)(void* context, void** handle, Event* event);
  Result (*stop)(void* handle);
  Result (*record)(void* handle, State state, Args4* args);
  Result (*finalize)(void* context);
};
template <class Event>
struct Table5 {
  const char* name;
  Result (*init)(void** context, std::uint64_t comm, int* mask, const char* comm_name, int nodes,
                 int size, int rank, Log log);
  Result (*start)(void* context, void** handle, Event* event);
  Result (*stop)(void* handle);
  Result (*record)(void* handle, State state, Args4* args);
  Result (*finalize)(void* context);
};

static_assert(sizeof(void*) == 8 && sizeof(pid_t) == 4);
static_assert(sizeof(Event1) == 120 && sizeof(Event2) == 128 && sizeof(Event3) == 120);
static_assert(sizeof(Event4) == 104 && sizeof(Event5) == 112 && sizeof(Event6) == 112);
static_assert(sizeof(Event7) == 136 && offsetof(Event7, coll.tag) == 128);
static_assert(offsetof(Event7, coll.group) == 104 && offsetof(Event7, coll.is_symmetric) == 120);
static_assert(offsetof(Event7, p2p.group) == 64 && offsetof(Event7, p2p.tag) == 72);
static_assert(offsetof(Event7, coll_api.tag) == 72 && offsetof(Event7, p2p_api.tag) == 64);
static_assert(offsetof(Event7, kernel_phase.phase) == 25);
static_assert(offsetof(Event7, kernel_phase.timer_ns) == 40);
static_assert(offsetof(Event1, parent) == 8 && offsetof(Event6, parent) == 8);
static_assert(offsetof(Event1, rank) == 16 && offsetof(Event6, rank) == 16);
static_assert(offsetof(Event1, coll) == 24 && offsetof(Event6, coll) == 24);
static_assert(offsetof(Event1, coll.is_nvls) == 112 && offsetof(Event1, coll.type) == 84);
static_assert(offsetof(Event2, coll.protocol) == 120 && offsetof(Event3, coll.protocol) == 112);
static_assert(offsetof(Event4, coll.protocol) == 96 && offsetof(Event4, p2p.channels) == 60);
static_assert(offsetof(Event5, p2p.group) == 64 && offsetof(Event5, coll.group) == 104);
static_assert(offsetof(Event5, kernel_ch.timer_ns) == 32);
static_assert(offsetof(Event6, ce_coll.stream) == 104);
static_assert(sizeof(Args1) == 16 && sizeof(Args4) == 8);
static_assert(sizeof(Table1<Event1, Args1>) == 48 && sizeof(Table5<Event6>) == 48);

}  // namespace robustrun::tracer::nccl::abi
