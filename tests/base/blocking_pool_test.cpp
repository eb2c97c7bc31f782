#include "base/io/blocking_pool.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <latch>
#include <thread>
#include <vector>

#include "base/io/fd.h"
#include "tests/base/support.h"

namespace blocking_pool_test {

using namespace robustrun::base;
using robustrun::test::run_until;

TEST_CASE("jobs of one lane run one at a time in the order of submission") {
  boost::asio::io_context loop;
  BlockingPool pool(loop.get_executor(), 4, 10000);
  constexpr std::uint32_t kLanes = 3;
  constexpr int kJobs = 300;
  struct Lane {
    std::atomic<int> running = 0;
    std::atomic<bool> overlapped = false;
    std::vector<int> worked;  // by the pool, unguarded: one at a time
    std::vector<int> done;    // by the loop
  };
  std::vector<Lane> lanes(kLanes);
  int finished = 0;
  for (int i = 0; i < kJobs; ++i) {
    for (std::uint32_t id = 0; id < kLanes; ++id) {
      Lane& lane = lanes[id];
      REQUIRE(pool.submit(
          id,
          [&lane, i] {
            if (lane.running.fetch_add(1) != 0) lane.overlapped = true;
            lane.worked.push_back(i);
            lane.running.fetch_sub(1);
          },
          [&lane, &finished, i] {
            lane.done.push_back(i);
            ++finished;
          }));
    }
  }
  loop.run();  // does not return while a job is left
  CHECK(finished == kJobs * static_cast<int>(kLanes));
  for (const Lane& lane : lanes) {
    CHECK_FALSE(lane.overlapped);
    CHECK(lane.done == lane.worked);
    CHECK(std::ranges::is_sorted(lane.done));
    CHECK(lane.done.size() == kJobs);
  }
}

TEST_CASE("a stuck lane does not block another one") {
  boost::asio::io_context loop;
  BlockingPool pool(loop.get_executor(), 2, 100);
  std::latch release(1);
  bool stuck_done = false;
  bool other_done = false;
  for (int i = 0; i < 3; ++i) {  // later jobs wait without taking a thread
    REQUIRE(pool.submit(1, [&] { release.wait(); }, [&] { stuck_done = true; }));
  }
  REQUIRE(pool.submit(2, [] {}, [&] { other_done = true; }));
  REQUIRE(run_until(loop, [&] { return other_done; }));
  CHECK_FALSE(stuck_done);
  release.count_down();
  REQUIRE(run_until(loop, [&] { return stuck_done; }));
  loop.run();
}

TEST_CASE("more waiting jobs than the limit are refused, not queued") {
  boost::asio::io_context loop;
  BlockingPool pool(loop.get_executor(), 1, 2);
  std::latch started(1);
  std::latch release(1);
  REQUIRE(pool.submit(
      0,
      [&] {
        started.count_down();
        release.wait();
      },
      nullptr));
  started.wait();
  CHECK(pool.submit(0, [] {}, nullptr));
  CHECK(pool.submit(1, [] {}, nullptr));
  const Status refused = pool.submit(2, [] {}, nullptr);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::kLimit);
  release.count_down();
  loop.run();
  CHECK(pool.submit(2, [] {}, nullptr));
}

TEST_CASE("the destructor drops what waits, waits for what runs and posts nothing more") {
  boost::asio::io_context loop;
  bool ended = false;
  bool posted = false;
  std::weak_ptr<int> dropped;
  {
    std::latch started(1);
    std::latch submitted(1);  // the job may still use it while the pool is destroyed
    BlockingPool pool(loop.get_executor(), 1, 10);
    REQUIRE(pool.submit(
        0,
        [&] {
          started.count_down();
          submitted.wait();
          while (!dropped.expired()) std::this_thread::yield();  // by the destructor
          ended = true;
        },
        [&] { posted = true; }));
    auto owned = std::make_shared<int>(0);
    dropped = owned;
    REQUIRE(pool.submit(
        0, [owned = std::move(owned)] { FAIL("a waiting job ran"); }, [&] { posted = true; }));
    started.wait();
    submitted.count_down();
  }
  CHECK(ended);
  loop.run();
  CHECK_FALSE(posted);
}

TEST_CASE("threads of the pool take no signals") {
  boost::asio::io_context loop;
  BlockingPool pool(loop.get_executor(), 1, 1);
  sigset_t mask;
  ::sigemptyset(&mask);
  REQUIRE(pool.submit(0, [&] { ::pthread_sigmask(SIG_BLOCK, nullptr, &mask); }, nullptr));
  loop.run();
  CHECK(::sigismember(&mask, SIGTERM) == 1);
  CHECK(::sigismember(&mask, SIGINT) == 1);
}

TEST_CASE(
    "a job that does not return is abandoned, and never touches the loop if it returns later") {
  auto pipe = make_pipe();
  REQUIRE(pipe);
  {
    boost::asio::io_context loop;
    std::latch running(1);
    BlockingPool pool(loop.get_executor(), 1, 10);
    REQUIRE(pool.submit(
        0,
        [stuck = std::move(pipe->first), &running] {
          running.count_down();
          char byte = 0;
          static_cast<void>(::read(stuck.get(), &byte, 1) == 1);
        },
        [] {}));
    running.wait();
  }
  pipe->second.reset();  // the job ends; ASan would now detect a use of the loop
}

TEST_CASE("parts of a task run at the same time, one of them on the calling thread") {
  constexpr std::size_t kParts = 4;
  std::latch all_run(kParts);
  std::vector<std::thread::id> threads(kParts);
  run_in_parallel(kParts, [&](std::size_t part) {
    threads[part] = std::this_thread::get_id();
    all_run.arrive_and_wait();  // hangs if one waits for another
  });
  std::ranges::sort(threads);
  CHECK(std::ranges::adjacent_find(threads) == threads.end());
  CHECK(std::ranges::count(threads, std::this_thread::get_id()) == 1);
  run_in_parallel(0, [](std::size_t) { FAIL("there is nothing to do"); });
}

}  // namespace blocking_pool_test
