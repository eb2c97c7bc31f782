#pragma once
// A machine that saves on its local disk, and drains from there.

#include <filesystem>
#include <string>
#include <utility>

#include "checkpoint/store/local_drain.h"
#include "tests/checkpoint/faulty_disk.h"
#include "tests/checkpoint/support.h"

namespace robustrun::test {

// Two shared mounts and the local disk of one machine.
struct LocalMachine {
  TwoMounts mounts{"/dev/shm"};
  ScratchFolder scratch{"/dev/shm"};
  std::string disk = scratch / "disk";
  FaultyDisk changes;
  checkpoint::Store store = mounts.store(&changes);

  LocalMachine() {
    REQUIRE(std::filesystem::create_directory(disk));
    REQUIRE(store.use_local({{disk}, "n1"}));
  }
  [[nodiscard]] checkpoint::LocalDrainOptions options() {
    checkpoint::LocalDrainOptions made;
    made.directories = mounts.directories;
    made.local = {disk};
    made.disk = &changes;
    return made;
  }
  checkpoint::AttemptId save(std::uint64_t step, std::uint64_t generation = 1) {
    const auto committed = save_step(store, step, generation);
    REQUIRE(committed);
    return committed->manifest.head.attempt;
  }
  checkpoint::Drained drain(const checkpoint::AttemptId& attempt) {
    auto drained = checkpoint::LocalDrain(options()).drain(attempt, "n0");
    REQUIRE(drained);
    return *std::move(drained);
  }
  [[nodiscard]] checkpoint::FoundAttempt newest() const {
    auto found = checkpoint::newest_committed(mounts.directories);
    REQUIRE(found);
    return *std::move(found);
  }
};

// Data files of all attempts in a directory.
inline std::size_t data_files(const std::string& directory) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    count += entry.path().extension() == ".safetensors" ? 1 : 0;
  }
  return count;
}

}  // namespace robustrun::test
