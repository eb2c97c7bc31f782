// Interrupted drains and the processes that finish them.

#include <algorithm>
#include <filesystem>

#include "base/io/fd.h"
#include "checkpoint/format/paths.h"
#include "tests/checkpoint/store/local_machine.h"

namespace local_drain_rest_test {

using namespace robustrun;
using namespace robustrun::checkpoint;
using robustrun::test::data_files;
using Machine = robustrun::test::LocalMachine;
using robustrun::test::SampleState;
using robustrun::test::wrong_in;

namespace {

// Partial files.
std::size_t halves(const std::string& directory) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    count += entry.path().filename().string().find(".drain-g") != std::string::npos ? 1 : 0;
  }
  return count;
}

}  // namespace

TEST_CASE(
    "killed anywhere in a drain: the next generation finishes it and leaves no partial file") {
  for (const bool torn : {false, true}) {
    bool was_killed = true;
    std::size_t left = 0;
    for (std::uint64_t at = 0; was_killed; ++at) {
      Machine machine;
      const AttemptId attempt = machine.save(5);
      machine.changes.stop_at(at, torn);
      (void)LocalDrain(machine.options()).drain(attempt, "n0");
      was_killed = machine.changes.stopped();
      machine.changes.go_on();
      CAPTURE(at);
      for (const std::string& mount : machine.mounts.directories) left += halves(mount);
      REQUIRE(machine.store.admit(2));
      LocalDrain next(machine.options());
      next.act_for(2);
      REQUIRE(next.remove_halves());
      const auto drained = next.rest(attempt, {});
      REQUIRE(drained);
      CHECK(drained->complete);
      std::size_t files = 0;
      for (const std::string& mount : machine.mounts.directories) {
        CHECK(halves(mount) == 0);
        files += data_files(mount);
      }
      CHECK(files == 1);
      std::filesystem::remove_all(machine.disk);
      CHECK_FALSE(machine.newest().is_local());
      CHECK(wrong_in(machine.newest()).empty());
    }
    CHECK(left > 0);
  }
}

TEST_CASE("a process killed while finishing a drain leaves it to the next one") {
  bool was_killed = true;
  for (std::uint64_t at = 0; was_killed; ++at) {
    Machine machine;
    const AttemptId attempt = machine.save(5);
    for (const std::uint64_t generation : {2, 3}) {
      REQUIRE(machine.store.admit(generation));
      if (generation == 2) machine.changes.stop_at(at, true);
      LocalDrain drain(machine.options());
      drain.act_for(generation);
      (void)drain.remove_halves();
      (void)drain.rest(attempt, {});
      was_killed = generation == 2 ? machine.changes.stopped() : was_killed;
      machine.changes.go_on();
    }
    CAPTURE(at);
    for (const std::string& mount : machine.mounts.directories) CHECK(halves(mount) == 0);
    std::filesystem::remove_all(machine.disk);
    CHECK_FALSE(machine.newest().is_local());
    CHECK(wrong_in(machine.newest()).empty());
  }
}

TEST_CASE("a process behind the fence neither drains nor removes what is being drained") {
  Machine machine;
  const AttemptId attempt = machine.save(5);
  LocalDrain late(machine.options());
  late.act_for(1);
  REQUIRE(machine.store.admit(2));
  CHECK(late.drain(attempt, "n0").error().code == base::Errc::kConflict);
  CHECK(late.rest(attempt, {}).error().code == base::Errc::kConflict);
  for (const std::string& mount : machine.mounts.directories) CHECK(data_files(mount) == 0);

  const std::string folder = machine.mounts.directories[0] + "/" + attempt_folder(attempt) + "/";
  const std::string own = folder + "d-n0-m2.safetensors.drain-g2-0000000000000001.tmp";
  REQUIRE(base::write_file_atomically(own, "half", 0600));
  CHECK(late.remove_halves().error().code == base::Errc::kConflict);
  LocalDrain current(machine.options());
  current.act_for(2);
  REQUIRE(current.remove_halves());
  CHECK(std::filesystem::exists(own));
  CHECK(machine.newest().is_local());
  CHECK(current.rest(attempt, {})->complete);
  CHECK(std::filesystem::exists(own));
}

TEST_CASE("admitting a later generation in the middle of a drain stops it") {
  Machine machine;
  const AttemptId attempt = machine.save(5);
  LocalDrain late(machine.options());
  late.act_for(1);
  machine.changes.before_next_rename = [&] { REQUIRE(machine.store.admit(2)); };
  CHECK(late.drain(attempt, "n0").error().code == base::Errc::kConflict);
  CHECK(machine.newest().is_local());
}

TEST_CASE("ranks of one machine share the work, and leave files on other machines' disks alone") {
  Machine machine;
  const std::vector<std::string> writers = {"n0", "n1", "n2"};
  const auto attempt = machine.store.begin(5, 1, {3, {}}, writers);
  REQUIRE(attempt);
  for (const std::string& writer : writers) {
    REQUIRE(machine.store.write_part(*attempt, writer, SampleState(5).contents));
  }
  REQUIRE(machine.store.commit(*attempt, 1));
  std::string others;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(machine.disk)) {
    if (entry.path().filename().string().starts_with("d-n1-")) others = entry.path();
  }
  REQUIRE_FALSE(others.empty());
  std::filesystem::rename(others, machine.disk + "/elsewhere");
  LocalDrain drain(machine.options());
  const auto files = [&] {
    return data_files(machine.mounts.directories[0]) + data_files(machine.mounts.directories[1]);
  };
  CHECK_FALSE(drain.rest(*attempt, {1, 2})->complete);  // only n2, the second writer that is here
  CHECK(files() == 1);
  CHECK_FALSE(drain.rest(*attempt, {0, 2})->complete);
  CHECK(files() == 2);
  CHECK(machine.newest().is_local());
  std::filesystem::rename(machine.disk + "/elsewhere", others);
  CHECK(drain.rest(*attempt, {1, 2})->complete);
  std::filesystem::remove_all(machine.disk);
  CHECK(wrong_in(machine.newest()).empty());
}

TEST_CASE("a file of the wrong size is replaced") {
  Machine machine;
  const AttemptId attempt = machine.save(5);
  machine.drain(attempt);
  for (const std::string& mount : machine.mounts.directories) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(mount)) {
      if (entry.path().extension() == ".safetensors") std::filesystem::resize_file(entry, 100);
    }
  }
  CHECK(machine.drain(attempt).bytes > 0);
  std::filesystem::remove_all(machine.disk);
  CHECK(wrong_in(machine.newest()).empty());
}

}  // namespace local_drain_rest_test
