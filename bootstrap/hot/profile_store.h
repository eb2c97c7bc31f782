#pragma once
// The profiles in one user's cache: CACHE/hot/KEY.hot. Blocks as long as the file system does.
//
// A key stands for one interpreter and one program. Profiles that belong to another user or are
// writable by others are not read: the files that a profile names are read with this user's rights.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "bootstrap/hot/hot_profile.h"

namespace robustrun::bootstrap {

struct ProfileKey {
  std::string interpreter;  // absolute path
  std::string program;  // script or module, as an absolute path or as given
};

struct FoundProfile {
  HotProfile profile;
  bool is_own = false;  // of this program; else of the last other one of this interpreter
};

// `cache`: the user's cache directory. nullopt: there is no valid profile.
[[nodiscard]] std::optional<FoundProfile> load_profile(const std::string& cache,
                                                       const ProfileKey& key);
// Replaces the profile atomically; the oldest profiles beyond kProfilesMax are removed.
base::Status save_profile(const std::string& cache, const ProfileKey& key,
                          const HotProfile& profile);

// What a program imported before its first step in an earlier run (docs/formats/standby.md):
// CACHE/hot/KEY.imports. `start`: a hash of all that decides which imports these are. Empty: not
// known, or the file or its folder could have been written by another user.
[[nodiscard]] std::string load_imports(const std::string& cache, const std::string& interpreter,
                                       std::uint64_t start);
// As save_profile().
base::Status save_imports(const std::string& cache, const std::string& interpreter,
                          std::uint64_t start, const std::string& list);

// Paths of all profiles, then of all profiles of blocks (block_profile.h), then of all lists of
// imports, each newest first.
[[nodiscard]] std::vector<std::string> list_profiles(const std::string& cache);
[[nodiscard]] bool is_whole_profile(const std::string& path);

}  // namespace robustrun::bootstrap
