#include "base/io/private_dir.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace robustrun::base {
namespace {

constexpr std::string_view kXdgName = "XDG_RUNTIME_DIR=";

// The XDG base directory specification ignores relative paths: they would name another folder for a
// process in another working directory.
bool is_usable(const std::string& path) {
  struct stat info{};
  return path.starts_with('/') && ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
         info.st_uid == ::geteuid() && ::access(path.c_str(), W_OK | X_OK) == 0;
}

}  // namespace

std::string private_base_directory(const std::vector<std::string>& environment) {
  for (const std::string& entry : environment) {
    if (entry.starts_with(kXdgName) && entry.size() > kXdgName.size()) {
      const std::string path = entry.substr(kXdgName.size());
      if (is_usable(path)) return path + "/robustrun";
    }
  }
  return "/tmp/robustrun-" + std::to_string(::geteuid());
}

Status make_private_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail_errno("cannot make the folder " + path, errno);
  }
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) {
    return fail_errno("cannot look at the folder " + path, errno);
  }
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 077) != 0) {
    return fail(Errc::kPermission,
                "cannot use " + path +
                    ": it is not a private folder of this user; "
                    "remove it, or set XDG_RUNTIME_DIR to a folder of yours with mode 0700");
  }
  return {};
}

}  // namespace robustrun::base
