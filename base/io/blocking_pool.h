#pragma once
// A fixed set of threads for work that may block (file writes, fsync, scans of /proc).
//
// Threads start only here and in robustrun-blocks. Jobs share no mutable state with the loop. Jobs
// of one lane run one after another in the order of submission; lanes run in parallel.

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/core/result.h"

namespace robustrun::base {

class BlockingPool {
 public:
  using Lane = std::uint32_t;
  // `queue_max`: jobs that may wait, over all lanes. The pool works with fewer than `threads` if
  // the system grants no more; throws std::system_error if it grants none.
  BlockingPool(boost::asio::any_io_executor executor, unsigned threads, std::size_t queue_max);
  // Waits for running jobs and drops waiting ones; no `done` is posted afterwards. A job that does
  // not return within kPoolAbandonAfter (a dead mount, a stopped terminal) goes on in its thread,
  // which then uses only what the job itself owns.
  ~BlockingPool();
  BlockingPool(const BlockingPool&) = delete;
  BlockingPool& operator=(const BlockingPool&) = delete;

  // Runs `work` on a thread of the pool, then posts `done` (may be null) to the executor. kLimit:
  // `queue_max` jobs are waiting.
  Status submit(Lane lane, std::move_only_function<void()> work,
                std::move_only_function<void()> done);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Calls work(0) … work(count - 1) at the same time, one of them on this thread, and returns when
// all have returned. If the system grants fewer threads, some calls run one after another.
void run_in_parallel(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace robustrun::base
