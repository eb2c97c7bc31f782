#pragma once
// FakeNccl for one version of the interface, as a template over its types.

#include "tests/helpers/fake_nccl.h"

namespace robustrun::test {

template <int V>
class FakeVersion final : public FakeNccl {
  using Event = typename FakeTypes<V>::Event;
  using Args = typename FakeTypes<V>::Args;
  using Table = typename FakeTypes<V>::Table;

 public:
  explicit FakeVersion(const void* table) : FakeNccl(V), table_(static_cast<const Table*>(table)) {}

  FakeComm init(std::uint64_t key, int size, int rank) override {
    FakeComm comm{reinterpret_cast<void*>(0xdead), key, rank};
    const std::string name = "comm " + std::to_string(key);
    int failed = 0;
    if constexpr (V <= 3) {
      failed = table_->init(&comm.context, &mask_);
    } else if constexpr (V == 4) {
      failed = table_->init(&comm.context, &mask_, name.c_str(), key, 2, size, rank, log);
    } else {
      failed = table_->init(&comm.context, key, &mask_, name.c_str(), 2, size, rank, log);
    }
    must(failed);
    return comm;
  }
  void finalize(const FakeComm& comm) override { must(table_->finalize(comm.context)); }

  void* group_api(const FakeComm& comm) override {
    if constexpr (V >= 5) {
      Event event = make(abi::kGroupApi, nullptr, 0);
      event.group_api = {false, 1};
      return start(comm.context, event);
    }
    return nullptr;
  }
  void* coll_api(const FakeComm& comm, void* group, std::size_t count, bool captured) override {
    if constexpr (V >= 5) {
      Event event = make(abi::kCollApi, group, 0);
      event.coll_api = {};
      event.coll_api.func = func_;
      event.coll_api.count = count;
      event.coll_api.type = "ncclBfloat16";
      event.coll_api.captured = captured;
      if constexpr (V >= 7) event.coll_api.tag = tag_;
      return start(comm.context, event);
    }
    return nullptr;
  }
  void* p2p_api(const FakeComm& comm, void* group, bool send, std::size_t count) override {
    if constexpr (V >= 5) {
      Event event = make(abi::kP2pApi, group, 0);
      event.p2p_api = {};
      event.p2p_api.func = send ? "Send" : "Recv";
      event.p2p_api.count = count;
      event.p2p_api.type = "ncclFloat32";
      if constexpr (V >= 7) event.p2p_api.tag = tag_;
      return start(comm.context, event);
    }
    return nullptr;
  }
  void* launch(const FakeComm& comm, void* group) override {
    if constexpr (V >= 5) {
      Event event = make(abi::kKernelLaunch, group, 0);
      return start(comm.context, event);
    }
    return nullptr;
  }
  void* group(const FakeComm& comm) override {
    Event event = make(abi::kGroup, nullptr, 0);
    return start(comm.context, event);
  }
  void* coll(const FakeComm& comm, void* call, void* group, std::size_t count,
             int channels) override {
    Event event = make(abi::kColl, V >= 5 ? call : group, comm.rank);
    auto& coll = event.coll;
    coll = {};
    if constexpr (V <= 3) coll.comm = comm.key, coll.name = "named late";
    if constexpr (V == 1) coll.func = static_cast<std::uint8_t>(func_number_), coll.type = 9;
    if constexpr (V != 1) coll.func = func_, coll.type = "ncclBfloat16";
    if constexpr (V >= 5) coll.group = group;
    if constexpr (V >= 7) coll.kernel_variant = "", coll.is_symmetric = true, coll.tag = tag_;
    coll.count = count;
    coll.channels = static_cast<std::uint8_t>(channels);
    return start(comm.context, event);
  }
  void* p2p(const FakeComm& comm, void* call, void* group, bool send, int peer) override {
    Event event = make(abi::kP2p, V >= 5 ? call : group, comm.rank);
    auto& p2p = event.p2p;
    p2p = {};
    if constexpr (V <= 3) p2p.comm = comm.key;
    if constexpr (V == 1) p2p.func = send ? 6 : 7, p2p.type = 7;
    if constexpr (V != 1) p2p.func = send ? "Send" : "Recv", p2p.type = "ncclFloat32";
    if constexpr (V >= 4) p2p.channels = 0xaa;  // not to be relied on
    if constexpr (V >= 5) p2p.group = group;
    if constexpr (V >= 7) p2p.tag = tag_;
    p2p.count = 10;
    p2p.peer = peer;
    return start(comm.context, event);
  }
  void* proxy_op(void* context, void* task, pid_t pid, int peer, int steps, bool send) override {
    Event event = make(abi::kProxyOp, task, 0);
    event.proxy_op = {pid, 1, peer, steps, 1 << 19, send ? 1 : 0};
    return start(context, event);
  }
  void* proxy_step(void* context, void* op, int step) override {
    Event event = make(abi::kProxyStep, op, 0);
    event.proxy_step = {step};
    return start(context, event);
  }
  void* kernel(const FakeComm& comm, void* task, int channel, std::uint64_t timer) override {
    if constexpr (V >= 3) {
      Event event = make(abi::kKernelCh, task, 0);
      event.kernel_ch.channel = static_cast<std::uint8_t>(channel);
      if constexpr (V >= 4) event.kernel_ch.timer_ns = timer;
      return start(comm.context, event);
    }
    return nullptr;
  }

  void stop(void* handle) override { must(table_->stop(handle)); }
  void state(void* handle, abi::State state) override {
    must(table_->record(handle, state, nullptr));
  }
  void step_state(void* handle, abi::State state, std::size_t bytes) override {
    if constexpr (V <= 3) return this->state(handle, state);
    if constexpr (V >= 4) {
      Args args{};
      args.step.bytes = bytes;
      must(table_->record(handle, state, &args));
    }
  }
  void op_state(void* handle, abi::State state, int steps, std::size_t bytes) override {
    if constexpr (V <= 3) {
      Args args{};
      args.op.bytes = bytes;
      args.op.steps = steps;
      must(table_->record(handle, state, &args));
    }
  }
  void kernel_stop(void* handle, std::uint64_t timer) override {
    if constexpr (V >= 4) {
      Args args{};
      args.kernel_ch.timer_ns = timer;
      must(table_->record(handle, abi::kKernelChStop, &args));
    }
    stop(handle);
  }

  void phase(const FakeComm& comm, void* channel, int number, std::uint64_t from,
             std::uint64_t to) override {
    if constexpr (V >= 7) {
      Event event = make(abi::kKernelPhase, channel, 0);
      event.kernel_phase = {0, static_cast<std::uint8_t>(number), "phase", from};
      void* const handle = start(comm.context, event);
      if (handle == nullptr) return;
      Args args{};
      args.kernel_ch.timer_ns = to;
      must(table_->record(handle, abi::kKernelPhaseStop, &args));
      stop(handle);
    }
  }

 private:
  static Event make(std::uint64_t type, void* parent, int rank) {
    Event event{};
    event.type = static_cast<decltype(event.type)>(type);
    event.parent = parent;
    event.rank = rank;
    return event;
  }
  void* start(void* context, Event& event) {
    void* handle = reinterpret_cast<void*>(0xdead);  // as NCCL leaves it from an earlier event
    must(table_->start(context, &handle, &event));
    if (handle == reinterpret_cast<void*>(0xdead)) must(1);
    return handle;
  }
  static void log(int, unsigned long, const char*, int, const char*, ...) {}
  static void must(int failed) {
    if (failed == 0) return;
    std::fprintf(stderr, "a callback failed\n");
    std::abort();
  }
  const Table* table_;
};

inline std::unique_ptr<FakeNccl> FakeNccl::load(const char* library, int version) {
  void* const loaded = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    std::exit(2);
  }
  const std::string symbol = "ncclProfiler_v" + std::to_string(version);
  const void* const table = ::dlsym(loaded, symbol.c_str());
  if (table == nullptr) return nullptr;
  switch (version) {
    case 1: return std::make_unique<FakeVersion<1>>(table);
    case 2: return std::make_unique<FakeVersion<2>>(table);
    case 3: return std::make_unique<FakeVersion<3>>(table);
    case 4: return std::make_unique<FakeVersion<4>>(table);
    case 5: return std::make_unique<FakeVersion<5>>(table);
    case 6: return std::make_unique<FakeVersion<6>>(table);
    default: return std::make_unique<FakeVersion<7>>(table);
  }
}

}  // namespace robustrun::test
