#include "bootstrap/store/store_files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/core/text.h"
#include "base/io/log.h"
#include "base/io/private_dir.h"
#include "bootstrap/store/block_store.h"
#include "bootstrap/store/limits.h"

namespace robustrun::bootstrap {
namespace {

constexpr std::string_view kAboutHead = "robustrun-blob 1\n";
constexpr int kClaimTries = 100;

std::string store_folder(const std::string& cache) { return cache + "/blocks"; }

std::uint64_t disk_bytes(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return 0;
  return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

// Whether the file still has its name, that is, it was not removed between open() and the lock.
bool is_linked(int fd, const std::string& path) {
  struct stat opened{};
  struct stat named{};
  return ::fstat(fd, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

// Returns false if a process has it open, or it may not be removed.
bool remove_blob(const std::string& folder) {
  if (!check_private_folder(folder)) return false;
  const std::string about = folder + "/about";
  const auto fd = open_store_file(about, O_RDWR | O_CREAT);
  if (!fd || ::flock(fd->get(), LOCK_EX | LOCK_NB) != 0 || !is_linked(fd->get(), about)) {
    return false;
  }
  // `about` goes last: a process that opens the blob meanwhile waits for its lock and then finds it
  // removed.
  ::unlink((folder + "/name").c_str());
  ::unlink((folder + "/checked").c_str());
  ::unlink((folder + "/sums").c_str());
  ::unlink((folder + "/data").c_str());
  ::unlink(about.c_str());
  ::rmdir(folder.c_str());
  return true;
}

bool has_length(const std::string& path, std::uint64_t length) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 &&
         static_cast<std::uint64_t>(status.st_size) == length;
}

// Whether another process holds a lock; true if that cannot be known.
bool is_locked(int fd) {
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) return true;
  ::flock(fd, LOCK_UN);
  return false;
}

// Fills in `blob` from its files. An error says why they cannot be used as they are.
base::Status look_at_stored(const std::string& cache, const std::string& folder, CacheEntry& blob) {
  struct stat status{};
  if (::lstat(folder.c_str(), &status) == 0) blob.used_s = status.st_mtim.tv_sec;
  RR_TRY(check_private_folder(folder));
  blob.bytes = disk_bytes(folder + "/data") + disk_bytes(folder + "/sums");
  // Opened for writing: some file systems require that for exclusive locks.
  const base::Fd about = RR_TRY(open_store_file(folder + "/about", O_RDWR));
  if (::fstat(about.get(), &status) == 0) blob.used_s = status.st_mtim.tv_sec;
  blob.in_use = is_locked(about.get());
  const StoredAbout stored = RR_TRY(bootstrap::read_about(cache, blob.name));
  blob.what = stored.source;
  blob.length = stored.length;
  // The process that has it open may just be creating the other files.
  if (blob.in_use) return {};
  if (has_length(folder + "/data", stored.length) &&
      has_length(folder + "/sums", blocks_of(stored.length) * kSumBytes)) {
    return {};
  }
  return base::fail(base::Errc::kCorrupt, "its files have wrong lengths");
}

}  // namespace

std::string about_text(const StoredAbout& about) {
  return fmt::format("{}length {}\nsource {}\n", kAboutHead, about.length,
                     about.source.substr(0, kPathBytesMax));
}

base::Result<StoredAbout> parse_about(std::string_view text) {
  const auto lines = base::split(text, '\n');
  if (text.starts_with(kAboutHead) && lines.size() == 4 && lines[1].starts_with("length ") &&
      lines[2].starts_with("source ") && lines[3].empty()) {
    const auto length = base::parse_int<std::uint64_t>(lines[1].substr(7));
    if (length && *length > 0 && *length <= kBlobBytesMax) {
      return StoredAbout{*length, std::string(lines[2].substr(7))};
    }
  }
  return base::fail(base::Errc::kCorrupt, "cannot use a blob's 'about': not of format 1");
}

base::Result<StoredAbout> read_about(const std::string& cache, const std::string& key) {
  if (!is_blob_key(key)) {
    return base::fail(
        base::Errc::kInvalidArgument,
        fmt::format("cannot use '{}': a blob's key has 32 digits", base::printable(key)));
  }
  const std::string path = fmt::format("{}/{}/about", store_folder(cache), key);
  RR_TRY(open_store_file(path, O_RDONLY));
  return parse_about(RR_TRY(base::read_file(path, kAboutBytesMax)));
}

base::Result<std::string> make_blob_folder(const std::string& cache, const std::string& key) {
  RR_TRY(base::make_directories(cache, 0700));
  RR_TRY(base::make_private_directory(store_folder(cache)));
  std::string folder = fmt::format("{}/{}", store_folder(cache), key);
  RR_TRY(base::make_private_directory(folder));
  return folder;
}

base::Status check_private_folder(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) {
    return base::fail_errno(fmt::format("cannot look at '{}'", path), errno);
  }
  if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid() || (status.st_mode & 077) != 0) {
    return base::fail(base::Errc::kPermission,
                      fmt::format("cannot use '{}': it is not private to this user", path));
  }
  return {};
}

base::Result<base::Fd> open_store_file(const std::string& path, int flags) {
  base::Fd fd(::open(path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600));
  struct stat status{};
  if (!fd || ::fstat(fd.get(), &status) != 0) {
    return base::fail_errno(fmt::format("cannot open '{}'", path), errno);
  }
  const bool is_open_to_others = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid() || is_open_to_others) {
    return base::fail(base::Errc::kPermission,
                      fmt::format("cannot use '{}': it is not private to this user", path));
  }
  return fd;
}

base::Result<base::Fd> claim_blob(const std::string& folder, const std::string& text,
                                  bool marks_use) {
  const std::string path = folder + "/about";
  for (int i = 0; i < kClaimTries; ++i) {
    RR_TRY(base::make_private_directory(folder));
    auto fd = open_store_file(path, O_RDWR | O_CREAT);
    // The folder may have been removed between these two lines.
    if (!fd && fd.error().os_errno == ENOENT) continue;
    if (!fd) return fd;
    if (::flock(fd->get(), LOCK_SH) != 0) {
      return base::fail_errno(fmt::format("cannot lock '{}'", path), errno);
    }
    if (!is_linked(fd->get(), path)) continue;
    if (!marks_use && base::read_file(path, kAboutBytesMax) == text) return fd;
    // All processes write the same text, because the key determines the length. The modification
    // time is the time of last use. If the disk has no space for it, the blob can still be used.
    const auto size = static_cast<off_t>(text.size());
    const bool is_written = ::pwrite(fd->get(), text.data(), text.size(), 0) == size &&
                            ::ftruncate(fd->get(), size) == 0;
    if (!is_written) RR_LOG(kDebug, ({}), "cannot write '{}'", path);
    return fd;
  }
  return base::fail(base::Errc::kUnavailable,
                    fmt::format("cannot use '{}': it keeps being removed", folder));
}

base::Result<std::vector<CacheEntry>> block_store_usage(const std::string& cache) {
  std::vector<CacheEntry> found;
  std::error_code error;
  std::filesystem::directory_iterator entry(store_folder(cache), error);
  if (!error) RR_TRY(check_private_folder(store_folder(cache)));
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    CacheEntry blob{.kind = CacheKind::kBlob};
    blob.name = entry->path().filename().string();
    if (!is_blob_key(blob.name)) continue;
    const auto sound = look_at_stored(cache, entry->path().string(), blob);
    if (!sound) blob.damage = sound.error().what;
    found.push_back(std::move(blob));
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return base::fail_errno(fmt::format("cannot list '{}'", store_folder(cache)), error.value());
  }
  std::ranges::sort(found, [](const CacheEntry& a, const CacheEntry& b) {
    return std::pair(a.used_s, a.name) < std::pair(b.used_s, b.name);
  });
  return found;
}

base::Result<std::vector<CacheEntry>> collect_blobs(const std::string& cache,
                                                    std::uint64_t keep_bytes, std::int64_t unused_s,
                                                    std::int64_t now_s) {
  std::vector<CacheEntry> blobs = RR_TRY(block_store_usage(cache));
  std::uint64_t left = 0;
  std::vector<CacheEntry> removed;
  for (const CacheEntry& each : blobs) left += each.bytes;
  for (CacheEntry& each : blobs) {
    const bool is_old = unused_s > 0 && now_s - each.used_s > unused_s;
    if (each.damage.empty() && !is_old && left <= keep_bytes) continue;
    if (each.in_use) continue;
    count_here(cache, each);
    if (!remove_blob(store_folder(cache) + "/" + each.name)) continue;
    left -= each.bytes;
    removed.push_back(std::move(each));
  }
  return removed;
}

}  // namespace robustrun::bootstrap
