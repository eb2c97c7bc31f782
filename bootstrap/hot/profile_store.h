#pragma once
// The profiles of one user's cache: CACHE/hot/KEY.hot. Blocks as long as its file system does.
//
// A key is one interpreter and one program. What is not ours, or open to others, is not read: a
// profile names files that are then read in our name.

#include <optional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "bootstrap/hot/hot_profile.h"

namespace robustrun::bootstrap {

struct ProfileKey {
  std::string interpreter;  // absolute path
  std::string program;      // script or module, as an absolute path or as it was written
};

struct FoundProfile {
  HotProfile profile;
  bool is_own = false;  // of this program; else of another one that the same interpreter ran last
};

// `cache`: the user's folder of caches. Nothing: there is none yet, or none that is whole and ours.
[[nodiscard]] std::optional<FoundProfile> load_profile(const std::string& cache,
                                                       const ProfileKey& key);
// Replaces it at once; the oldest beyond kProfilesMax go.
base::Status save_profile(const std::string& cache, const ProfileKey& key,
                          const HotProfile& profile);

// Paths of all of them and of all profiles of blocks (block_profile.h), each the newest first.
[[nodiscard]] std::vector<std::string> list_profiles(const std::string& cache);
[[nodiscard]] bool is_whole_profile(const std::string& path);

}  // namespace robustrun::bootstrap
