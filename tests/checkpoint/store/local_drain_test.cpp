#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/io/fd.h"
#include "checkpoint/format/paths.h"
#include "checkpoint/store/retention.h"
#include "tests/checkpoint/store/local_machine.h"

namespace local_drain_test {

using namespace robustrun;
using namespace robustrun::checkpoint;
using robustrun::test::data_files;
using Machine = robustrun::test::LocalMachine;
using robustrun::test::SampleState;
using robustrun::test::wrong_in;

namespace {

void damage(const std::string& directory) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.path().extension() != ".safetensors") continue;
    const base::Fd file(::open(entry.path().c_str(), O_WRONLY | O_CLOEXEC));
    REQUIRE(::pwrite(file.get(), "damaged", 7, 5000) == 7);
  }
}

std::vector<std::uint64_t> steps_in(const std::vector<std::string>& directories) {
  std::vector<std::uint64_t> steps;
  const auto all = list_attempts(directories);
  REQUIRE(all);
  for (const FoundAttempt& found : *all) steps.push_back(found.attempt.step);
  std::ranges::sort(steps);
  return steps;
}

}  // namespace

TEST_CASE("data is on the machine's local disk until it is drained, and then does not need it") {
  Machine machine;
  const AttemptId attempt = machine.save(5);
  CHECK(data_files(machine.disk) == 1);
  CHECK(machine.store.directories() == machine.mounts.directories);  // all machines save there
  for (const std::string& mount : machine.mounts.directories) CHECK(data_files(mount) == 0);
  FoundAttempt found = machine.newest();
  CHECK(found.is_local());
  CHECK(found.nodes == std::vector<std::string>{"n1"});
  CHECK(wrong_in(found).empty());
  const auto heads = list_attempts(machine.mounts.directories, nullptr, Look::kSums);
  REQUIRE(heads);
  CHECK(heads->front().nodes == found.nodes);

  const Drained drained = machine.drain(attempt);
  CHECK(drained.complete);
  CHECK(drained.notes.empty());
  CHECK(drained.bytes >= 12'000);
  std::filesystem::remove_all(machine.disk);
  found = machine.newest();
  CHECK_FALSE(found.is_local());
  CHECK(wrong_in(found).empty());
}

TEST_CASE("files on another machine's local disk are away, not damaged") {
  Machine machine;
  machine.save(5);
  std::filesystem::rename(machine.disk, machine.disk + "-of-another-machine");
  const FoundAttempt found = machine.newest();
  auto reader = CheckpointReader::open(found.manifest, found.folders);
  std::vector<std::string> away;
  CHECK(reader.verify(&away).empty());
  REQUIRE(away.size() == 1);
  CHECK(away.front().find("of n1") != std::string::npos);
  CHECK(reader.verify().size() == 1);
  const auto present = reader.present_shards();
  for (std::size_t i = 0; i < present.size(); ++i) {
    CHECK(present[i] == found.manifest.shards[i].pieces.empty());
  }
  std::string bytes(found.manifest.shards[0].bytes, '\0');
  CHECK(reader.read_shard(0, bytes).error().code == base::Errc::kUnavailable);
}

TEST_CASE("if the local disk is full or missing, data goes to the mounts, with a note") {
  for (const bool is_full : {true, false}) {
    Machine machine;
    if (is_full) machine.changes.full_folder = machine.disk;
    if (!is_full) std::filesystem::remove_all(machine.disk);
    const auto attempt = machine.store.begin(5, 1, {1, {}}, {"n0"});
    REQUIRE(attempt);
    const auto notes = machine.store.write_part(*attempt, "n0", SampleState(5).contents);
    REQUIRE(notes);
    CHECK(std::ranges::any_of(*notes, [](const std::string& note) {
      return note.find("not on local disks, but on shared storage") != std::string::npos;
    }));
    REQUIRE(machine.store.commit(*attempt, 1));
    std::filesystem::remove_all(machine.disk);
    const FoundAttempt found = machine.newest();
    CHECK_FALSE(found.is_local());
    CHECK(wrong_in(found).empty());
  }
}

TEST_CASE("a checkpoint is drained when its last writer has drained") {
  Machine machine;
  const auto attempt = machine.store.begin(5, 1, {2, {}}, {"n0", "n1"});
  REQUIRE(attempt);
  for (const char* writer : {"n0", "n1"}) {
    REQUIRE(machine.store.write_part(*attempt, writer, SampleState(5).contents));
  }
  REQUIRE(machine.store.commit(*attempt, 1));
  LocalDrain drain(machine.options());
  CHECK_FALSE(drain.drain(*attempt, "n1")->complete);
  CHECK(machine.newest().is_local());
  CHECK(drain.drain(*attempt, "n0")->complete);
  CHECK_FALSE(machine.newest().is_local());
}

TEST_CASE("killed anywhere in a drain, the checkpoint is as good as before and can be drained") {
  for (const bool torn : {false, true}) {
    bool was_killed = true;
    for (std::uint64_t at = 0; was_killed; ++at) {
      Machine machine;
      const AttemptId attempt = machine.save(5);
      machine.changes.stop_at(at, torn);
      (void)LocalDrain(machine.options()).drain(attempt, "n0");
      was_killed = machine.changes.stopped();
      machine.changes.go_on();
      CAPTURE(at);
      CHECK(wrong_in(machine.newest()).empty());
      // If a mark says that it is drained, that is right.
      const bool is_drained = !machine.newest().is_local();
      if (!is_drained) CHECK(machine.drain(attempt).complete);
      std::filesystem::remove_all(machine.disk);
      CHECK(wrong_in(machine.newest()).empty());
    }
  }
}

TEST_CASE("a damaged file is not drained; one damaged after the drain has a second copy") {
  Machine machine;
  const AttemptId first = machine.save(1);
  damage(machine.disk);
  CHECK(LocalDrain(machine.options()).drain(first, "n0").error().code == base::Errc::kCorrupt);
  for (const std::string& mount : machine.mounts.directories) CHECK(data_files(mount) == 0);

  std::filesystem::remove_all(machine.disk);
  REQUIRE(std::filesystem::create_directory(machine.disk));
  CHECK(machine.drain(machine.save(2)).complete);
  damage(machine.disk);
  const FoundAttempt found = machine.newest();
  const ReadOptions local_first{IoWay::kAuto, kPatience, true};
  auto reader = CheckpointReader::open(found.manifest, found.folders, local_first);
  const SampleState wanted(2);
  for (std::size_t i = 0; i < wanted.buffers.size(); ++i) {
    std::string bytes(wanted.buffers[i].size(), '\0');
    REQUIRE(reader.read_shard(i, bytes));
    CHECK(bytes == wanted.buffers[i]);
  }
}

TEST_CASE("if a mount is full, the next one is used") {
  for (const std::size_t full : {0UL, 1UL}) {
    Machine machine;
    const AttemptId attempt = machine.save(5);
    machine.changes.full_folder = machine.mounts.directories[full];
    CHECK(machine.drain(attempt).complete);
    CHECK(data_files(machine.mounts.directories[full]) == 0);
    CHECK(data_files(machine.mounts.directories[1 - full]) == 1);
  }
  Machine machine;
  const AttemptId attempt = machine.save(5);
  machine.changes.full_suffix = ".tmp";
  CHECK(LocalDrain(machine.options()).drain(attempt, "n0").error().os_errno == ENOSPC);
}

TEST_CASE(
    "attempts on local disks let none on shared storage go, and go themselves after one there") {
  Machine machine;
  const auto directories = machine.mounts.directories;
  machine.drain(machine.save(1));
  machine.save(2);
  machine.save(3);
  REQUIRE(prune(posix_disk(), directories, 1));
  CHECK(steps_in(directories) == std::vector<std::uint64_t>{1, 2, 3});
  LocalDrain drain(machine.options());
  REQUIRE(drain.clean());
  CHECK(steps_in({machine.disk}) == std::vector<std::uint64_t>{1, 2, 3});
  machine.drain(machine.save(4));
  machine.save(5);
  REQUIRE(drain.clean());  // step 4 was not verified
  CHECK(steps_in({machine.disk}).size() == 5);
  REQUIRE(prune(posix_disk(), directories, 1));
  CHECK(steps_in(directories) == std::vector<std::uint64_t>{4, 5});
  const auto removed = drain.clean();
  REQUIRE(removed);
  CHECK(removed->size() == 3);
  CHECK(steps_in({machine.disk}) == std::vector<std::uint64_t>{4, 5});
  CHECK(wrong_in(machine.newest()).empty());
}

TEST_CASE("an empty home, as when it is not mounted, does not empty local disks") {
  Machine machine;
  machine.drain(machine.save(1));
  machine.save(2);
  REQUIRE(prune(posix_disk(), machine.mounts.directories, 1));
  for (const std::string& mount : machine.mounts.directories) {
    std::filesystem::remove_all(mount);
    REQUIRE(std::filesystem::create_directory(mount));
  }
  REQUIRE(LocalDrain(machine.options()).clean());
  CHECK(steps_in({machine.disk}) == std::vector<std::uint64_t>{1, 2});
}

TEST_CASE("an attempt that retention removed meanwhile is not drained") {
  Machine machine;
  const AttemptId attempt = machine.save(1);
  for (const std::string& mount : machine.mounts.directories) {
    std::filesystem::remove_all(mount + "/" + attempt_folder(attempt));
  }
  const Drained drained = machine.drain(attempt);
  CHECK_FALSE(drained.complete);
  CHECK(drained.bytes == 0);
  for (const std::string& mount : machine.mounts.directories) {
    CHECK_FALSE(std::filesystem::exists(mount + "/" + attempt_folder(attempt)));
  }
}

TEST_CASE("local disks can be removed again, and exclude parity") {
  Machine machine;
  CHECK(machine.store.use_parity(1).error().code == base::Errc::kInvalidArgument);
  CHECK_FALSE(machine.store.use_local({{machine.mounts.directories[1]}, "n1"}));
  REQUIRE(machine.store.use_local({}));
  machine.save(1);
  CHECK(data_files(machine.disk) == 0);
  REQUIRE(machine.store.use_parity(1));
  CHECK_FALSE(machine.store.use_local({{machine.disk}, "n1"}));
  machine.save(2);
  CHECK_FALSE(machine.newest().is_local());
}

}  // namespace local_drain_test
