#pragma once
// One attempt to save, as found in two directories, and the truth about it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

#include "checkpoint/format/manifest.h"
#include "checkpoint/store/attempt_choice.h"

namespace robustrun::sim {

namespace ckpt = checkpoint;

inline constexpr std::size_t kDirectories = 2;  // the first is the home

// Its state in one directory.
struct Folder {
  bool is_there = false;
  ckpt::ManifestCopy manifest = ckpt::ManifestCopy::kNone;
  bool has_parts = false;  // everything that its MANIFEST lists
  bool is_deleted = false, is_verified = false, is_poisoned = false;
};

struct Saved {
  std::array<Folder, kDirectories> folders{};
  std::uint64_t sequence = 0, wall_time_ns = 0;  // its MANIFEST says so
  // The truth, which no directory shows.
  std::uint64_t session = 0, save = 0;  // their true order among all
  bool is_whole = true;  // all data can be read
  bool was_marked = false;
};

using SavedById = std::map<ckpt::AttemptId, Saved>;

}  // namespace robustrun::sim
