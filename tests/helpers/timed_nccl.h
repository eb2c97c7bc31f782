#pragma once
// A FakeNccl that times every callback of another one, less the time for reading the clock twice.
// NCCL's own work to fill in an event is included.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/helpers/fake_nccl.h"

namespace robustrun::test {

enum class Callback : std::uint8_t {
  kNone,  // reading the clock
  kStartGroupApi,
  kStartCollApi,
  kStartLaunch,
  kStartGroup,
  kStartColl,
  kStartProxyOp,
  kStartProxyStep,
  kStartKernel,
  kStopGroupApi,
  kStopCollApi,
  kStopLaunch,
  kStopGroup,
  kStopColl,
  kStopProxyOp,
  kStopProxyStep,
  kStopKernel,  // from version 4 on two callbacks
  kGroupState,
  kStepState,
  kOpState,
};
inline constexpr std::array kCallbackNames = {"",
                                              "start group call",
                                              "start call",
                                              "start launch",
                                              "start group",
                                              "start operation",
                                              "start flow",
                                              "start step",
                                              "start channel",
                                              "stop group call",
                                              "stop call",
                                              "stop launch",
                                              "stop group",
                                              "stop operation",
                                              "stop flow",
                                              "stop step",
                                              "stop channel",
                                              "group state",
                                              "step state",
                                              "flow state"};

// Forwards every call and times it. Each kind of event has one open handle at a time.
class TimedNccl final : public FakeNccl {
 public:
  explicit TimedNccl(FakeNccl& nccl) : FakeNccl(nccl.version()), nccl_(nccl) {}

  FakeComm init(std::uint64_t key, int size, int rank) override {
    return nccl_.init(key, size, rank);
  }
  void finalize(const FakeComm& comm) override { nccl_.finalize(comm); }
  void* group_api(const FakeComm& comm) override {
    return start(Callback::kStartGroupApi, [&] { return nccl_.group_api(comm); });
  }
  void* coll_api(const FakeComm& comm, void* group, std::size_t count, bool captured) override {
    return start(Callback::kStartCollApi,
                 [&] { return nccl_.coll_api(comm, group, count, captured); });
  }
  void* p2p_api(const FakeComm& comm, void* group, bool send, std::size_t count) override {
    return nccl_.p2p_api(comm, group, send, count);
  }
  void* launch(const FakeComm& comm, void* group) override {
    return start(Callback::kStartLaunch, [&] { return nccl_.launch(comm, group); });
  }
  void* group(const FakeComm& comm) override {
    return start(Callback::kStartGroup, [&] { return nccl_.group(comm); });
  }
  void* coll(const FakeComm& comm, void* call, void* group, std::size_t count,
             int channels) override {
    return start(Callback::kStartColl,
                 [&] { return nccl_.coll(comm, call, group, count, channels); });
  }
  void* p2p(const FakeComm& comm, void* call, void* group, bool send, int peer) override {
    return nccl_.p2p(comm, call, group, send, peer);
  }
  void* proxy_op(void* context, void* task, pid_t pid, int peer, int steps, bool send) override {
    return start(Callback::kStartProxyOp,
                 [&] { return nccl_.proxy_op(context, task, pid, peer, steps, send); });
  }
  void* proxy_step(void* context, void* op, int step) override {
    return start(Callback::kStartProxyStep, [&] { return nccl_.proxy_step(context, op, step); });
  }
  void* kernel(const FakeComm& comm, void* task, int channel, std::uint64_t timer) override {
    return start(Callback::kStartKernel, [&] { return nccl_.kernel(comm, task, channel, timer); });
  }
  void stop(void* handle) override {
    const auto open = std::ranges::find(open_, handle);
    const auto place = static_cast<std::size_t>(open - open_.begin());
    const auto which = static_cast<Callback>(at(Callback::kStopGroupApi) + place);
    take(open == open_.end() ? Callback::kNone : which, [&] { nccl_.stop(handle); });
  }
  void state(void* handle, abi::State state) override {
    take(Callback::kGroupState, [&] { nccl_.state(handle, state); });
  }
  void step_state(void* handle, abi::State state, std::size_t bytes) override {
    take(Callback::kStepState, [&] { nccl_.step_state(handle, state, bytes); });
  }
  void op_state(void* handle, abi::State state, int steps, std::size_t bytes) override {
    take(Callback::kOpState, [&] { nccl_.op_state(handle, state, steps, bytes); });
  }
  void kernel_stop(void* handle, std::uint64_t timer) override {
    take(Callback::kStopKernel, [&] { nccl_.kernel_stop(handle, timer); });
    if (version() >= 4) ++counts_[at(Callback::kStopKernel)];
  }

  void phase(const FakeComm& comm, void* channel, int number, std::uint64_t from,
             std::uint64_t to) override {
    nccl_.phase(comm, channel, number, from, to);
  }

  // Ends a round: the mean of each callback is kept.
  void end_round() {
    for (int i = 0; i < 1000; ++i) take(Callback::kNone, [] {});
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      if (counts_[i] > 0) means_[i].push_back(sums_[i] / counts_[i]);
    }
    sums_ = {};
    counts_ = {};
  }
  // Means of a callback, one for each round, less the clock's; empty: this version has none.
  [[nodiscard]] std::vector<double> means(std::size_t callback) const {
    std::vector<double> clock = means_[0];
    std::ranges::nth_element(clock, clock.begin() + static_cast<std::ptrdiff_t>(clock.size() / 2));
    std::vector<double> means = means_[callback];
    for (double& mean : means) mean -= clock[clock.size() / 2];
    return means;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t at(Callback which) { return static_cast<std::size_t>(which); }

  template <class Call>
  void* start(Callback which, const Call& call) {
    void* handle = nullptr;
    take(which, [&] { handle = call(); });
    if (handle == nullptr) {
      sums_[at(which)] = counts_[at(which)] = 0;  // an event that this version does not have
    }
    open_[at(which) - at(Callback::kStartGroupApi)] = handle;
    return handle;
  }
  template <class Call>
  void take(Callback which, const Call& call) {
    const auto begin = Clock::now();
    call();
    const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
    sums_[at(which)] += took.count();
    counts_[at(which)] += 1;
  }

  FakeNccl& nccl_;
  std::array<void*, 8> open_{};
  std::array<double, kCallbackNames.size()> sums_{};
  std::array<double, kCallbackNames.size()> counts_{};
  std::array<std::vector<double>, kCallbackNames.size()> means_;
};

}  // namespace robustrun::test
