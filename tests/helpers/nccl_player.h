#pragma once
// NCCL's actions around one collective, in pieces: the calling thread, the GPU, and the thread that
// moves data. For the scenarios of nccl_player.

#include <unistd.h>

#include <cstdint>
#include <vector>

#include "tests/helpers/fake_nccl.h"

namespace robustrun::test {

struct PlayedOp {
  FakeComm comm;
  void* group = nullptr;  // of calls
  void* call = nullptr;
  void* task = nullptr;
  int channels = 0;
};

class Player {
 public:
  explicit Player(FakeNccl& nccl) : nccl_(nccl) {}
  [[nodiscard]] FakeNccl& nccl() { return nccl_; }

  // The user calls all-reduce, up to where NCCL would launch its kernel.
  PlayedOp call(const FakeComm& comm, std::size_t count, int channels, void* in_group = nullptr) {
    PlayedOp op{comm, in_group, nullptr, nullptr, channels};
    if (in_group == nullptr) {
      op.group = nccl_.group_api(comm);
      state(op.group, abi::kGroupStartApiStop);
    }
    op.call = nccl_.coll_api(comm, op.group, count, false);
    stop(op.call);
    if (in_group == nullptr) state(op.group, abi::kGroupEndApiStart);
    return op;
  }
  // The launch has returned: the operation is handed over, and the call ends.
  void hand_over(PlayedOp& op, std::size_t count) {
    stop(nccl_.launch(op.comm, op.group));
    void* const group = nccl_.group(op.comm);
    op.task = nccl_.coll(op.comm, op.call, group, count, op.channels);
    stop(op.task);
    stop(group);
  }
  void leave(const PlayedOp& op) { stop(op.group); }
  PlayedOp enqueue(const FakeComm& comm, std::size_t count = 1000, int channels = 2) {
    PlayedOp op = call(comm, count, channels);
    hand_over(op, count);
    leave(op);
    return op;
  }

  // The kernel's channels run, and the data of one flow each way moves.
  void complete(const PlayedOp& op) {
    std::vector<void*> kernels;
    for (int channel = 0; channel < op.channels; ++channel) {
      const auto timer = static_cast<std::uint64_t>(1000 - channel * 100);
      kernels.push_back(nccl_.kernel(op.comm, op.task, channel, timer));
    }
    send_all(op, 2, 4);
    for (int channel = 0; channel < op.channels; ++channel) {
      if (kernels[static_cast<std::size_t>(channel)] == nullptr) continue;
      const auto timer = static_cast<std::uint64_t>(5000 + channel * 200);
      nccl_.kernel_stop(kernels[static_cast<std::size_t>(channel)], timer);
    }
  }
  void send_all(const PlayedOp& op, int peer, int steps) {
    void* const flow = nccl_.proxy_op(op.comm.context, op.task, ::getpid(), peer, steps, true);
    if (flow == nullptr) return;
    for (int step = 0; step < steps; ++step) finish_send(op, flow, step);
    stop(flow);
  }
  void finish_send(const PlayedOp& op, void* flow, int step) { stop(send(op, flow, step)); }
  // A sending step, up to where its bytes are on the network.
  void* send(const PlayedOp& op, void* flow, int number) {
    void* const step = nccl_.proxy_step(op.comm.context, flow, number);
    if (step == nullptr) return nullptr;
    nccl_.step_state(step, abi::kSendGpuWait, 0);
    if (nccl_.version() >= 4) nccl_.step_state(step, abi::kSendPeerWait, 0);
    nccl_.step_state(step, abi::kSendWait, 100);
    return step;
  }

  // Like NCCL: events without a handle are not reported again.
  void stop(void* handle) {
    if (handle != nullptr) nccl_.stop(handle);
  }
  void state(void* handle, abi::State state) {
    if (handle != nullptr) nccl_.state(handle, state);
  }

 private:
  FakeNccl& nccl_;
};

}  // namespace robustrun::test
