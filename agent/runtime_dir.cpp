#include "agent/runtime_dir.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>

#include "base/core/hash.h"

namespace robustrun::agent {
namespace {

constexpr std::string_view kXdgName = "XDG_RUNTIME_DIR=";

std::string base_directory(const std::vector<std::string>& environment) {
  for (const std::string& entry : environment) {
    if (entry.starts_with(kXdgName) && entry.size() > kXdgName.size()) {
      struct stat info {};
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
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) {
    return base::fail_errno("cannot look at the folder " + path, errno);
  }
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 077) != 0) {
    return base::fail(base::Errc::kPermission,
                      "cannot use " + path + ": it is not a private folder of this user; "
                      "remove it, or set XDG_RUNTIME_DIR to a folder of yours with mode 0700");
  }
  return {};
}

}  // namespace

base::Result<std::string> make_runtime_directory(const std::vector<std::string>& environment,
                                                 const std::string& run_id) {
  const std::string base = base_directory(environment);
  RR_TRY(make_private(base));
  // Short, because a socket's path holds at most 107 bytes; the pid keeps agents apart.
  char key[17];
  std::snprintf(key, sizeof key, "%016lx", static_cast<unsigned long>(base::hash64(run_id)));
  const std::string path = base + "/" + key + "-" + std::to_string(::getpid());
  RR_TRY(make_private(path));
  return path;
}

void remove_runtime_directory(const std::string& path) {
  std::error_code ignored;  // what cannot be removed is a few bytes in a temporary folder
  for (const auto& entry : std::filesystem::directory_iterator(path, ignored)) {
    ::unlink(entry.path().c_str());
  }
  ::rmdir(path.c_str());
}

}  // namespace robustrun::agent
