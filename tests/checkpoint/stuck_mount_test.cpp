// Mounts that hang or are slow, played by a disk that waits until the test lets go.

#include <cerrno>
#include <chrono>

#include "tests/checkpoint/blocking_disk.h"
#include "tests/checkpoint/support.h"

namespace stuck_mount_test {

using namespace robustrun;
using namespace robustrun::checkpoint;
using robustrun::test::BlockingDisk;
using robustrun::test::SampleState;
using robustrun::test::save_step;
using robustrun::test::TwoMounts;
using robustrun::test::wrong_in;

namespace {

Store impatient(const TwoMounts& mounts, Disk& disk) {
  StoreOptions options;
  options.disk = &disk;
  options.patience = std::chrono::milliseconds(1000);
  for (const std::string& path : mounts.directories) options.mounts.push_back({path, 1});
  auto store = Store::open(std::move(options));
  REQUIRE(store);
  return std::move(*store);
}

void await_free(Store& store, const TwoMounts& mounts, BlockingDisk& disk, std::uint64_t step) {
  disk.let_go();
  while (disk.hanging() > 0) {
  }
  // A busy machine may let any call wait for longer than this store's patience.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  auto saved = save_step(store, step);
  while ((!saved || !saved->notes.empty()) && std::chrono::steady_clock::now() < until) {
    saved = save_step(store, ++step);
  }
  REQUIRE(saved);
  CHECK(saved->notes.empty());
  const auto found = newest_committed(mounts.directories);
  REQUIRE(found);
  CHECK(found->attempt.step == step);
  CHECK(wrong_in(*found) == "");
}

}  // namespace

TEST_CASE("a mount that hangs in a write loses its part to the other, and is used again later") {
  BlockingDisk disk;
  const TwoMounts mounts("/dev/shm");
  Store store = impatient(mounts, disk);
  REQUIRE(save_step(store, 1));
  disk.data_alone = true;
  disk.hang(mounts.directories[1]);
  const auto attempt = store.begin(2, 1, {1, {}}, {"n0"});
  REQUIRE(attempt);
  {
    const SampleState state(2, 10'000);  // gone before the call comes back
    const auto notes = store.write_part(*attempt, "n0", state.contents);
    REQUIRE(notes);
    REQUIRE(!notes->empty());
    CHECK(notes->front().find("cannot use " + mounts.directories[1]) == 0);
    CHECK(notes->front().find("has not answered") != std::string::npos);
  }
  const auto committed = store.commit(*attempt, 1);
  REQUIRE(committed);
  CHECK(committed->notes.size() == 1);  // no copy of the manifest there
  for (const DataFile& file : committed->manifest.files) CHECK(file.mount == 0);
  CHECK(disk.hanging() > 0);
  const auto found = newest_committed(mounts.directories);
  REQUIRE(found);
  auto reader = CheckpointReader::open(found->manifest, found->folders);
  CHECK(reader.verify().empty());
  await_free(store, mounts, disk, 3);
}

TEST_CASE("a mount that hangs at once is done without; the home is not, and says so") {
  BlockingDisk disk;
  const TwoMounts mounts("/dev/shm");
  Store store = impatient(mounts, disk);
  disk.hang(mounts.directories[1]);
  const auto saved = save_step(store, 1);
  REQUIRE(saved);
  CHECK(wrong_in(*newest_committed(mounts.directories)) == "");
  await_free(store, mounts, disk, 2);

  disk.hang(mounts.directories[0]);
  const auto refused = save_step(store, 3);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().os_errno == ETIMEDOUT);
  CHECK(refused.error().what.find(mounts.directories[0]) != std::string::npos);
  await_free(store, mounts, disk, 4);
}

TEST_CASE("a store over a mount that hangs is closed without a crash") {
  BlockingDisk disk;
  const TwoMounts mounts("/dev/shm");
  {
    Store store = impatient(mounts, disk);
    disk.data_alone = true;
    disk.hang(mounts.directories[1]);
    REQUIRE(save_step(store, 1));
  }
  disk.let_go();
  while (disk.hanging() > 0) {
  }
  CHECK(wrong_in(*newest_committed(mounts.directories)) == "");
}

}  // namespace stuck_mount_test
