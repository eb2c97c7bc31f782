#pragma once
// Stores over folders of a test's own, and whether what lies in them is what was saved.

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/catalog.h"
#include "checkpoint/reader.h"
#include "checkpoint/store.h"
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
  [[nodiscard]] checkpoint::Store store(checkpoint::Disk* disk = nullptr) const {
    checkpoint::StoreOptions options;
    options.disk = disk;
    options.workers_per_mount = 1;
    for (const std::string& path : directories) options.mounts.push_back({path, 1});
    auto opened = checkpoint::Store::open(std::move(options));
    REQUIRE(opened);
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

// What is wrong with it; empty when it is exactly what was saved at its step.
inline std::string wrong_in(const checkpoint::FoundAttempt& found) {
  auto reader = checkpoint::CheckpointReader::open(found.manifest, found.folders);
  if (const auto faults = reader.verify(); !faults.empty()) return faults.front();
  const SampleState wanted(found.attempt.step);
  if (found.manifest.states != wanted.contents.states) return "the states differ";
  if (found.manifest.shards.size() != wanted.buffers.size()) return "shards are missing";
  for (std::size_t i = 0; i < wanted.buffers.size(); ++i) {
    std::string bytes(found.manifest.shards[i].bytes, '\0');
    if (auto read = reader.read_shard(i, bytes); !read) return read.error().what;
    if (bytes != wanted.buffers[i]) return "other bytes in " + found.manifest.shards[i].name;
  }
  return {};
}

}  // namespace robustrun::test
