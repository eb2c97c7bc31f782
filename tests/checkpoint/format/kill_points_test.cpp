// The protocol, killed at any change of the disk, for each way of making a checkpoint.

#include <array>
#include <filesystem>

#include "checkpoint/format/paths.h"
#include "checkpoint/memory/staging.h"
#include "checkpoint/store/retention.h"
#include "tests/checkpoint/faulty_disk.h"
#include "tests/checkpoint/rounds.h"
#include "tests/checkpoint/support.h"
#include "tests/support/sanitized.h"

namespace kill_points_test {

using namespace robustrun;
using namespace robustrun::checkpoint;
using robustrun::test::FaultyDisk;
using robustrun::test::SampleState;
using robustrun::test::save_step;
using robustrun::test::TwoMounts;
using robustrun::test::wrong_in;

namespace {

constexpr std::uint64_t kKillPointsInCi = test::kSanitized ? 60 : 400;
constexpr std::uint64_t kEveryChange = test::kSanitized ? 3 : 1;  // changes of the first saver
constexpr int kPerFolder = 50;
const Session kSession{"run", 0};

// Two mounts and everything that saves there. Each writer has its own disk, so that one of them can
// also die alone.
struct World {
  TwoMounts mounts{"/dev/shm"};  // syncing costs nothing there
  std::uint32_t parity;
  std::array<FaultyDisk, 2> disks;
  std::array<Store, 2> stores;
  Staging staging{1};
  std::uint64_t saves = 0;

  explicit World(std::uint32_t rows)
      : parity(rows), stores{mounts.store(disks.data(), rows), mounts.store(&disks[1], rows)} {
    REQUIRE(staging.use(*MemoryArea::own(1U << 20U)));
    go_on();
  }
  void go_on() {
    for (FaultyDisk& disk : disks) disk.go_on();
  }
  [[nodiscard]] std::uint64_t changes() const { return disks[0].changes() + disks[1].changes(); }
};

AttemptId next_attempt(World& world, std::uint64_t step) {
  return {step, 1, attempt_token(kSession, step, world.saves++)};
}

bool save_told(World& world, std::uint64_t step) {
  return save_step(world.stores[0], step).has_value();
}

// Saves as one of `writers`, which do not talk to each other.
bool save_as(Store& store, const AttemptId& attempt, const std::string& writer,
             const std::vector<std::string>& writers) {
  const SampleState state(attempt.step);
  if (!store.join(attempt, {1, {{"dp", 1}}}, writers)) return false;
  if (!store.write_part(attempt, writer, state.contents)) return false;
  const auto done = store.commit_if_complete(attempt, 1);
  return done && done->committed;
}

bool save_joined(World& world, std::uint64_t step) {
  return save_as(world.stores[0], next_attempt(world, step), "n0", {"n0"});
}

bool save_by_two(World& world, std::uint64_t step) {
  const AttemptId attempt = next_attempt(world, step);
  const std::vector<std::string> writers = {"n0", "n1"};
  const bool first = save_as(world.stores[0], attempt, "n0", writers);
  return save_as(world.stores[1], attempt, "n1", writers) || first;
}

StageOrder order_of(World& world, std::uint64_t step) {
  StageOrder order = test::sample_order(step, world.mounts.directories);
  order.attempt = next_attempt(world, step);
  return order;
}

bool drain(World& world, std::uint64_t step) {
  const SampleState state(step);
  const auto slot = world.staging.stage(order_of(world, step), state.contents);
  REQUIRE(slot);
  const auto done = drain_copy(world.staging.area().slot(*slot), world.stores[0]);
  return done && done->committed;
}

// What an agent does with the copies of a worker that died, and another agent if that one died too.
bool drain_and_rescue(World& world, std::uint64_t step) {
  if (drain(world, step)) return true;
  const FoundCopy newest = complete_copies(world.staging.area()).front();
  REQUIRE(newest.copy.manifest.head.attempt.step == step);
  const auto done = drain_copy(world.staging.area().slot(newest.slot), world.stores[1], "rescue");
  return done && done->committed;
}

struct Way {
  const char* name;
  bool (*save)(World& world, std::uint64_t step);
};
constexpr Way kWays[] = {{"told", save_told},
                         {"joined", save_joined},
                         {"two writers", save_by_two},
                         {"from memory", drain},
                         {"rescued", drain_and_rescue}};

// The number of changes of one save, for each way, and how many of them the first disk sees if all
// goes well.
std::uint64_t changes_of(const Way& way, std::uint32_t parity) {
  World world(parity);
  REQUIRE(way.save(world, 1));
  return world.changes();
}

// Each disk dies somewhere, or only one of them.
void set_kill_points(World& world, std::uint64_t changes, base::Rng& rng) {
  const std::uint64_t fate = rng.below(3);
  for (std::size_t i = 0; i < world.disks.size(); ++i) {
    if (fate == i) continue;
    world.disks[i].stop_at(rng.below(changes), rng.below(2) == 0);
  }
}

// A new generation's first action, or a killed prune, or nothing.
void do_what_comes_next(World& world, base::Rng& rng, int& salvaged) {
  const std::uint64_t what = rng.below(4);
  if (what == 0) {
    const auto finished = world.stores[0].salvage(1);
    REQUIRE(finished);
    salvaged += finished->empty() ? 0 : 1;
  } else if (what == 1) {
    world.disks[0].stop_at(rng.below(40), rng.below(2) == 0);
    (void)prune(world.disks[0], world.mounts.directories, 1, 1);
    world.go_on();
  }
}

// Its sequence; 0 if there is no checkpoint.
std::uint64_t check_newest(const World& world, std::uint64_t least) {
  const auto found = newest_committed(world.mounts.directories);
  if (!found) {
    REQUIRE(least == 0);
    return 0;
  }
  REQUIRE(wrong_in(*found) == "");
  REQUIRE(found->manifest.head.sequence >= least);
  return found->manifest.head.sequence;
}

}  // namespace

TEST_CASE(
    "killed anywhere in a save, the newest committed step is whole and never goes backwards") {
  const std::uint64_t seed = test::test_seed();
  MESSAGE("seed ", seed);
  CAPTURE(seed);
  base::Rng rng(seed);
  int committed_though_killed = 0;
  int salvaged = 0;
  int finished_by_rescue = 0;
  std::uint64_t killed = 0;
  const std::uint64_t wanted = test::rounds(kKillPointsInCi);
  for (std::size_t turn = 0; killed < wanted; ++turn) {
    const Way& way = kWays[turn % std::size(kWays)];
    const auto parity = static_cast<std::uint32_t>(turn / std::size(kWays) % 2);
    CAPTURE(way.name);
    CAPTURE(parity);
    const std::uint64_t changes = changes_of(way, parity);
    World world(parity);
    std::uint64_t newest = 0;
    for (std::uint64_t step = 1; step <= kPerFolder; ++step) {
      CAPTURE(step);
      set_kill_points(world, changes, rng);
      const bool saved = way.save(world, step);
      killed += world.disks[0].stopped() || world.disks[1].stopped() ? 1 : 0;
      finished_by_rescue += world.disks[0].stopped() && saved && way.save == drain_and_rescue;
      world.go_on();
      const std::uint64_t found = check_newest(world, newest);
      REQUIRE(found <= newest + 1);
      if (saved) REQUIRE(found == newest + 1);
      committed_though_killed += found > newest && !saved ? 1 : 0;
      newest = found;
      do_what_comes_next(world, rng, salvaged);
      newest = check_newest(world, newest);
    }
  }
  MESSAGE(killed, " killed, ", committed_though_killed, " committed though killed, ", salvaged,
          " salvaged, ", finished_by_rescue, " saved by the next");
  // The rarest is one in fifty: a few rounds may have none.
  CHECK((committed_though_killed > 0 || test::kSanitized));
  CHECK((salvaged > 0 || test::kSanitized));
  CHECK((finished_by_rescue > 0 || test::kSanitized));
}

TEST_CASE("a copy whose first two savers were killed at any change is saved by the third") {
  for (const std::uint32_t parity : {0U, 1U}) {
    const std::uint64_t changes = changes_of(kWays[3], parity);
    base::Rng rng(changes);
    for (std::uint64_t at = rng.below(kEveryChange); at < changes; at += kEveryChange) {
      CAPTURE(parity);
      CAPTURE(at);
      World world(parity);
      const SampleState state(1);
      const auto slot = world.staging.stage(order_of(world, 1), state.contents);
      REQUIRE(slot);
      const std::span<char> bytes = world.staging.area().slot(*slot);
      world.disks[0].stop_at(at, at % 2 == 0);
      (void)drain_copy(bytes, world.stores[0]);
      world.disks[1].stop_at(rng.below(changes), rng.below(2) == 0);
      (void)drain_copy(bytes, world.stores[1], "rescue");
      world.go_on();
      const auto done = drain_copy(bytes, world.stores[1], "rescue");
      REQUIRE(done);
      REQUIRE(done->committed);
      REQUIRE(wrong_in(*newest_committed(world.mounts.directories)) == "");
    }
  }
}

TEST_CASE("killed anywhere while old checkpoints are removed, the newest one is whole") {
  base::Rng rng(test::test_seed());
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
    // The next prune completes it.
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
