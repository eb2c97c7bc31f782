#include "base/io/private_dir.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "base/io/fd.h"

namespace robustrun::base {
namespace {

namespace fs = std::filesystem;

constexpr int kLockTries = 50;
constexpr int kLockPauseMs = 10;
constexpr std::string_view kXdgName = "XDG_RUNTIME_DIR=";

// The XDG base directory specification ignores relative paths: they would name another folder for a
// process in another working directory.
bool is_usable(const std::string& path) {
  struct stat info{};
  return path.starts_with('/') && ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
         info.st_uid == ::geteuid() && ::access(path.c_str(), W_OK | X_OK) == 0;
}

enum class Found : unsigned char { kNothing, kOurs, kUnusable };
Found look_at(const std::string& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) {
    return errno == ENOENT ? Found::kNothing : Found::kUnusable;
  }
  const bool is_ours =
      S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() && (info.st_mode & 077) == 0;
  return is_ours ? Found::kOurs : Found::kUnusable;
}

// This user's folder whose name begins with `begin`, the first by name. Empty if no such folder
// exists.
std::string find_ours(const std::string& begin) {
  std::string first;
  std::error_code error;
  for (fs::directory_iterator entry(fs::path(begin).parent_path(), error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().string();
    if (!name.starts_with(begin) || (!first.empty() && first < name)) continue;
    if (look_at(name) == Found::kOurs) first = name;
  }
  return first;
}

// Locks the folder, so that processes that begin at the same time make one folder in it. Any user
// may hold that lock: after kLockTries it goes on without.
Fd lock_against_others(const std::string& folder) {
  Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; fd && i < kLockTries && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0; ++i) {
    ::poll(nullptr, 0, kLockPauseMs);
  }
  return fd;
}

}  // namespace

std::string usable_private_name(const std::string& path) {
  if (look_at(path) != Found::kUnusable) return path;
  // Others cannot guess the name, and do not own a folder that is found by it.
  const std::string begin = path + "-";
  if (std::string found = find_ours(begin); !found.empty()) return found;
  const Fd lock = lock_against_others(fs::path(path).parent_path().string());
  if (std::string found = find_ours(begin); !found.empty()) return found;
  std::string made = begin + "XXXXXX";
  return ::mkdtemp(made.data()) == nullptr ? path : made;
}

std::string private_base_directory(const std::vector<std::string>& environment) {
  for (const std::string& entry : environment) {
    if (entry.starts_with(kXdgName) && entry.size() > kXdgName.size()) {
      const std::string path = entry.substr(kXdgName.size());
      if (is_usable(path)) return path + "/robustrun";
    }
  }
  return usable_private_name("/tmp/robustrun-" + std::to_string(::geteuid()));
}

Status make_private_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail_errno("cannot make the folder " + path, errno);
  }
  if (look_at(path) != Found::kOurs) {
    return fail(Errc::kPermission,
                "cannot use " + path +
                    ": it is not a private folder of this user; "
                    "remove it, or set XDG_RUNTIME_DIR to a folder of yours with mode 0700");
  }
  return {};
}

}  // namespace robustrun::base
