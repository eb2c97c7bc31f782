// make_places(): makes the folders of a run, just before it starts.

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

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

}  // namespace

base::Status make_places(const Places& places) {
  if (!places.private_root.empty()) RR_TRY(make_private(places.private_root));
  if (auto made = base::make_directories(places.run_directory, kPrivate); !made) {
    made.error().what += "; name another place with --run-dir";
    return made;
  }
  if (!places.log_base.empty()) RR_TRY(base::make_directories(places.log_base, kAsUmask));
  if (!places.log_directory.empty()) {
    RR_TRY(base::make_directories(places.log_directory, kPrivate));
  }
  return {};
}

}  // namespace robustrun::cli
