#pragma once
// One attempt to save as it lies in two directories, and what is true of it whatever they say.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

#include "checkpoint/format/manifest.h"
#include "checkpoint/store/attempt_choice.h"

namespace robustrun::sim {

namespace ckpt = checkpoint;

inline constexpr std::size_t kDirectories = 2;  // the first is the home

// What one directory has of it.
struct Folder {
  bool is_there = false;
  ckpt::ManifestCopy manifest = ckpt::ManifestCopy::kNone;
  bool has_parts = false;  // all that a MANIFEST is made of
  bool is_deleted = false, is_verified = false, is_poisoned = false;
};

struct Saved {
  std::array<Folder, kDirectories> folders{};
  std::uint64_t sequence = 0, wall_time_ns = 0;  // its MANIFEST says so
  // True, but no directory says it.
  std::uint64_t session = 0, save = 0;  // the how manieth of all they are, by the one true clock
  bool is_whole = true;  // all data can be read
  bool was_marked = false;
};

using SavedById = std::map<ckpt::AttemptId, Saved>;

}  // namespace robustrun::sim
