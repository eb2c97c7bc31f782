// make_places(): makes the folders of a run, just before it starts.

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/io/fd.h"
#include "cli/placement/places.h"

namespace robustrun::cli {
namespace {

constexpr unsigned kPrivate = 0700;
constexpr unsigned kAsUmask = 0777;

// Another user may have made a folder of this name in /tmp, to read or change its content.
base::Status make_private(const std::string& path) {
  if (::mkdir(path.c_str(), kPrivate) == 0) return {};
  if (errno != EEXIST) return base::fail_errno("cannot make the folder " + path, errno);
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) {
    return base::fail_errno("cannot inspect the folder " + path, errno);
  }
  const bool ours = S_ISDIR(status.st_mode) && status.st_uid == ::geteuid();
  if (ours && (status.st_mode & 077) == 0) return {};
  return base::fail(
      base::Errc::kPermission,
      fmt::format("cannot use the folder {}: other users can access it; remove it, or "
                  "set TMPDIR to a folder of your own",
                  path));
}

// Another user who offers a folder to everyone can put another run in the place of ours.
base::Status check_parent(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return base::fail_errno("cannot inspect " + path, errno);
  const bool is_of_another = status.st_uid != ::geteuid() && status.st_uid != 0;
  if (!is_of_another || (status.st_mode & S_IWOTH) == 0) return {};
  return base::fail(base::Errc::kPermission,
                    fmt::format("cannot keep the run in {}: it belongs to user {}, and every user "
                                "may change it",
                                path, status.st_uid));
}

}  // namespace

base::Status make_places(const Places& places) {
  if (!places.private_root.empty()) RR_TRY(make_private(places.private_root));
  if (auto made = base::make_directories(places.run_directory, kPrivate); !made) {
    made.error().what += "; name another place with --run-dir";
    return made;
  }
  const std::filesystem::path directory(places.run_directory);
  if (directory.has_parent_path()) {
    if (auto safe = check_parent(directory.parent_path().string()); !safe) {
      static_cast<void>(::rmdir(places.run_directory.c_str()));  // not one with content
      safe.error().what += "; name another place with --run-dir";
      return safe;
    }
  }
  if (!places.log_base.empty()) RR_TRY(base::make_directories(places.log_base, kAsUmask));
  if (!places.log_directory.empty()) {
    RR_TRY(base::make_directories(places.log_directory, kPrivate));
  }
  return {};
}

}  // namespace robustrun::cli
