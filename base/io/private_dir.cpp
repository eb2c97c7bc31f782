#include "base/io/private_dir.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

namespace robustrun::base {
namespace {

namespace fs = std::filesystem;

constexpr int kFileClockTickMs = 20;  // more than a tick of any kernel
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

// When the folder was made, for two of them to be compared; 0 if the file system does not tell.
std::pair<std::int64_t, std::uint32_t> birth_of(const std::string& path) {
  struct statx info{};
  const bool known =
      ::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BTIME, &info) == 0 &&
      (info.stx_mask & STATX_BTIME) != 0;
  return known ? std::pair(std::int64_t{info.stx_btime.tv_sec}, info.stx_btime.tv_nsec)
               : std::pair(std::int64_t{0}, std::uint32_t{0});
}

// This user's folder whose name begins with `begin`; the oldest, so that processes that made one
// each at the same time agree. Empty: there is none.
std::string find_ours(const std::string& begin) {
  using Age = std::tuple<std::int64_t, std::uint32_t, std::string>;
  std::optional<Age> oldest;
  std::error_code error;
  for (fs::directory_iterator entry(fs::path(begin).parent_path(), error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().string();
    if (!name.starts_with(begin) || look_at(name) != Found::kOurs) continue;
    const auto [seconds, ns] = birth_of(name);
    const Age age(seconds, ns, name);
    if (!oldest || age < *oldest) oldest = age;
  }
  return oldest ? std::get<std::string>(*oldest) : "";
}

}  // namespace

std::string usable_private_name(const std::string& path) {
  if (look_at(path) != Found::kUnusable) return path;
  // Others cannot guess the name, and do not own a folder that is found by it.
  const std::string begin = path + "-";
  if (std::string found = find_ours(begin); !found.empty()) return found;
  std::string made = begin + "XXXXXX";
  if (::mkdtemp(made.data()) == nullptr) return path;
  // Another process may have made one meanwhile: those of the same tick of the file system's clock
  // are there once it is over.
  ::poll(nullptr, 0, kFileClockTickMs);
  std::string found = find_ours(begin);
  if (found.empty() || found == made) return made;
  static_cast<void>(::rmdir(made.c_str()));
  return found;
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
