#include "bootstrap/image/mount_folder.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/core/text.h"
#include "base/io/private_dir.h"
#include "bootstrap/image/squash_mount.h"
#include "bootstrap/store/limits.h"

namespace robustrun::bootstrap {
namespace {

std::string mounts_folder(const std::string& base) { return base + "/mounts"; }
std::string owner_file(const std::string& folder) { return folder + "/owner"; }

// Takes a folder's lock. Returns an invalid descriptor if another process holds it, or if a
// clean-up has removed the locked file meanwhile. `flags`: O_CREAT to create the file.
base::Fd lock_owner(const std::string& folder, int flags) {
  const std::string path = owner_file(folder);
  base::Fd fd(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600));
  if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) fd.reset();
  struct stat named{};
  struct stat held{};
  if (fd && (::lstat(path.c_str(), &named) != 0 || ::fstat(fd.get(), &held) != 0 ||
             named.st_ino != held.st_ino)) {
    fd.reset();
  }
  return fd;
}

bool is_of_name(const std::string& entry, const std::string& name) {
  return !name.empty() && entry.starts_with(name + "-") &&
         base::parse_int<unsigned>(std::string_view(entry).substr(name.size() + 1)).has_value();
}

// Never removes through a mount: a folder whose mount could not be undone stays.
base::Status remove_unmounted(const std::string& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string path = entry->path().string();
    if (path == owner_file(folder)) continue;
    if (::unlink(path.c_str()) != 0 && ::rmdir(path.c_str()) != 0) {
      return base::fail_errno("cannot remove " + path, errno);
    }
  }
  ::unlink(owner_file(folder).c_str());
  if (::rmdir(folder.c_str()) != 0) return base::fail_errno("cannot remove " + folder, errno);
  return {};
}

}  // namespace

base::Result<MountFolder> MountFolder::take(const std::string& base, const std::string& name,
                                            const std::string& about) {
  RR_ASSERT(!name.empty() && name.find('/') == std::string::npos);
  RR_TRY(base::make_private_directory(base));
  RR_TRY(base::make_private_directory(mounts_folder(base)));
  for (unsigned number = 0; number < kMountFoldersMax; ++number) {
    const std::string path = fmt::format("{}/{}-{}", mounts_folder(base), name, number);
    auto made = base::make_private_directory(path);
    if (!made && made.error().os_errno != ENOENT) {
      return std::unexpected(std::move(made).error());
    }
    base::Fd lock = lock_owner(path, O_CREAT);
    if (!lock) continue;
    const std::string words = fmt::format("pid {}, {}\n", ::getpid(), about);
    if (::ftruncate(lock.get(), 0) == 0) static_cast<void>(base::write_all(lock.get(), words));
    return MountFolder(path, std::move(lock));
  }
  return base::fail(base::Errc::kLimit,
                    fmt::format("cannot make a mount folder: other processes hold {}/{}-0 to -{}",
                                mounts_folder(base), name, kMountFoldersMax - 1));
}

std::optional<MountFolder> MountFolder::take_abandoned(const std::string& path) {
  base::Fd lock = lock_owner(path, 0);
  if (!lock) return std::nullopt;
  return MountFolder(path, std::move(lock));
}

base::Result<std::string> MountFolder::make_inside(const std::string& name) const {
  std::string folder = path_ + "/" + name;
  // If something is mounted there, perhaps by a dead server, it would answer instead of the folder.
  if (!is_mounted(folder)) RR_TRY(base::make_private_directory(folder));
  return folder;
}

base::Status MountFolder::remove(const std::string& search_path) {
  RR_TRY(unmount_all(path_, search_path));
  return remove_unmounted(path_);
}

std::vector<std::string> remove_stale_mounts(const std::string& base,
                                             const std::string& search_path,
                                             const std::string& but_name) {
  std::vector<std::string> removed;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(mounts_folder(base), error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string path = entry->path().string();
    if (is_of_name(entry->path().filename().string(), but_name)) continue;
    base::Fd lock = lock_owner(path, O_CREAT);
    if (!lock) continue;
    MountFolder stale(path, std::move(lock));
    if (stale.remove(search_path)) removed.push_back(path);
  }
  return removed;
}

}  // namespace robustrun::bootstrap
