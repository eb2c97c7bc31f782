#include "base/io/private_dir.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace robustrun::base {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

std::string usable_private_name(const std::string& path) {
  if (look_at(path) != Found::kUnusable) return path;
  // Others cannot guess the name, and do not own a folder that is found by it.
  const std::string begin = path + "-";
  std::error_code error;
  for (fs::directory_iterator entry(fs::path(path).parent_path(), error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().string();
    if (name.starts_with(begin) && look_at(name) == Found::kOurs) return name;
  }
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
