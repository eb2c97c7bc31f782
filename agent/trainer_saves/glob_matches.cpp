#include "agent/trainer_saves/glob_matches.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "agent/node/folder.h"
#include "agent/trainer_saves/limits.h"
#include "base/core/text.h"

namespace robustrun::agent {
namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

bool is_wild(const std::string& name) { return name.find_first_of("*?[") != std::string::npos; }

class Matching {
 public:
  explicit Matching(const std::string& glob) {
    for (const std::string_view part : base::split(glob, '/')) {
      if (!part.empty() && part != ".") parts_.emplace_back(part);
    }
  }

  void descend(base::Fd folder, const std::string& path, std::size_t at) {
    if (!folder || at >= parts_.size() || folders_.size() == kGlobFoldersMax) return;
    const std::string& part = parts_[at];
    if (at + 1 == parts_.size()) return take(std::move(folder), path);
    if (!is_wild(part)) {
      return descend(base::Fd(::openat(folder.get(), part.c_str(), kFolderFlags)),
                     path + part + "/", at + 1);
    }
    for (const std::string& name : names(folder.get(), part)) {
      descend(base::Fd(::openat(folder.get(), name.c_str(), kFolderFlags | O_NOFOLLOW)),
              path + name + "/", at + 1);
    }
  }

  std::vector<GlobFolder> folders() { return std::move(folders_); }

 private:
  // Those in the folder that match, sorted.
  std::vector<std::string> names(int folder, const std::string& part) {
    std::vector<std::string> matching;
    if (!is_wild(part)) return {part};
    const Folder list(::fdopendir(::openat(folder, ".", kFolderFlags)));
    if (!list) return matching;
    while (const dirent* entry = ::readdir(list.get())) {
      if (names_left_ == 0) break;
      --names_left_;
      if (::fnmatch(part.c_str(), entry->d_name, FNM_PERIOD) == 0) {
        matching.emplace_back(entry->d_name);
      }
    }
    std::ranges::sort(matching);
    return matching;
  }

  void take(base::Fd folder, const std::string& path) {
    std::vector<std::pair<std::pair<time_t, long>, std::string>> newest;
    for (std::string& name : names(folder.get(), parts_.back())) {
      struct stat found{};
      const bool is_there = ::fstatat(folder.get(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0;
      const bool is_ours = ::geteuid() == 0 || found.st_uid == ::geteuid();
      if (!is_there || !is_ours || name == kAsideFolder) continue;
      if (!S_ISDIR(found.st_mode) && !S_ISREG(found.st_mode)) continue;
      newest.push_back({{found.st_mtim.tv_sec, found.st_mtim.tv_nsec}, name});
    }
    if (newest.empty()) return;
    std::ranges::sort(newest, std::ranges::greater());
    if (newest.size() > kEntriesLookedAt) newest.resize(kEntriesLookedAt);
    GlobFolder& taken = folders_.emplace_back(std::move(folder), path);
    for (auto& [changed, name] : newest) taken.names.push_back(std::move(name));
    std::ranges::sort(taken.names, base::natural_less);
  }

  std::vector<std::string> parts_;
  std::vector<GlobFolder> folders_;
  std::size_t names_left_ = kGlobNamesMax;
};

}  // namespace

std::vector<GlobFolder> glob_matches(const std::string& glob, const std::string& directory) {
  Matching matching(glob);
  const bool is_absolute = glob.starts_with('/');
  const std::string& begin = is_absolute ? "/" : directory;
  matching.descend(base::Fd(::open(begin.c_str(), kFolderFlags)), is_absolute ? "/" : "", 0);
  return matching.folders();
}

}  // namespace robustrun::agent
