#pragma once
// Stores over temporary folders, and checks that they contain what was saved.

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/store/catalog.h"
#include "checkpoint/store/reader.h"
#include "checkpoint/store/store.h"
#include "tests/checkpoint/saver_state.h"
#include "tests/scratch_folder.h"

namespace robustrun::test {

// Two folders as mounts.
class TwoMounts {
 public:
  explicit TwoMounts(const std::filesystem::path& parent = std::filesystem::temp_directory_path())
      : scratch_(parent) {
    for (const char* name : {"a", "b"}) {
      directories.push_back(scratch_ / name);
      REQUIRE(std::filesystem::create_directory(directories.back()));
    }
  }
  [[nodiscard]] checkpoint::Store store(checkpoint::Disk* disk = nullptr, std::uint32_t parity = 0,
                                        checkpoint::StoreOptions options = {}) const {
    options.disk = disk;
    options.workers_per_mount = 1;
    for (const std::string& path : directories) options.mounts.push_back({path, 1});
    auto opened = checkpoint::Store::open(std::move(options));
    REQUIRE(opened);
    REQUIRE(opened->use_parity(parity));
    return std::move(*opened);
  }

  std::vector<std::string> directories;

 private:
  ScratchFolder scratch_;
};

inline base::Result<checkpoint::Committed> save_step(checkpoint::Store& store, std::uint64_t step,
                                                     std::uint64_t generation = 1) {
  const SampleState state(step);
  const auto attempt = RR_TRY(store.begin(step, generation, {1, {{"dp", 1}}}, {"n0"}));
  RR_TRY(store.write_part(attempt, "n0", state.contents));
  return store.commit(attempt, generation);
}

// The first fault of a checkpoint; empty if it has exactly what its writers saved at its step.
inline std::string wrong_in(const checkpoint::FoundAttempt& found) {
  auto reader = checkpoint::CheckpointReader::open(found.manifest, found.folders);
  if (const auto faults = reader.verify(); !faults.empty()) return faults.front();
  const SampleState wanted(found.attempt.step);
  const std::size_t writers = found.manifest.head.writers.size();
  const std::size_t each = wanted.buffers.size();
  std::vector<checkpoint::RankState> states;
  for (std::size_t i = 0; i < writers; ++i) {
    states.push_back(wanted.contents.states.front());
    if (i < found.manifest.states.size()) states.back().rank = found.manifest.states[i].rank;
  }
  if (found.manifest.states != states) return "the states differ";
  if (found.manifest.shards.size() != writers * each) return "shards are missing";
  for (std::size_t i = 0; i < writers * each; ++i) {
    std::string bytes(found.manifest.shards[i].bytes, '\0');
    if (auto read = reader.read_shard(i, bytes); !read) return read.error().what;
    if (bytes != wanted.buffers[i % each]) return "other bytes in " + found.manifest.shards[i].name;
  }
  return {};
}

}  // namespace robustrun::test
