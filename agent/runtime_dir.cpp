#include "agent/runtime_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string_view>

#include "base/core/hash.h"

namespace robustrun::agent {
namespace {

constexpr int kLockRounds = 5;
constexpr std::size_t kKeyDigits = 16;
constexpr std::string_view kXdgName = "XDG_RUNTIME_DIR=";

std::string base_directory(const std::vector<std::string>& environment) {
  for (const std::string& entry : environment) {
    if (entry.starts_with(kXdgName) && entry.size() > kXdgName.size()) {
      struct stat info{};
      const std::string path = entry.substr(kXdgName.size());
      // A login session may have ended and taken its folder along.
      if (::stat(path.c_str(), &info) == 0 && info.st_uid == ::geteuid() &&
          ::access(path.c_str(), W_OK | X_OK) == 0) {
        return path + "/robustrun";
      }
    }
  }
  return "/tmp/robustrun-" + std::to_string(::geteuid());
}

base::Status make_private(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return base::fail_errno("cannot make the folder " + path, errno);
  }
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) {
    return base::fail_errno("cannot look at the folder " + path, errno);
  }
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 077) != 0) {
    return base::fail(base::Errc::kPermission,
                      "cannot use " + path +
                          ": it is not a private folder of this user; "
                          "remove it, or set XDG_RUNTIME_DIR to a folder of yours with mode 0700");
  }
  return {};
}

// The lock of a folder, if nobody has it.
base::Fd try_lock(const std::string& path) {
  base::Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) fd.reset();
  return fd;
}

// Plain files and sockets only: nothing here has folders of its own.
void remove_with_files(const std::string& path) {
  std::error_code ignored;  // what cannot be removed is a few bytes in a temporary folder
  for (const auto& entry : std::filesystem::directory_iterator(path, ignored)) {
    ::unlink(entry.path().c_str());
  }
  ::rmdir(path.c_str());
}

void remove_what_dead_agents_left(const std::string& base) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(base, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.size() <= kKeyDigits || name[kKeyDigits] != '-') continue;  // not one of these folders
    if (const base::Fd lock = try_lock(entry.path().string())) {
      remove_with_files(entry.path().string());
    }
  }
}

}  // namespace

base::Result<RuntimeDirectory> RuntimeDirectory::make(const std::vector<std::string>& environment,
                                                      const std::string& run_id) {
  const std::string base = base_directory(environment);
  RR_TRY(make_private(base));
  remove_what_dead_agents_left(base);
  // Short, because a socket's path holds at most 107 bytes; the pid keeps agents apart.
  char key[kKeyDigits + 1];
  std::snprintf(key, sizeof key, "%016lx", static_cast<unsigned long>(base::hash64(run_id)));
  const std::string path = base + "/" + key + "-" + std::to_string(::getpid());
  // Another agent's clean-up may take the new folder for a dead one's until it is locked.
  for (int round = 0; round < kLockRounds; ++round) {
    RR_TRY(make_private(path));
    base::Fd lock = try_lock(path);
    struct stat named{};
    struct stat held{};
    if (lock && ::stat(path.c_str(), &named) == 0 && ::fstat(lock.get(), &held) == 0 &&
        named.st_ino == held.st_ino) {
      return RuntimeDirectory(path, std::move(lock));
    }
  }
  return base::fail(base::Errc::kConflict,
                    "cannot lock the folder " + path + ": another robustrun holds it");
}

RuntimeDirectory::~RuntimeDirectory() {
  if (lock_) remove_with_files(path_);
}

}  // namespace robustrun::agent
