// Hanging and slow mounts: a disk that waits until the test releases it, and a stopped FUSE server.

#include <cerrno>
#include <chrono>
#include <memory>
#include <span>

#include "checkpoint/store/retention.h"
#include "tests/checkpoint/fuse_view.h"
#include "tests/checkpoint/store/blocking_disk.h"
#include "tests/checkpoint/support.h"

namespace stuck_mount_test {

using namespace robustrun;
using namespace robustrun::checkpoint;
using robustrun::test::BlockingDisk;
using robustrun::test::FuseView;
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
  // On a busy machine any call may take longer than this store's patience.
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

TEST_CASE("a hanging mount's part goes to the other mount, and the mount is used again later") {
  BlockingDisk disk;
  const TwoMounts mounts("/dev/shm");
  Store store = impatient(mounts, disk);
  REQUIRE(save_step(store, 1));
  disk.data_alone = true;
  disk.hang(mounts.directories[1]);
  const auto attempt = store.begin(2, 1, {1, {}}, {"n0"});
  REQUIRE(attempt);
  {
    const SampleState state(2, 10'000);  // destroyed before the call returns
    const auto notes = store.write_part(*attempt, "n0", state.contents);
    REQUIRE(notes);
    REQUIRE(!notes->empty());
    CHECK(notes->front().find("cannot use " + mounts.directories[1]) == 0);
    CHECK(notes->front().find("has not answered") != std::string::npos);
  }
  const auto committed = store.commit(*attempt, 1);
  REQUIRE(committed);
  CHECK(committed->notes.size() == 1);  // the missing copy of the manifest
  for (const DataFile& file : committed->manifest.files) CHECK(file.mount == 0);
  CHECK(disk.hanging() > 0);
  const auto found = newest_committed(mounts.directories);
  REQUIRE(found);
  auto reader = CheckpointReader::open(found->manifest, found->folders);
  CHECK(reader.verify().empty());
  await_free(store, mounts, disk, 3);
}

TEST_CASE("a save does without a mount that hangs at once, but fails if that is the home") {
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

TEST_CASE("mounts that hang at open take one patience together, the first patience") {
  const TwoMounts mounts("/dev/shm");
  std::vector<std::string> places = {mounts.directories[0]};
  std::vector<std::unique_ptr<FuseView>> views;
  REQUIRE(std::filesystem::create_directory(mounts.directories[1] + "/below"));
  for (const char* name : {"/c", "/d", "/e"}) {
    const std::string view = mounts.directories[0] + name;
    places.push_back(view + "/below");
    REQUIRE(std::filesystem::create_directory(view));
    views.push_back(std::make_unique<FuseView>(mounts.directories[1], view));
    if (!views.back()->there()) {
      MESSAGE("no FUSE here: bindfs is missing or mounting is not allowed");
      return;
    }
    views.back()->stop();
  }
  StoreOptions options;
  options.first_patience = std::chrono::milliseconds(500);
  for (const std::string& path : places) options.mounts.push_back({path, 1});
  const auto began = std::chrono::steady_clock::now();
  auto store = Store::open(std::move(options));
  REQUIRE(store);
  const auto saved = save_step(*store, 1);  // hanging mounts are not waited for again
  CHECK(std::chrono::steady_clock::now() - began < kPatience / 2);
  REQUIRE(saved);
  CHECK(wrong_in(*newest_committed(std::span(places).first(1))) == "");
  for (const auto& view : views) view->go_on();
}

TEST_CASE("the home is found while another directory hangs") {
  const TwoMounts mounts("/dev/shm");
  const std::vector<std::string> places = {mounts.directories[0] + "/view", mounts.directories[0]};
  REQUIRE(std::filesystem::create_directory(places[0]));
  const FuseView view(mounts.directories[1], places[0]);
  if (!view.there()) {
    MESSAGE("no FUSE here: bindfs is missing or mounting is not allowed");
    return;
  }
  Store store = mounts.store();
  REQUIRE(save_step(store, 1));
  view.stop();
  const auto ordered = home_first(places, std::chrono::milliseconds(500));
  view.go_on();
  CHECK(ordered == std::vector{places[1], places[0]});
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
