#include <filesystem>

#include "checkpoint/retention.h"
#include "tests/checkpoint/faulty_disk.h"
#include "tests/checkpoint/support.h"

namespace kill_points_test {

using namespace robustrun;
using namespace robustrun::checkpoint;
using robustrun::test::FaultyDisk;
using robustrun::test::save_step;
using robustrun::test::TwoMounts;
using robustrun::test::wrong_in;

namespace {

constexpr std::uint64_t kSeed = 20'261;
constexpr int kKillPoints = 2000;
constexpr int kPerFolder = 50;

std::uint64_t changes_of_one_save() {
  const TwoMounts mounts("/dev/shm");  // syncing costs nothing there
  FaultyDisk disk;
  Store store = mounts.store(&disk);
  disk.go_on();
  REQUIRE(save_step(store, 1));
  return disk.changes();
}

}  // namespace

TEST_CASE("killed anywhere in a save, the newest committed step is whole and never goes back") {
  const std::uint64_t changes = changes_of_one_save();
  base::Rng rng(kSeed);
  int committed_though_killed = 0;
  int salvaged = 0;
  for (int done = 0; done < kKillPoints;) {
    const TwoMounts mounts("/dev/shm");  // syncing costs nothing there
    FaultyDisk disk;
    Store store = mounts.store(&disk);
    std::uint64_t step = 1;
    REQUIRE(save_step(store, step));
    std::uint64_t newest = step;
    for (int i = 0; i < kPerFolder; ++i, ++done) {
      const std::uint64_t at = rng.below(changes);
      const bool torn = rng.below(2) == 0;
      CAPTURE(done);
      CAPTURE(at);
      CAPTURE(torn);
      disk.stop_at(at, torn);
      const auto saved = save_step(store, ++step);
      disk.go_on();
      auto found = newest_committed(mounts.directories);
      REQUIRE(found);
      const bool moved_on = found->attempt.step == step;
      REQUIRE((moved_on || found->attempt.step == newest));
      if (saved) REQUIRE(moved_on);
      committed_though_killed += moved_on && !saved ? 1 : 0;
      REQUIRE(wrong_in(*found) == "");
      // Whoever comes next finishes what only lacked its last step.
      if (!moved_on && rng.below(2) == 0) {
        const auto finished = store.salvage(1);
        REQUIRE(finished);
        if (!finished->empty()) {
          found = newest_committed(mounts.directories);
          REQUIRE(found);
          REQUIRE(wrong_in(*found) == "");
          salvaged += 1;
        }
      }
      newest = found->attempt.step;
    }
  }
  CHECK(committed_though_killed > 0);
  CHECK(salvaged > 0);
}

TEST_CASE("killed anywhere while old checkpoints are removed, the newest is there and whole") {
  base::Rng rng(kSeed);
  for (std::uint64_t at = 0;; ++at) {
    const TwoMounts mounts("/dev/shm");  // syncing costs nothing there
    FaultyDisk disk;
    Store store = mounts.store(&disk);
    for (std::uint64_t step = 1; step <= 3; ++step) REQUIRE(save_step(store, step));
    CAPTURE(at);
    disk.stop_at(at, rng.below(2) == 0);
    const auto pruned = prune(disk, mounts.directories, 1, 0);
    const bool finished = disk.changes() <= at;
    disk.go_on();
    const auto all = list_attempts(mounts.directories);
    REQUIRE(all);
    REQUIRE(all->front().attempt.step == 3);
    for (const FoundAttempt& found : *all) {
      if (found.state == AttemptState::kCommitted) REQUIRE(wrong_in(found) == "");
    }
    // The next time it is brought to its end.
    REQUIRE(prune(disk, mounts.directories, 1, 2));
    REQUIRE(list_attempts(mounts.directories)->size() == 1);
    if (finished) {
      REQUIRE(pruned);
      CHECK(pruned->removed.size() == 2);
      break;
    }
  }
}

}  // namespace kill_points_test
