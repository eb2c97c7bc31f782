#pragma once
// The members of the event descriptors that NCCL passes to a profiler plugin. The number in a
// type's name is the first interface version with this layout.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace robustrun::tracer::nccl::abi {

struct ProxyOp {
  pid_t pid;
  std::uint8_t channel;
  int peer, steps, chunk_bytes, is_send;
};
struct ProxyStep {
  int step;
};
struct NetPlugin {
  std::int64_t id;
  void* data;
};
struct KernelCh3 {
  std::uint8_t channel;
};
struct KernelCh {
  std::uint8_t channel;
  std::uint64_t timer_ns;
};
struct KernelPhase {
  std::uint8_t channel;
  std::uint8_t phase;  // 0 barrier at the start, 1 the work, 2 barrier at the end
  const char* name;
  std::uint64_t timer_ns;
};
struct GroupApi {
  bool captured;
  int depth;
};
struct CollApi {
  const char* func;
  std::size_t count;
  const char* type;
  int root;
  void* stream;
  bool captured;
};
struct P2pApi {
  const char* func;
  std::size_t count;
  const char* type;
  void* stream;
  bool captured;
};
struct KernelLaunch {
  void* stream;
};
struct CollApi7 {
  const char* func;
  std::size_t count;
  const char* type;
  int root;
  void* stream;
  bool captured;
  std::uint64_t tag;
};
struct P2pApi7 {
  const char* func;
  std::size_t count;
  const char* type;
  void* stream;
  bool captured;
  std::uint64_t tag;
};

struct Coll1 {
  const char* name;
  std::uint64_t comm, sequence;
  std::uint8_t func;
  const void* send;
  void* receive;
  std::size_t count;
  int root;
  std::uint8_t type;
  std::uint32_t op;
  std::size_t traffic_bytes;
  std::uint8_t channels, warps, algorithm, protocol;
  int is_collnet, is_nvls;
};
struct P2p1 {
  const char* name;
  std::uint64_t comm;
  std::uint8_t func;
  void* buffer;
  std::uint8_t type;
  std::size_t count;
  int peer;
};
struct Coll2 {
  const char* name;
  std::uint64_t comm, sequence;
  const char* func;
  const void* send;
  void* receive;
  std::size_t count;
  int root;
  const char* type;
  std::size_t traffic_bytes;
  std::uint8_t channels, warps;
  const char *algorithm, *protocol;
};
struct P2p2 {
  const char* name;
  std::uint64_t comm;
  const char* func;
  void* buffer;
  const char* type;
  std::size_t count;
  int peer;
};
struct Coll3 {
  const char* name;
  std::uint64_t comm, sequence;
  const char* func;
  const void* send;
  void* receive;
  std::size_t count;
  int root;
  const char* type;
  std::uint8_t channels, warps;
  const char *algorithm, *protocol;
};
struct Coll4 {
  std::uint64_t sequence;
  const char* func;
  const void* send;
  void* receive;
  std::size_t count;
  int root;
  const char* type;
  std::uint8_t channels, warps;
  const char *algorithm, *protocol;
};
struct P2p4 {
  const char* func;
  void* buffer;
  const char* type;
  std::size_t count;
  int peer;
  std::uint8_t channels;
};
// Each version lists all members, because offsetof() need not work with a base class.
// jscpd:ignore-start
struct Coll5 {
  std::uint64_t sequence;
  const char* func;
  const void* send;
  void* receive;
  std::size_t count;
  int root;
  const char* type;
  std::uint8_t channels, warps;
  const char *algorithm, *protocol;
  void* group;
};
struct Coll7 {
  std::uint64_t sequence;
  const char* func;
  const void* send;
  void* receive;
  std::size_t count;
  int root;
  const char* type;
  std::uint8_t channels, warps;
  const char *algorithm, *protocol;
  void* group;
  const char* kernel_variant;
  bool is_symmetric;
  std::uint64_t tag;
};
struct P2p5 {
  const char* func;
  void* buffer;
  const char* type;
  std::size_t count;
  int peer;
  std::uint8_t channels;
  void* group;
};
struct P2p7 {
  const char* func;
  void* buffer;
  const char* type;
  std::size_t count;
  int peer;
  std::uint8_t channels;
  void* group;
  std::uint64_t tag;
};
// jscpd:ignore-end

// Collectives by copy engines. Not used; declared for the size of the descriptor.
struct CeColl {
  std::uint64_t sequence;
  const char* func;
  const void* send;
  void* receive;
  std::size_t count;
  int root;
  const char *type, *strategy;
  bool in_batch;
  std::uint32_t batch, batches, ce_sequence;
  void* stream;
};

}  // namespace robustrun::tracer::nccl::abi
