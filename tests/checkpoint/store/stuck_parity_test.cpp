// Mounts that hang while parity is written, a copy in memory is saved, old checkpoints are removed,
// or a damaged one is repaired.

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "checkpoint/memory/staging.h"
#include "checkpoint/store/repair.h"
#include "checkpoint/store/retention.h"
#include "tests/checkpoint/fuse_view.h"
#include "tests/checkpoint/store/blocking_disk.h"
#include "tests/checkpoint/support.h"

namespace stuck_parity_test {

using namespace robustrun;
using namespace robustrun::checkpoint;
using robustrun::test::BlockingDisk;
using robustrun::test::SampleState;
using robustrun::test::ScratchFolder;
using robustrun::test::wrong_in;

namespace {

constexpr std::chrono::milliseconds kTestPatience{1500};
constexpr std::uint64_t kRows = 5'000;  // 20 MB: two extents or more on each mount

struct Mounts {
  ScratchFolder scratch{"/dev/shm"};  // syncing costs nothing there
  std::vector<std::string> directories;

  explicit Mounts(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      directories.push_back(scratch / ("m" + std::to_string(i)));
      REQUIRE(std::filesystem::create_directory(directories.back()));
    }
  }
  [[nodiscard]] Store store(Disk& disk, std::uint32_t parity) const {
    StoreOptions options;
    options.disk = &disk;
    options.patience = kTestPatience;
    for (const std::string& path : directories) options.mounts.push_back({path, 1});
    auto opened = Store::open(std::move(options));
    REQUIRE(opened);
    REQUIRE(opened->use_parity(parity));
    return std::move(*opened);
  }
  void lose(std::size_t mount) const {
    std::filesystem::remove_all(directories[mount]);
    std::filesystem::create_directory(directories[mount]);
  }
};

void let_all_go(BlockingDisk& disk) {
  disk.let_go();
  while (disk.hanging() > 0) {
  }
}

// Whether the newest checkpoint is that sample, even if some of it must be rebuilt.
std::string wrong_in_sample(const Mounts& mounts, const SampleState& state) {
  const auto found = newest_committed(mounts.directories);
  if (!found) return found.error().what;
  auto reader = CheckpointReader::open(found->manifest, found->folders);
  for (std::size_t i = 0; i < state.buffers.size(); ++i) {
    std::string bytes(state.buffers[i].size(), '\0');
    if (auto read = reader.read_shard(i, bytes); !read) return read.error().what;
    if (bytes != state.buffers[i]) return "other bytes";
  }
  return {};
}

bool names(const std::vector<std::string>& notes, const std::string& what) {
  return std::ranges::any_of(
      notes, [&](const std::string& note) { return note.find(what) != std::string::npos; });
}

}  // namespace

TEST_CASE("parity goes to the other mounts if one hangs, and the save does not wait") {
  for (const std::uint32_t parity : {1U, 2U}) {
    CAPTURE(parity);
    BlockingDisk disk;
    const Mounts mounts(5);
    const SampleState state(1, kRows);
    std::vector<std::string> notes;
    {
      Store store = mounts.store(disk, parity);
      const auto attempt = store.begin(1, 1, {1, {}}, {"n0"});
      REQUIRE(attempt);
      disk.data_alone = parity == 1;  // else the call that creates the file hangs
      disk.hang(mounts.directories[2], ".rrparity");
      {
        const SampleState gone_before(1, kRows);  // the hanging call returns after its end
        auto written = store.write_part(*attempt, "n0", gone_before.contents);
        REQUIRE(written);
        notes = *written;
      }
      CHECK(names(notes, "cannot use " + mounts.directories[2] + ": it has not answered"));
      REQUIRE(store.commit(*attempt, 1));
    }
    const auto found = newest_committed(mounts.directories);
    REQUIRE(found);
    CHECK_FALSE(found->manifest.groups.empty());
    for (const DataFile& file : found->manifest.files) {
      if (file.name.ends_with(".rrparity")) CHECK(file.mount != 2);
    }
    let_all_go(disk);
    CHECK(CheckpointReader::open(found->manifest, found->folders).verify().empty());
    for (std::uint32_t lost = 0; lost < parity; ++lost) mounts.lose(2 + lost);
    CHECK(wrong_in_sample(mounts, state) == "");
  }
}

TEST_CASE("a copy in memory is saved despite a hanging mount, also with parity") {
  for (const char* suffix : {".safetensors", ".rrparity", ""}) {
    CAPTURE(suffix);
    BlockingDisk disk;
    const Mounts mounts(4);
    const SampleState state(1, kRows);
    Staging staging(1);
    auto order = test::sample_order(1, mounts.directories);
    REQUIRE(staging.use(*MemoryArea::own(*Staging::slot_bytes_for(order, state.contents))));
    const auto slot = staging.stage(order, state.contents);
    REQUIRE(slot);
    {
      Store store = mounts.store(disk, 1);
      disk.hang(mounts.directories[3], suffix);
      const auto drained = drain_copy(staging.area().slot(*slot), store);
      REQUIRE(drained);
      CHECK(drained->committed);
      CHECK(names(drained->notes, "cannot use " + mounts.directories[3]));
    }
    let_all_go(disk);
    CHECK(wrong_in_sample(mounts, state) == "");
  }
}

TEST_CASE("while a mount hangs, removal stops with a note, and nothing is lost") {
  BlockingDisk disk;
  const Mounts mounts(2);
  Store store = mounts.store(disk, 0);
  for (std::uint64_t step = 1; step <= 4; ++step) REQUIRE(test::save_step(store, step));
  for (const std::size_t hangs : {1UZ, 0UZ}) {
    CAPTURE(hangs);
    disk.hang(mounts.directories[hangs], "/MANIFEST.deleted");
    const auto pruned = prune(disk, mounts.directories, 1, 0, kTestPatience);
    REQUIRE(pruned);
    CHECK(pruned->removed.empty());
    CHECK(names(pruned->notes, "cannot use " + mounts.directories[hangs]));
    CHECK(names(pruned->notes, "no more is removed while " + mounts.directories[hangs]));
    CHECK(pruned->notes.size() == 2);
    const auto found = newest_committed(mounts.directories);
    REQUIRE(found);
    CHECK(found->attempt.step == 4);
    CHECK(wrong_in(*found) == "");
    let_all_go(disk);
  }
  REQUIRE(prune(disk, mounts.directories, 1, 2, kTestPatience));
  CHECK(list_attempts(mounts.directories)->size() == 1);
  CHECK(wrong_in(*newest_committed(mounts.directories)) == "");
}

TEST_CASE("a repair does not wait for a hanging mount and reports what may be there as lost") {
  BlockingDisk disk;
  const Mounts mounts(4);
  const SampleState state(1, kRows);
  Store store = mounts.store(disk, 1);
  const auto attempt = store.begin(1, 1, {1, {}}, {"n0"});
  REQUIRE(attempt);
  REQUIRE(store.write_part(*attempt, "n0", state.contents));
  REQUIRE(store.commit(*attempt, 1));
  const auto found = newest_committed(mounts.directories);
  REQUIRE(found);
  mounts.lose(3);
  disk.hang(mounts.directories[3]);
  const auto hung = repair(disk, *found, mounts.directories, kTestPatience);
  REQUIRE_FALSE(hung);
  CHECK(hung.error().os_errno == ETIMEDOUT);
  CHECK(hung.error().what.find("cannot use " + mounts.directories[3] + ": it has not answered") ==
        0);
  let_all_go(disk);
  const auto repaired = repair(disk, *found, mounts.directories, kTestPatience);
  REQUIRE(repaired);
  CHECK(repaired->lost.empty());
  CHECK(repaired->done.size() == 3);  // data, parity, MANIFEST
  CHECK(CheckpointReader::open(found->manifest, found->folders).verify().empty());
}

TEST_CASE("files that may be on a mount that hangs during a check are not written elsewhere") {
  const Mounts mounts(4);
  const SampleState state(1, kRows);
  const std::string behind = mounts.scratch / "behind";
  {
    Store store = mounts.store(posix_disk(), 1);
    const auto attempt = store.begin(1, 1, {1, {}}, {"n0"});
    REQUIRE(attempt);
    REQUIRE(store.write_part(*attempt, "n0", state.contents));
    REQUIRE(store.commit(*attempt, 1));
  }
  const auto found = newest_committed(mounts.directories);
  REQUIRE(found);
  std::filesystem::rename(mounts.directories[3], behind);
  REQUIRE(std::filesystem::create_directory(mounts.directories[3]));
  const test::FuseView fuse(behind, mounts.directories[3]);
  if (!fuse.there()) {
    MESSAGE("no FUSE here: bindfs is missing, or mounting is not allowed");
    return;
  }
  fuse.stop();
  const auto hung = repair(posix_disk(), *found, mounts.directories, kTestPatience);
  REQUIRE(hung);
  CHECK(hung->done.empty());
  CHECK(hung->lost.size() == 3);  // data, parity, MANIFEST
  CHECK(names(hung->lost, "may be in " + mounts.directories[3] + ", which does not answer"));
  CHECK(names(hung->lost, "cannot use " + mounts.directories[3] + ": it has not answered"));
  fuse.go_on();
  CHECK(repair(posix_disk(), *found, mounts.directories)->done.empty());
}

}  // namespace stuck_parity_test
