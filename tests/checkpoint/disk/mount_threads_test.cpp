#include "checkpoint/disk/mount_threads.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <semaphore>

namespace mount_threads_test {

using namespace robustrun;
using namespace robustrun::checkpoint;
using std::chrono::milliseconds;

namespace {

// A gate that the test opens; shared with the job, which owns what it uses.
struct Gate {
  std::binary_semaphore open{0};
  std::atomic<int> passed = 0;
};

MountThreads::Job waiting_job(std::size_t mount, std::uint32_t lane, std::shared_ptr<Gate> gate) {
  return {mount, lane, [gate = std::move(gate)](LifeSign& sign) {
            sign.enter();
            gate->open.acquire();
            ++gate->passed;
            if (sign.leave()) gate->passed = 100;
          }};
}

}  // namespace

TEST_CASE("a call that hangs is given up with its mount named; other jobs end normally") {
  auto gate = std::make_shared<Gate>();
  MountThreads threads({"/mnt/dead", "/mnt/well"}, 1, milliseconds(40));
  int touched = 0;
  std::vector<MountThreads::Job> jobs;
  jobs.push_back(waiting_job(0, 0, gate));
  jobs.push_back({1, 0, [&](LifeSign& sign) {
                    for (int i = 0; i < 5; ++i) {
                      sign.enter();
                      if (!sign.leave()) return;
                      ++touched;
                    }
                  }});
  const auto ended = threads.run(std::move(jobs));
  REQUIRE_FALSE(ended[0]);
  CHECK(ended[0].error().os_errno == ETIMEDOUT);
  CHECK(ended[0].error().what.find("/mnt/dead: it has not answered") != std::string::npos);
  CHECK(ended[1]);
  CHECK(touched == 5);

  // Until the call returns, the mount is not touched again.
  CHECK(threads.stuck(0));
  CHECK_FALSE(threads.stuck(1));
  bool started = false;
  const auto refused = threads.call(0, [&]() -> base::Status {
    started = true;
    return {};
  });
  CHECK(refused.error().os_errno == ETIMEDOUT);
  CHECK_FALSE(started);
  gate->open.release();
  while (threads.stuck(0)) {
  }
  CHECK(gate->passed == 1);  // leave() told the job that it was given up
  CHECK(threads.call(0, []() -> base::Status { return {}; }));
}

TEST_CASE("a job between two calls is waited for, however long it computes") {
  MountThreads threads({"/mnt"}, 1, milliseconds(10));
  const auto until = std::chrono::steady_clock::now() + milliseconds(60);
  std::uint64_t spins = 0;
  std::vector<MountThreads::Job> jobs;
  jobs.push_back({0, 0, [&](LifeSign& sign) {
                    sign.enter();
                    if (!sign.leave()) return;
                    while (std::chrono::steady_clock::now() < until) ++spins;
                  }});
  CHECK(threads.run(std::move(jobs)).front());
  CHECK(spins > 0);
}

TEST_CASE("threads with a call that hangs are destroyed without a crash, and the call ends later") {
  auto gate = std::make_shared<Gate>();
  {
    MountThreads threads({"/mnt"}, 2, milliseconds(20));
    std::vector<MountThreads::Job> jobs;
    jobs.push_back(waiting_job(0, 0, gate));
    CHECK_FALSE(threads.run(std::move(jobs)).front());
  }
  gate->open.release();
  while (gate->passed == 0) {
  }
  CHECK(gate->passed == 1);
}

TEST_CASE("a path lies on the mount with the longest matching prefix") {
  MountThreads threads({"/a", "/a/b", "/"}, 1, milliseconds(1000));
  CHECK(threads.mount_of("/a/c/x") == 0);
  CHECK(threads.mount_of("/a/b/x") == 1);
  CHECK(threads.mount_of("/a/bc") == 0);
  CHECK(threads.mount_of("/z") == 2);
}

}  // namespace mount_threads_test
