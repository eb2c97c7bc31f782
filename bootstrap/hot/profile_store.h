#pragma once
// The profiles in one user's cache: CACHE/hot/KEY.hot. Blocks as long as the file system does.
//
// A key stands for one interpreter and one program. Profiles that belong to another user or are
// writable by others are not used, because a profile decides which files are read with this user's
// rights.

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
  bool is_own = false;  // of this program; false: the newest of another program of the interpreter
};

// `cache`: the user's cache directory. nullopt: there is no valid profile.
[[nodiscard]] std::optional<FoundProfile> load_profile(const std::string& cache,
                                                       const ProfileKey& key);
// Replaces the profile atomically. Removes the oldest profiles beyond kProfilesMax.
base::Status save_profile(const std::string& cache, const ProfileKey& key,
                          const HotProfile& profile);

// The list of modules that a program imported before its first step in an earlier run
// (docs/formats/standby.md): CACHE/hot/KEY.imports. `start`: a hash of everything that decides
// which modules these are. Empty: there is no list, or another user could have written the file or
// its folder.
[[nodiscard]] std::string load_imports(const std::string& cache, const std::string& interpreter,
                                       std::uint64_t start);
// As save_profile().
base::Status save_imports(const std::string& cache, const std::string& interpreter,
                          std::uint64_t start, const std::string& list);

// Paths of all profiles, then of all profiles of blocks (block_profile.h), then of all lists of
// imports, each newest first.
[[nodiscard]] std::vector<std::string> list_profiles(const std::string& cache);
// Whether a file of list_profiles() is valid.
[[nodiscard]] bool is_whole_profile(const std::string& path);

}  // namespace robustrun::bootstrap
