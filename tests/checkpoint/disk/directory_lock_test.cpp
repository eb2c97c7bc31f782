// The lock of a home: waiting is bounded, a time-out names the holder, and release is final.

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "checkpoint/disk/directory_lock.h"
#include "checkpoint/store/retention.h"
#include "tests/checkpoint/support.h"

namespace directory_lock_test {

using namespace robustrun;
using namespace robustrun::checkpoint;
using robustrun::test::SampleState;
using robustrun::test::ScratchFolder;
using robustrun::test::TwoMounts;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kShort{20};
constexpr milliseconds kLong{60'000};

std::string this_host() {
  std::array<char, 256> name{};
  REQUIRE(::gethostname(name.data(), name.size() - 1) == 0);
  return name.data();
}

// Takes the lock like a program that writes no name.
base::Fd hold(const std::string& home) {
  base::Fd file(::open((home + "/.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(file);
  REQUIRE(::flock(file.get(), LOCK_EX) == 0);
  return file;
}

Store patient_store(const TwoMounts& mounts, milliseconds lock_patience) {
  StoreOptions options;
  options.workers_per_mount = 1;
  options.lock_patience = lock_patience;
  for (const std::string& path : mounts.directories) options.mounts.push_back({path, 1});
  auto store = Store::open(std::move(options));
  REQUIRE(store);
  return std::move(*store);
}

}  // namespace

TEST_CASE("waiting for a lock that stays held times out and names its holder") {
  const ScratchFolder scratch("/dev/shm");
  MountThreads threads({scratch.path()}, 1, kLong);
  const auto held = DirectoryLock::take(scratch.path(), threads, kShort);
  REQUIRE(held);
  MountThreads others({scratch.path()}, 1, kLong);
  const auto refused = DirectoryLock::take(scratch.path(), others, kShort);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == base::Errc::kTimeout);
  CHECK(refused.error().what ==
        "cannot lock " + scratch.path() + "/.lock: still held after 0.02 s, last by process " +
            std::to_string(::getpid()) + " on " + this_host() +
            "; try again when that process is done, or end it if it hangs: that releases the lock");
}

TEST_CASE("a holder without a name, or with a damaged one, is reported as unknown") {
  const ScratchFolder scratch("/dev/shm");
  const base::Fd held = hold(scratch.path());
  MountThreads threads({scratch.path()}, 1, kLong);
  for (const std::string text : {"", "held 1 somewhere 00000000\n", "\x01\x02"}) {
    (void)scratch.write(".lock", text);
    const auto refused = DirectoryLock::take(scratch.path(), threads, milliseconds(0));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().what.find("last by an unknown process") != std::string::npos);
  }
}

TEST_CASE("a lock that is released meanwhile is taken by one waiter after the other") {
  const ScratchFolder scratch("/dev/shm");
  base::Fd held = hold(scratch.path());
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  {
    std::vector<std::jthread> waiting;
    for (int i = 0; i < 4; ++i) {
      waiting.emplace_back([&] {
        MountThreads threads({scratch.path()}, 1, kLong);
        for (int turn = 0; turn < 5; ++turn) {
          const auto lock = DirectoryLock::take(scratch.path(), threads, kLong);
          REQUIRE(lock);
          most = std::max(most.load(), ++inside);
          --inside;
        }
      });
    }
    held.reset();
  }
  CHECK(most == 1);
}

TEST_CASE("a lock is released even if a child has inherited its file") {
  const ScratchFolder scratch("/dev/shm");
  MountThreads threads({scratch.path()}, 1, kLong);
  std::vector<base::Fd> inherited;
  {
    const auto held = DirectoryLock::take(scratch.path(), threads, kShort);
    REQUIRE(held);
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code error;
      if (std::filesystem::read_symlink(entry, error) != scratch / ".lock") continue;
      inherited.emplace_back(::dup(std::stoi(entry.path().filename())));
    }
  }
  REQUIRE(inherited.size() == 1);
  CHECK(DirectoryLock::take(scratch.path(), threads, milliseconds(0)));
}

TEST_CASE("saving and pruning wait for the lock for a bounded time and lose nothing") {
  const TwoMounts mounts("/dev/shm");
  Store store = patient_store(mounts, kShort);
  REQUIRE(test::save_step(store, 1));
  const SampleState state(2);
  const auto attempt = store.begin(2, 1, {1, {{"dp", 1}}}, {"n0"});
  REQUIRE(attempt);
  REQUIRE(store.write_part(*attempt, "n0", state.contents));
  base::Fd held = hold(mounts.directories[0]);
  CHECK(store.commit(*attempt, 1).error().code == base::Errc::kTimeout);
  CHECK(store.commit_if_complete(*attempt, 1).error().code == base::Errc::kTimeout);
  CHECK(store.admit(2).error().code == base::Errc::kTimeout);
  CHECK(store.claim({"run", 0}).error().code == base::Errc::kTimeout);
  CHECK(store.salvage(1).error().code == base::Errc::kTimeout);
  CHECK(prune(posix_disk(), mounts.directories, 1, 0, kLong, kShort).error().code ==
        base::Errc::kTimeout);
  CHECK(newest_committed(mounts.directories)->attempt.step == 1);
  held.reset();
  REQUIRE(store.commit(*attempt, 1));
  const auto found = newest_committed(mounts.directories);
  REQUIRE(found);
  CHECK(found->attempt.step == 2);
  CHECK(test::wrong_in(*found) == "");
}

}  // namespace directory_lock_test
