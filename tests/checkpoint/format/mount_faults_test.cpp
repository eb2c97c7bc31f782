// Full and broken mounts, one or all, during a save, a save with parity, a save from memory and a
// read. Hanging mounts: stuck_mount_test, stuck_parity_test, bulk_read_test.

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>

#include "checkpoint/format/paths.h"
#include "checkpoint/memory/staging.h"
#include "checkpoint/store/retention.h"
#include "tests/checkpoint/faulty_disk.h"
#include "tests/checkpoint/fuse_view.h"
#include "tests/checkpoint/support.h"

namespace mount_faults_test {

using namespace robustrun;
using namespace robustrun::checkpoint;
using robustrun::test::FaultyDisk;
using robustrun::test::FuseView;
using robustrun::test::SampleState;
using robustrun::test::ScratchFolder;
using robustrun::test::SmallDisk;

namespace {

constexpr std::uint64_t kRows = 1'000;  // 4 MB

enum class Way : std::uint8_t { kPlain, kParity, kMemory };
constexpr Way kWays[] = {Way::kPlain, Way::kParity, Way::kMemory};

// Three folders, and a copy in memory that is to be saved there.
struct Saving {
  ScratchFolder scratch{"/dev/shm"};
  std::vector<std::string> directories;
  SampleState state{2, kRows};
  Staging staging{1};
  Way way;

  explicit Saving(Way chosen) : way(chosen) {
    for (const char* name : {"a", "b", "c"}) {
      directories.push_back(scratch / name);
      REQUIRE(std::filesystem::create_directory(directories.back()));
    }
  }
  [[nodiscard]] Store store(Disk* disk) const {
    StoreOptions options;
    options.disk = disk;
    for (const std::string& path : directories) options.mounts.push_back({path, 1});
    auto opened = Store::open(std::move(options));
    REQUIRE(opened);
    REQUIRE(opened->use_parity(way == Way::kPlain ? 0 : 1));
    return std::move(*opened);
  }
  // A small checkpoint of step 1 and, in memory, a copy of step 2.
  void begin(Store& store) {
    REQUIRE(test::save_step(store, 1));
    const auto order = test::sample_order(2, directories);
    REQUIRE(staging.use(*MemoryArea::own(*Staging::slot_bytes_for(order, state.contents))));
    REQUIRE(staging.stage(order, state.contents));
  }
  // Harmless faults.
  base::Result<std::vector<std::string>> save(Store& store) {
    if (way == Way::kMemory) {
      const auto copy = complete_copies(staging.area()).front();
      auto done = RR_TRY(drain_copy(staging.area().slot(copy.slot), store));
      RR_ASSERT(done.committed);
      return std::move(done.notes);
    }
    const auto attempt = RR_TRY(store.begin(2, 1, {1, {}}, {"n0"}));
    auto notes = RR_TRY(store.write_part(attempt, "n0", state.contents));
    RR_TRY(store.commit(attempt, 1));
    return notes;
  }
  // Empty if the newest checkpoint is step 2 and its bytes are right.
  [[nodiscard]] std::string wrong() const {
    const auto found = newest_committed(directories);
    if (!found) return found.error().what;
    if (found->attempt.step != 2) return "it is not the newest";
    auto reader = CheckpointReader::open(found->manifest, found->folders);
    for (std::size_t i = 0; i < state.buffers.size(); ++i) {
      std::string bytes(state.buffers[i].size(), '\0');
      if (auto read = reader.read_shard(i, bytes); !read) return read.error().what;
      if (bytes != state.buffers[i]) return "other bytes";
    }
    return {};
  }
  void check_first_is_left() const {
    const auto found = newest_committed(directories);
    REQUIRE(found);
    CHECK(found->attempt.step == 1);
    CHECK(test::wrong_in(*found) == "");
  }
};

bool says(const std::vector<std::string>& notes, const std::string& place,
          const std::string& cause) {
  return std::ranges::any_of(notes, [&](const std::string& note) {
    return note.find(place) != std::string::npos && note.find(cause) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("a save does without a mount that fails, and names it with the cause") {
  for (const Way way : kWays) {
    for (const auto& [cause, word] : {std::pair(ENOSPC, "No space left"), {EIO, "Input/output"}}) {
      for (const std::size_t bad : {0UZ, 2UZ}) {
        CAPTURE(static_cast<int>(way));
        CAPTURE(word);
        CAPTURE(bad);
        FaultyDisk disk;
        Saving saving(way);
        Store store = saving.store(&disk);
        saving.begin(store);
        disk.cause = cause;
        disk.full_folder = saving.directories[bad];
        const auto notes = saving.save(store);
        REQUIRE(notes);
        CHECK(says(*notes, saving.directories[bad], word));
        CHECK(saving.wrong() == "");
        const auto found = newest_committed(saving.directories);
        CHECK(CheckpointReader::open(found->manifest, found->folders).verify().empty());
        for (const DataFile& file : found->manifest.files) CHECK(file.mount != bad);
      }
    }
  }
}

TEST_CASE("a save does without a mount that is dead or missing at open, and names it") {
  for (const Way way : kWays) {
    for (const bool is_dead : {true, false}) {
      CAPTURE(static_cast<int>(way));
      CAPTURE(is_dead);
      Saving saving(way);
      const std::string& bad = saving.directories[2];
      std::optional<FuseView> view;
      if (is_dead) {
        REQUIRE(std::filesystem::create_directory(saving.scratch / "behind"));
        view.emplace(saving.scratch / "behind", bad);
        if (!view->there()) {
          MESSAGE("no FUSE here: bindfs is missing or mounting is not allowed");
          continue;
        }
        view->die();
      } else {
        std::filesystem::remove(bad);
      }
      Store store = saving.store(nullptr);
      saving.begin(store);
      const auto notes = saving.save(store);
      REQUIRE(notes);
      CHECK(says(*notes, bad, is_dead ? "not connected" : "No such file"));
      CHECK(saving.wrong() == "");
      const std::string home = bad + "/below";  // the kernel caches the mount itself for a while
      StoreOptions options;
      for (const std::string& path : {home, saving.directories[0]}) {
        options.mounts.push_back({path, 1});
      }
      const auto refused = Store::open(std::move(options));
      REQUIRE_FALSE(refused);
      CHECK(refused.error().what.find(home) != std::string::npos);
    }
  }
}

TEST_CASE("if all mounts fail, nothing is committed or lost, and a later save succeeds") {
  for (const Way way : kWays) {
    for (const auto& [cause, word] : {std::pair(ENOSPC, "No space left"), {EIO, "Input/output"}}) {
      CAPTURE(static_cast<int>(way));
      CAPTURE(word);
      FaultyDisk disk;
      Saving saving(way);
      Store store = saving.store(&disk);
      saving.begin(store);
      disk.cause = cause;
      disk.full_folder = folder_of(saving.directories[0]);
      const auto refused = saving.save(store);
      REQUIRE_FALSE(refused);
      for (const std::string& directory : saving.directories) {
        CHECK(says({refused.error().what}, directory, word));
      }
      saving.check_first_is_left();
      disk.full_folder.clear();
      REQUIRE(saving.save(store));
      CHECK(saving.wrong() == "");
    }
  }
}

TEST_CASE("errors about full file systems say how much is free where, and what to do") {
  for (const Way way : kWays) {
    CAPTURE(static_cast<int>(way));
    Saving saving(way);
    std::vector<std::unique_ptr<SmallDisk>> disks;
    for (const std::string& directory : saving.directories) {
      disks.push_back(std::make_unique<SmallDisk>(directory, "1m"));
      if (disks.back()->there()) continue;
      MESSAGE("mounting is not allowed here");
      return;
    }
    Store store = saving.store(nullptr);
    saving.begin(store);
    const auto refused = saving.save(store);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().what.find("remove old checkpoints") != std::string::npos);
    for (const std::string& directory : saving.directories) {
      CHECK(says({refused.error().what}, "are free in " + directory, ""));
    }
    saving.check_first_is_left();

    disks[1]->resize("64m");  // the home and another one stay full
    const auto saved = saving.save(store);
    REQUIRE(saved);
    if (way != Way::kPlain) CHECK(says(*saved, "no parity", ""));
    CHECK(saving.wrong() == "");

    // A home without a free byte: the commit fails and names the home.
    {
      std::ofstream(saving.directories[0] + "/filling") << std::string(2U << 20U, 'x');
    }
    const auto full = test::save_step(store, 3);
    REQUIRE_FALSE(full);
    CHECK(full.error().what.find(saving.directories[0]) != std::string::npos);
    CHECK(full.error().what.find("No space left on device; remove") != std::string::npos);
    CHECK(saving.wrong() == "");
    // Removing checkpoints to make room does not need room itself.
    const auto pruned = prune(posix_disk(), saving.directories, 1);
    REQUIRE(pruned);
    REQUIRE(pruned->removed.size() == 1);
    CHECK(pruned->removed.front().step == 1);
    CHECK(says(pruned->notes, "VERIFIED", "No space left"));
    CHECK(saving.wrong() == "");
  }
}

TEST_CASE("with parity, a read does without a mount that hangs") {
  Saving saving(Way::kParity);
  REQUIRE(std::filesystem::create_directory(saving.scratch / "behind"));
  const FuseView fuse(saving.scratch / "behind", saving.directories[2]);
  if (!fuse.there()) {
    MESSAGE("no FUSE here: bindfs is missing, or mounting is not allowed");
    return;
  }
  Store store = saving.store(nullptr);
  saving.begin(store);
  REQUIRE(saving.save(store));
  const auto found = newest_committed(saving.directories);
  REQUIRE(found);
  fuse.stop();
  auto reader = CheckpointReader::open(found->manifest, found->folders,
                                       {.patience = std::chrono::milliseconds(1500)});
  for (std::size_t i = 0; i < saving.state.buffers.size(); ++i) {
    std::string bytes(saving.state.buffers[i].size(), '\0');
    REQUIRE(reader.read_shard(i, bytes));
    CHECK(bytes == saving.state.buffers[i]);
  }
  CHECK_FALSE(reader.rescued().empty());
  fuse.go_on();
}

TEST_CASE("a folder that cannot be listed is not an empty one") {
  Saving saving(Way::kPlain);
  Store store = saving.store(nullptr);
  saving.begin(store);
  REQUIRE(saving.save(store));
  const auto newest = newest_committed(saving.directories);
  REQUIRE(newest);
  const std::string folder = attempt_folder(newest->attempt);
  const std::string step = "/" + folder.substr(0, folder.find('/'));
  for (const std::string& broken : {step, std::string("/")}) {
    CAPTURE(broken);
    const bool is_step = broken == step;
    const std::string& directory = saving.directories[is_step ? 1 : 2];
    const std::string behind = saving.scratch / (is_step ? "behind" : "beside");
    std::filesystem::rename(directory, behind);
    REQUIRE(std::filesystem::create_directory(directory));
    const auto fuse = FuseView::failing(behind, directory, broken);
    if (!fuse.there()) {
      MESSAGE("no FUSE here: libfuse3 is missing, or mounting is not allowed");
      return;
    }
    CHECK(names_in(directory + broken).error().os_errno == EIO);
    CHECK(names_in(directory + "/none")->empty());
    const auto alone = newest_committed(std::vector{directory});
    if (is_step) {
      REQUIRE(alone);
      CHECK(alone->attempt.step == 1);
      CHECK(says(alone->notes, directory + step, "Input/output error"));
    } else {
      REQUIRE_FALSE(alone);
      CHECK(alone.error().os_errno == EIO);
    }
    const auto found = newest_committed(saving.directories);
    REQUIRE(found);
    CHECK(found->attempt.step == 2);
    CHECK(says(found->notes, directory, "Input/output error"));
    const auto pruned = prune(posix_disk(), saving.directories, 1);
    REQUIRE(pruned);
    CHECK(pruned->removed.empty());
    CHECK(says(pruned->notes, directory, "no more is removed"));
  }
}

TEST_CASE("EIO in a read: parity replaces the data, else tensor, file and cause are named") {
  for (const Way way : {Way::kPlain, Way::kParity}) {
    for (const std::size_t bad : {0UZ, 2UZ}) {
      for (const char* broken : {".safetensors", ""}) {  // "": its copy of the manifest, too
        CAPTURE(static_cast<int>(way));
        CAPTURE(bad);
        CAPTURE(broken);
        Saving saving(way);
        Store store = saving.store(nullptr);
        saving.begin(store);
        REQUIRE(saving.save(store));
        const std::string& directory = saving.directories[bad];
        const std::string behind = saving.scratch / "behind";
        std::filesystem::rename(directory, behind);
        REQUIRE(std::filesystem::create_directory(directory));
        const auto fuse = FuseView::failing(behind, directory, broken);
        if (!fuse.there()) {
          MESSAGE("no FUSE here: libfuse3 is missing, or mounting is not allowed");
          return;
        }
        const auto found = newest_committed(saving.directories);
        REQUIRE(found);
        CHECK(found->attempt.step == 2);
        CHECK(says(found->notes, directory, "Input/output error") == (*broken == '\0'));
        for (const IoWay io : {IoWay::kAuto, IoWay::kRing, IoWay::kDirect, IoWay::kBuffered}) {
          CAPTURE(static_cast<int>(io));
          auto reader = CheckpointReader::open(found->manifest, found->folders, {.io = io});
          std::size_t failed = 0;
          for (std::size_t i = 0; i < saving.state.buffers.size(); ++i) {
            std::string bytes(saving.state.buffers[i].size(), '\0');
            const auto read = reader.read_shard(i, bytes);
            if (read) CHECK(bytes == saving.state.buffers[i]);
            if (read) continue;
            ++failed;
            CHECK(read.error().code == base::Errc::kUnavailable);
            CHECK(read.error().os_errno == EIO);
            const std::string& what = read.error().what;
            CHECK(what.starts_with("cannot read tensor '" + found->manifest.shards[i].name + "'"));
            CHECK(says({what}, directory, "Input/output error"));
          }
          CHECK((failed > 0) == (way == Way::kPlain));
          CHECK(says(reader.rescued(), directory, "Input/output error: rebuilt from parity") ==
                (way == Way::kParity));
          CHECK(says(reader.verify(), directory, "Input/output error"));
        }
      }
    }
  }
}

}  // namespace mount_faults_test
