#include "checkpoint/memory/copy_pool.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "base/io/blocking_pool.h"
#include "checkpoint/format/crc32c.h"

namespace robustrun::checkpoint {

// A thread takes several units at a time, because taking one costs more than copying a small one.
constexpr std::uint64_t kTakenBytes = 1U << 20U;

struct CopyPool::State {
  unsigned threads;
  boost::asio::io_context loop;
  base::BlockingPool pool;
  std::span<CopyUnit> units;
  std::atomic<std::size_t> next = 0;

  explicit State(unsigned wanted)
      : threads(wanted), pool(loop.get_executor(), std::max(1U, wanted - 1), wanted) {}

  void work() {
    while (true) {
      // Threads do not wait for each other; the units go to the first thread that takes them.
      std::size_t first = next.load(std::memory_order_relaxed);
      std::size_t last = first;
      do {
        last = first;
        for (std::uint64_t bytes = 0; last < units.size() && bytes < kTakenBytes; ++last) {
          bytes += units[last].bytes;
        }
        if (last == first) return;
      } while (!next.compare_exchange_weak(first, last, std::memory_order_relaxed));
      for (CopyUnit& unit : units.subspan(first, last - first)) {
        unit.crc = copy_with_crc32c({unit.from, unit.bytes}, unit.to);
      }
    }
  }
};

CopyPool::CopyPool(unsigned threads) : state_(std::make_unique<State>(std::max(1U, threads))) {}
CopyPool::CopyPool(CopyPool&&) noexcept = default;
CopyPool& CopyPool::operator=(CopyPool&&) noexcept = default;
CopyPool::~CopyPool() = default;

void CopyPool::copy(std::span<CopyUnit> units) {
  State& state = *state_;
  state.units = units;
  state.next = 0;
  std::uint64_t bytes = 0;
  for (const CopyUnit& unit : units) bytes += unit.bytes;
  const auto helpers = std::min<std::uint64_t>(state.threads - 1, bytes / kTakenBytes);
  state.loop.restart();
  // The last thread's post ends run(); without helper threads there is nothing to wait for.
  for (std::uint32_t lane = 0; lane < helpers; ++lane) {
    base::Status submitted = state.pool.submit(lane, [&state] { state.work(); }, [] {});
    RR_ASSERT(submitted);  // the queue has room for every thread
  }
  state.work();
  state.loop.run();
}

}  // namespace robustrun::checkpoint
