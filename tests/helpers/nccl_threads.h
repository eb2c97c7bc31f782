#pragma once
// The scenarios of nccl_player that run several threads, or until they are stopped.

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/helpers/nccl_player.h"
#include "tracer/progress_record.h"

namespace robustrun::test {

// Operations on their way from the calling threads to those that move data; their number is
// limited, so that each finds a slot.
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

// Four threads call, each on a communicator of its own; two move data, in any order; one reports
// everything again about finished operations.
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

// A training whose 32 communicators do one operation each in every step, 20 steps a second, until
// it is stopped. It counts its steps as the boot module does.
inline void play_busy(Player& player) {
  constexpr std::uint64_t kComms = 32;
  const char* const path = std::getenv("ROBUSTRUN_RECORD");
  const int record = path == nullptr ? -1 : ::open(path, O_RDWR | O_CLOEXEC);
  if (record < 0) std::abort();
  const auto write = [record](std::uint64_t value, std::size_t at) {
    if (::pwrite(record, &value, sizeof value, static_cast<off_t>(at)) != sizeof value)
      std::abort();
  };
  write(static_cast<std::uint64_t>(::getpid()), offsetof(tracer::ProgressRecord, worker_pid));
  std::vector<FakeComm> comms;
  for (std::uint64_t i = 0; i < kComms; ++i) {
    comms.push_back(player.nccl().init(0x9e3779b97f4a7c15U * (i + 1), 8, 1));
  }
  for (std::uint64_t step = 1;; ++step) {
    for (const FakeComm& comm : comms) player.complete(player.enqueue(comm));
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    write(2 * step + 1, offsetof(tracer::ProgressRecord, sequence));
    write(step, offsetof(tracer::ProgressRecord, steps));
    write(static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count()),
          offsetof(tracer::ProgressRecord, last_step_at_ns));
    write(2 * step + 2, offsetof(tracer::ProgressRecord, sequence));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace robustrun::test
