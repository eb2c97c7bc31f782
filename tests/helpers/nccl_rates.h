#pragma once
// Scenarios of nccl_player about how fast data moves, and about tags.

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "tests/helpers/nccl_masks.h"
#include "tests/helpers/nccl_player.h"
#include "tracer/progress_record.h"

namespace robustrun::test {

inline constexpr int kRateMembers = 8;
inline constexpr std::size_t kRateCount = 1U << 20U;  // as passed to NCCL; of two bytes each
inline constexpr int kRateOperations = 10;
inline constexpr std::uint64_t kRateNs = 250'000;  // of each
struct RateFunc {
  const char* name;
  int number;
};
inline constexpr RateFunc kRateFuncs[] = {{"Broadcast", 0},     {"Reduce", 1},    {"AllGather", 2},
                                          {"ReduceScatter", 3}, {"AllReduce", 4}, {"AlltoAll", 8},
                                          {"Scatter", 9},       {"Gather", 10}};

// The kernel of an operation, which takes `ns` by the GPU's clock and may have phases.
inline void run_kernel(Player& player, const PlayedOp& op, std::uint64_t begin, std::uint64_t ns,
                       std::uint64_t waits_ns = 0, std::uint64_t works_ns = 0) {
  FakeNccl& nccl = player.nccl();
  std::vector<void*> channels;
  for (int channel = 0; channel < op.channels; ++channel) {
    channels.push_back(nccl.kernel(op.comm, op.task, channel, begin));
  }
  for (void* const channel : channels) {
    if (channel == nullptr) continue;
    if (works_ns != 0) {
      nccl.phase(op.comm, channel, 0, begin, begin + waits_ns);
      nccl.phase(op.comm, channel, 1, begin + waits_ns, begin + waits_ns + works_ns);
      nccl.phase(op.comm, channel, 2, begin + waits_ns + works_ns, begin + ns);
    }
    nccl.kernel_stop(channel, begin + ns);
  }
}

// Ten collectives of each kind.
inline void play_rates(Player& player) {
  const FakeComm comm = player.nccl().init(kMaskedComm, kRateMembers, 3);
  for (const RateFunc& func : kRateFuncs) {
    player.nccl().play(func.name, func.number);
    for (int i = 0; i < kRateOperations; ++i) {
      const PlayedOp op = player.enqueue(comm, kRateCount, 2);
      run_kernel(player, op, 1'000'000, kRateNs);
    }
  }
}

// A symmetric kernel that waits, then works, then waits again.
inline void play_phases(Player& player) {
  const FakeComm comm = player.nccl().init(kMaskedComm, kRateMembers, 3);
  for (int i = 0; i < kRateOperations; ++i) {
    const PlayedOp op = player.enqueue(comm, kRateCount, 2);
    run_kernel(player, op, 1'000'000, kRateNs, 100'000, 120'000);
  }
}

// Each call has its own tag.
inline void play_tags(Player& player) {
  const FakeComm comm = player.nccl().init(kMaskedComm, 4, 1);
  for (std::uint64_t i = 1; i <= 5; ++i) {
    player.nccl().tag(100 + i);
    run_kernel(player, player.enqueue(comm, 1000, 1), 1000, 1000);
  }
}

inline std::uint64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// A worker whose rank does all-reduces of 8 MiB in a ring, 20 a second, until it is stopped: it
// sends to both neighbours, each time 1 MiB in four steps that are on their way for 4 ms. Once the
// file SLOW_FLAG exists, links of rank SLOW_RANK are half as fast, and so is every kernel, because
// all ranks of a ring wait for the slowest link. It counts its steps as the boot module does.
inline void play_ring(Player& player) {
  constexpr std::size_t kCount = std::size_t{4} << 20U;  // of two bytes each
  constexpr std::uint64_t kKernelNs = 10'000'000;
  constexpr int kTransitUs = 4000;
  constexpr int kSteps = 4;
  const char* const path = std::getenv("ROBUSTRUN_RECORD");
  const char* const flag = std::getenv("SLOW_FLAG");
  const int record = path == nullptr ? -1 : ::open(path, O_RDWR | O_CLOEXEC);
  if (record < 0 || flag == nullptr) std::abort();
  const auto write = [record](std::uint64_t value, std::size_t at) {
    if (::pwrite(record, &value, sizeof value, static_cast<off_t>(at)) != sizeof value)
      std::abort();
  };
  write(static_cast<std::uint64_t>(::getpid()), offsetof(tracer::ProgressRecord, worker_pid));
  const int rank = number_of("RANK");
  const int size = number_of("WORLD_SIZE");
  const int slow_rank = number_of("SLOW_RANK");
  FakeNccl& nccl = player.nccl();
  const FakeComm comm = nccl.init(kMaskedComm, size, rank);
  for (std::uint64_t step = 1;; ++step) {
    const bool is_slow = ::access(flag, F_OK) == 0;
    const PlayedOp op = player.enqueue(comm, kCount, 2);
    struct Sending {
      void* flow = nullptr;
      std::vector<void*> steps;
      bool is_slow = false;
    };
    std::vector<Sending> all;
    for (const int peer : {(rank + 1) % size, (rank + size - 1) % size}) {
      Sending one;
      one.flow = nccl.proxy_op(comm.context, op.task, ::getpid(), peer, kSteps, true);
      one.is_slow = is_slow && (rank == slow_rank || peer == slow_rank);
      for (int number = 0; one.flow != nullptr && number < kSteps; ++number) {
        void* const sent = nccl.proxy_step(comm.context, one.flow, number);
        nccl.step_state(sent, abi::kSendWait, std::size_t{1} << 18U);
        one.steps.push_back(sent);
      }
      all.push_back(one);
    }
    for (const bool slow : {false, true}) {
      ::usleep(kTransitUs);
      for (const Sending& one : all) {
        if (one.is_slow != slow || one.flow == nullptr) continue;
        for (void* const sent : one.steps) player.stop(sent);
        player.stop(one.flow);
      }
    }
    run_kernel(player, op, step * 1'000'000'000, is_slow ? 2 * kKernelNs : kKernelNs);
    write(2 * step + 1, offsetof(tracer::ProgressRecord, sequence));
    write(step, offsetof(tracer::ProgressRecord, steps));
    write(monotonic_ns(), offsetof(tracer::ProgressRecord, last_step_at_ns));
    write(2 * step + 2, offsetof(tracer::ProgressRecord, sequence));
    ::usleep(50'000 - 2 * kTransitUs);
  }
}

}  // namespace robustrun::test
