#pragma once
// The cost of the plugin's callbacks on one thread: the scenario `bench` of nccl_player, as JSON.
//
// Nanoseconds per callback: the mean over a step, and over a whole operation; and each callback by
// itself (timed_nccl.h).

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "tests/helpers/nccl_player.h"
#include "tests/helpers/timed_nccl.h"

namespace robustrun::test {

inline void play_operations(Player& player, const FakeComm& comm, int count) {
  FakeNccl& nccl = player.nccl();
  const pid_t own = ::getpid();  // a system call
  for (int i = 0; i < count; ++i) {
    const PlayedOp op = player.enqueue(comm, 1000, 1);
    void* const kernel = nccl.kernel(comm, op.task, 0, 10);
    player.stop(nccl.proxy_op(comm.context, op.task, own, 2, 0, true));
    if (kernel != nullptr) nccl.kernel_stop(kernel, 20);
  }
}

// Versions 1 to 3 also report a step as a state of its flow, which is only timed by itself.
inline void play_steps(Player& player, const PlayedOp& op, int count, bool has_op_states) {
  FakeNccl& nccl = player.nccl();
  void* const flow = nccl.proxy_op(op.comm.context, op.task, ::getpid(), 2, count, true);
  for (int step = 0; step < count; ++step) {
    player.finish_send(op, flow, step);
    if (has_op_states) nccl.op_state(flow, abi::kSendTransmitted, step, 300);
  }
  player.stop(flow);
}

// Of this thread: time in which other threads have the processor does not count.
inline double processor_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

inline void print_times(const char* name, std::vector<double> all, const char* end) {
  std::ranges::sort(all);
  std::printf("\"%s\": {\"median\": %.1f, \"least\": %.1f, \"p90\": %.1f}%s", name,
              all[all.size() / 2], all.front(), all[all.size() * 9 / 10], end);
}

inline void play_bench(Player& player) {
  constexpr int kRounds = 41;
  constexpr int kOps = 2000;
  constexpr int kSteps = 8000;
  FakeNccl& nccl = player.nccl();
  TimedNccl timed(nccl);
  Player timed_player(timed);
  const FakeComm comm = nccl.init(0xabc, 4, 1);
  const int step_calls = nccl.version() >= 4 ? 5 : 4;
  const int op_calls = (nccl.has_api() ? 8 : 0) + 4 + (nccl.has_kernels() ? 2 : 0) +
                       (nccl.version() >= 4 ? 1 : 0) + 2;
  std::vector<double> steps;
  std::vector<double> ops;
  for (int round = 0; round < kRounds; ++round) {
    double begin = processor_ns();
    play_operations(player, comm, kOps);
    ops.push_back((processor_ns() - begin) / kOps / op_calls);
    const PlayedOp op = player.enqueue(comm, 1000, 1);
    begin = processor_ns();
    play_steps(player, op, kSteps, false);
    steps.push_back((processor_ns() - begin) / kSteps / step_calls);
    player.complete(op);

    play_operations(timed_player, comm, kOps);
    const PlayedOp slow = player.enqueue(comm, 1000, 1);
    play_steps(timed_player, slow, kSteps, nccl.version() <= 3);
    timed.end_round();
    player.complete(slow);
  }
  std::printf("{\"abi\": %d, \"mask\": %d, \"rounds\": %d, ", nccl.version(), nccl.mask(), kRounds);
  print_times("step_ns", steps, ", ");
  print_times("operation_ns", ops, ", \"callback_ns\": {");
  const char* separator = "";
  for (std::size_t i = 1; i < kCallbackNames.size(); ++i) {
    const std::vector<double> means = timed.means(i);
    if (means.empty()) continue;
    std::printf("%s", separator);
    print_times(kCallbackNames[i], means, "");
    separator = ", ";
  }
  std::printf("}}\n");
}

}  // namespace robustrun::test
