#pragma once
// The scenarios of nccl_player that run several threads or take the time.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/helpers/nccl_player.h"

namespace robustrun::test {

// Operations on their way from the threads that call to those that move data: at most so many that
// each finds a slot.
class Handoff {
 public:
  bool push(const PlayedOp& op) {
    const std::lock_guard lock(mutex_);
    if (ops_.size() >= 256) return false;
    ops_.push_back(op);
    return true;
  }
  bool pop(PlayedOp& op) {
    const std::lock_guard lock(mutex_);
    if (ops_.empty()) return false;
    op = ops_.front();
    ops_.pop_front();
    return true;
  }

 private:
  std::mutex mutex_;
  std::deque<PlayedOp> ops_;
};

// Four threads call, each on a communicator of its own; two move data, in whatever order; one says
// everything again about operations that are finished.
inline void play_threads(Player& player) {
  constexpr int kCallers = 4;
  constexpr int kOps = 800;
  FakeNccl& nccl = player.nccl();
  Handoff queue;
  Handoff finished;
  std::atomic<int> callers{kCallers};
  std::atomic<int> movers{2};
  std::vector<std::thread> threads;
  for (int caller = 0; caller < kCallers; ++caller) {
    threads.emplace_back([&, caller] {
      const FakeComm comm = nccl.init(0x100U + static_cast<unsigned>(caller), 4, 1);
      for (std::size_t i = 0; i < kOps; ++i) {
        const PlayedOp op = player.enqueue(comm, i, 1 + static_cast<int>(i % 3));
        while (!queue.push(op)) std::this_thread::yield();
      }
      --callers;
    });
  }
  for (int mover = 0; mover < 2; ++mover) {
    threads.emplace_back([&] {
      PlayedOp op;
      while (true) {
        const bool last = callers == 0;
        if (queue.pop(op)) {
          player.complete(op);
          static_cast<void>(finished.push(op));
        } else if (last) {
          break;
        }
      }
      --movers;
    });
  }
  threads.emplace_back([&] {
    PlayedOp op;
    while (true) {
      const bool last = movers == 0;
      const bool found = finished.pop(op);
      if (!found && last) break;
      if (!found) continue;
      player.complete(op);
      for (void* handle : {op.group, op.call, op.task}) player.stop(handle);
    }
  });
  for (std::thread& thread : threads) thread.join();
}

// Nanoseconds per callback of one thread, as JSON: of a step's four to five callbacks, of all that
// the caller's thread gets for one operation, and of both together.
inline void play_bench(Player& player) {
  using Clock = std::chrono::steady_clock;
  constexpr int kRounds = 41;
  FakeNccl& nccl = player.nccl();
  const FakeComm comm = nccl.init(0xabc, 4, 1);
  const int step_calls = nccl.version() >= 4 ? 5 : 4;
  const int op_calls = (nccl.has_api() ? 8 : 0) + 4 + (nccl.has_kernels() ? 2 : 0) +
                       (nccl.version() >= 4 ? 1 : 0) + 2;
  std::vector<double> steps;
  std::vector<double> ops;
  for (int round = 0; round < kRounds; ++round) {
    constexpr int kOps = 2000;
    constexpr int kSteps = 8000;
    auto begin = Clock::now();
    for (int i = 0; i < kOps; ++i) {
      const PlayedOp op = player.enqueue(comm, 1000, 1);
      void* const kernel = nccl.kernel(comm, op.task, 0, 10);
      player.send_all(op, 2, 0);
      if (kernel != nullptr) nccl.kernel_stop(kernel, 20);
    }
    const std::chrono::duration<double, std::nano> for_ops = Clock::now() - begin;
    ops.push_back(for_ops.count() / kOps / op_calls);
    const PlayedOp op = player.enqueue(comm, 1000, 1);
    void* const flow = nccl.proxy_op(comm.context, op.task, ::getpid(), 2, kSteps, true);
    begin = Clock::now();
    for (int step = 0; step < kSteps; ++step) player.finish_send(op, flow, step);
    const std::chrono::duration<double, std::nano> for_steps = Clock::now() - begin;
    steps.push_back(for_steps.count() / kSteps / step_calls);
    player.stop(flow);
    player.complete(op);
  }
  const auto print = [](const char* name, std::vector<double> all, const char* end) {
    std::ranges::sort(all);
    std::printf("\"%s\": {\"median\": %.1f, \"least\": %.1f, \"p90\": %.1f}%s", name,
                all[all.size() / 2], all.front(), all[all.size() * 9 / 10], end);
  };
  std::printf("{\"abi\": %d, \"mask\": %d, \"rounds\": %d, ", nccl.version(), nccl.mask(), kRounds);
  print("step_ns", steps, ", ");
  print("operation_ns", ops, "}\n");
}

}  // namespace robustrun::test
