#pragma once
// NCCL as a profiler plugin sees it, in one of seven versions: NCCL's calls without communication.
// Events that a version lacks do nothing and return null.

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <type_traits>

#include "tracer/nccl/abi_tables.h"

namespace robustrun::test {

namespace abi = tracer::nccl::abi;

struct FakeComm {
  void* context = nullptr;
  std::uint64_t key = 0;
  int rank = 0;
};

class FakeNccl {
 public:
  virtual ~FakeNccl() = default;
  static std::unique_ptr<FakeNccl> load(const char* library, int version);

  virtual FakeComm init(std::uint64_t key, int size, int rank) = 0;
  virtual void finalize(const FakeComm& comm) = 0;
  virtual void* group_api(const FakeComm& comm) = 0;
  virtual void* coll_api(const FakeComm& comm, void* group, std::size_t count, bool captured) = 0;
  virtual void* p2p_api(const FakeComm& comm, void* group, bool send, std::size_t count) = 0;
  virtual void* launch(const FakeComm& comm, void* group) = 0;
  virtual void* group(const FakeComm& comm) = 0;
  virtual void* coll(const FakeComm& comm, void* call, void* group, std::size_t count,
                     int channels) = 0;
  virtual void* p2p(const FakeComm& comm, void* call, void* group, bool send, int peer) = 0;
  virtual void* proxy_op(void* context, void* task, pid_t pid, int peer, int steps, bool send) = 0;
  virtual void* proxy_step(void* context, void* op, int step) = 0;
  virtual void* kernel(const FakeComm& comm, void* task, int channel, std::uint64_t timer) = 0;
  virtual void stop(void* handle) = 0;
  virtual void state(void* handle, abi::State state) = 0;  // without arguments
  virtual void step_state(void* handle, abi::State state, std::size_t bytes) = 0;
  virtual void op_state(void* handle, abi::State state, int steps, std::size_t bytes) = 0;
  virtual void kernel_stop(void* handle, std::uint64_t timer) = 0;
  // A phase of the kernel of which `channel` is a channel.
  virtual void phase(const FakeComm& comm, void* channel, int number, std::uint64_t from,
                     std::uint64_t to) = 0;

  // The collective that coll_api() and coll() play; `number`: of ncclFunc_t.
  void play(const char* func, int number) {
    func_ = func;
    func_number_ = number;
  }
  // The user's tag of the next calls; only version 7 passes it.
  void tag(std::uint64_t tag) { tag_ = tag; }

  [[nodiscard]] int mask() { return std::atomic_ref(mask_).load(); }
  [[nodiscard]] int version() const { return version_; }
  [[nodiscard]] bool has_api() const { return version_ >= 5; }
  [[nodiscard]] bool has_kernels() const { return version_ >= 3; }

 protected:
  explicit FakeNccl(int version) : version_(version) {}
  int version_;
  int mask_ = 0;
  const char* func_ = "AllReduce";
  int func_number_ = 4;
  std::uint64_t tag_ = 0xfeedfacefeedface;
};

template <int V>
struct FakeTypes;
template <>
struct FakeTypes<1> {
  using Event = abi::Event1;
  using Args = abi::Args1;
  using Table = abi::Table1<Event, Args>;
};
template <>
struct FakeTypes<2> {
  using Event = abi::Event2;
  using Args = abi::Args1;
  using Table = abi::Table1<Event, Args>;
};
template <>
struct FakeTypes<3> {
  using Event = abi::Event3;
  using Args = abi::Args1;
  using Table = abi::Table1<Event, Args>;
};
template <>
struct FakeTypes<4> {
  using Event = abi::Event4;
  using Args = abi::Args4;
  using Table = abi::Table4<Event>;
};
template <>
struct FakeTypes<5> {
  using Event = abi::Event5;
  using Args = abi::Args4;
  using Table = abi::Table5<Event>;
};
template <>
struct FakeTypes<6> {
  using Event = abi::Event6;
  using Args = abi::Args4;
  using Table = abi::Table5<Event>;
};

template <>
struct FakeTypes<7> {
  using Event = abi::Event7;
  using Args = abi::Args4;
  using Table = abi::Table5<Event>;
};

}  // namespace robustrun::test
