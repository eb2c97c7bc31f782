#include "base/io/blocking_pool.h"

#include <pthread.h>

#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/io/limits.h"

namespace robustrun::base {
namespace {

struct Job {
  std::move_only_function<void()> work;
  std::move_only_function<void()> done;
  // Counts as work of the loop: its run() does not return before `done` is posted.
  boost::asio::any_io_executor executor;
};

// Keeps a job that finished after the pool was destroyed. Its loop may be gone, so nothing of it
// may run or be destroyed; it stays until the process ends.
void keep_for_ever(Job job) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<Job>;
  const std::scoped_lock lock(mutex);
  kept->push_back(std::move(job));
}

}  // namespace

// A lane is in `lanes` while it has waiting jobs or a running one, and in `ready` exactly when it
// has waiting jobs and no running one.
struct BlockingPool::State {
  boost::asio::any_io_executor executor;
  std::size_t queue_max = 0;

  std::mutex mutex;
  std::condition_variable wake;
  std::map<Lane, std::deque<Job>> lanes;
  std::deque<Lane> ready;
  std::size_t waiting = 0;
  unsigned running = 0;
  bool stopping = false;
  bool abandoned = false;
  std::condition_variable ended;  // a job has, while stopping

  std::vector<std::jthread> threads;

  void run_jobs();
};

void BlockingPool::State::run_jobs() {
  std::unique_lock lock(mutex);
  while (true) {
    wake.wait(lock, [this] { return stopping || !ready.empty(); });
    if (stopping) return;
    const Lane lane = ready.front();
    ready.pop_front();
    std::deque<Job>& queue = lanes.at(lane);  // map nodes stay where they are
    {
      Job job = std::move(queue.front());
      queue.pop_front();
      --waiting;
      ++running;
      lock.unlock();
      job.work();
      job.work = nullptr;  // what it owns is released before `done` runs
      lock.lock();
      --running;
      if (abandoned) {
        keep_for_ever(std::move(job));
        return;
      }
      // Under the lock, so that nothing is posted once the destructor has set `stopping`.
      if (!stopping && job.done) boost::asio::post(job.executor, std::move(job.done));
    }
    if (stopping) {
      ended.notify_all();
      return;
    }
    if (queue.empty()) {
      lanes.erase(lane);
    } else {
      ready.push_back(lane);
      wake.notify_one();
    }
  }
}

BlockingPool::BlockingPool(boost::asio::any_io_executor executor, unsigned threads,
                           std::size_t queue_max)
    : state_(std::make_shared<State>()) {
  RR_ASSERT(threads > 0 && queue_max > 0);
  state_->executor = std::move(executor);
  state_->queue_max = queue_max;
  // Signals belong to the loop's thread; a worker inherits the mask it is made under.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  RR_ASSERT(::pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
  std::exception_ptr failure;
  for (unsigned i = 0; i < threads && !failure; ++i) {
    try {
      state_->threads.emplace_back([state = state_] { state->run_jobs(); });
    } catch (const std::system_error&) {
      failure = std::current_exception();
    }
  }
  RR_ASSERT(::pthread_sigmask(SIG_SETMASK, &before, nullptr) == 0);
  // One thread does the work of many, later.
  if (failure && state_->threads.empty()) std::rethrow_exception(failure);
}

BlockingPool::~BlockingPool() {
  std::map<Lane, std::deque<Job>> dropped;
  {
    const std::scoped_lock lock(state_->mutex);
    state_->stopping = true;
    dropped.swap(state_->lanes);
  }
  dropped.clear();
  state_->wake.notify_all();
  {
    std::unique_lock lock(state_->mutex);
    state_->abandoned =
        !state_->ended.wait_for(lock, kPoolAbandonAfter, [this] { return state_->running == 0; });
    if (state_->abandoned) {
      for (std::jthread& thread : state_->threads) thread.detach();
    }
  }
  state_->threads.clear();  // joins, unless they are abandoned
}

Status BlockingPool::submit(Lane lane, std::move_only_function<void()> work,
                            std::move_only_function<void()> done) {
  RR_ASSERT(work);
  const std::scoped_lock lock(state_->mutex);
  if (state_->waiting == state_->queue_max) {
    return fail(Errc::kLimit, "cannot queue more work for the blocking pool: " +
                                  std::to_string(state_->queue_max) + " jobs are waiting");
  }
  auto tracked =
      boost::asio::prefer(state_->executor, boost::asio::execution::outstanding_work.tracked);
  const auto [entry, idle] = state_->lanes.try_emplace(lane);
  entry->second.push_back({std::move(work), std::move(done), std::move(tracked)});
  ++state_->waiting;
  if (idle) {
    state_->ready.push_back(lane);
    state_->wake.notify_one();
  }
  return {};
}

void run_in_parallel(std::size_t count, const std::function<void(std::size_t)>& work) {
  boost::asio::io_context loop;
  std::optional<BlockingPool> pool;
  std::size_t next = 0;
  try {
    if (count > 1) pool.emplace(loop.get_executor(), count - 1, count);
  } catch (const std::system_error&) {
    // This thread does all of it.
  }
  for (; pool && next + 1 < count; ++next) {
    const auto lane = static_cast<BlockingPool::Lane>(next);
    if (!pool->submit(lane, [&work, next] { work(next); }, [] {})) break;
  }
  for (; next < count; ++next) work(next);
  loop.run();  // until the last one is done
}

}  // namespace robustrun::base
