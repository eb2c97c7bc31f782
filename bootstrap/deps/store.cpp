#include "bootstrap/deps/store.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/core/hash.h"
#include "base/core/text.h"
#include "base/io/fd.h"
#include "base/io/private_dir.h"
#include "bootstrap/image/file_system.h"
#include "bootstrap/store/limits.h"

namespace robustrun::bootstrap {
namespace {

using base::Errc;
using base::Result;

constexpr std::string_view kSnapshotEnding = ".sqfs";
constexpr std::string_view kAboutEnding = ".about";
constexpr std::string_view kUnfinishedEnding = ".unfinished";

std::string about_path(const std::string& cache, const std::string& key) {
  return snapshot_folder(cache) + "/" + key + std::string(kAboutEnding);
}

// Status of a regular file of this user that no other user may write; nullopt otherwise.
std::optional<struct stat> own_file(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const bool is_open = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if (status.st_uid != ::geteuid() || is_open) return std::nullopt;
  return status;
}

Result<std::string> bytes_at(int fd, std::uint64_t offset, std::size_t length) {
  std::string bytes(length, '\0');
  std::size_t filled = 0;
  while (filled < length) {
    const ssize_t got =
        ::pread(fd, bytes.data() + filled, length - filled, static_cast<off_t>(offset + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::fail_errno("cannot read it", errno);
    if (got == 0) return base::fail(Errc::kCorrupt, "it is too short");
    filled += static_cast<std::size_t>(got);
  }
  return bytes;
}

Result<std::uint64_t> sum_of_ends(int fd, std::uint64_t bytes) {
  const std::size_t length = std::min<std::uint64_t>(bytes, kSnapshotEndBytes);
  const std::string first = RR_TRY(bytes_at(fd, 0, length));
  const std::string last = RR_TRY(bytes_at(fd, bytes - length, length));
  return base::hash64(last, base::hash64(first));
}

// Hashes each MiB with the hash of those before it as its seed.
Result<std::uint64_t> sum_of_all(int fd, std::uint64_t bytes) {
  std::uint64_t sum = 0;
  for (std::uint64_t at = 0; at < bytes; at += kPieceBytes) {
    const auto length = static_cast<std::size_t>(std::min(kPieceBytes, bytes - at));
    sum = base::hash64(RR_TRY(bytes_at(fd, at, length)), sum);
  }
  return sum;
}

// Why the file does not match its about file; empty: it does.
std::string damage_of(const std::string& path, const Snapshot& snapshot) {
  const auto status = own_file(path);
  if (!status) return "it is missing or not private to this user";
  if (static_cast<std::uint64_t>(status->st_size) != snapshot.bytes) {
    return fmt::format("it has {} bytes instead of {}", status->st_size, snapshot.bytes);
  }
  const auto file = base::open_regular(path, base::Links::kRefuse);
  if (!file) return "it cannot be opened";
  const auto ends = sum_of_ends(file->get(), snapshot.bytes);
  if (!ends) return ends.error().what;
  return *ends == snapshot.ends ? "" : "its bytes have changed since it was made";
}

Result<Snapshot> read_about(const std::string& path) {
  if (!own_file(path)) return base::fail(Errc::kNotFound, "it has no about file of this user");
  return decode_about(RR_TRY(base::read_file(path, kSnapshotAboutBytesMax)));
}

base::Status sync_folder(const std::string& path) {
  const base::Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder && ::fsync(folder.get()) == 0) return {};
  return base::fail_errno("cannot sync " + path, errno);
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end;
       !error && entry != end && names.size() < kSnapshotsListedMax; entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

bool is_locked(const std::string& path) {
  const auto file = base::open_regular(path, base::Links::kRefuse);
  return file && ::flock(file->get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

bool is_snapshot_key(std::string_view text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::string encode_about(const Snapshot& snapshot) {
  std::string text = fmt::format(
      "robustrun-deps 1\nkey {}\nid {}\nbytes {}\nsum {:016x}\nends {:016x}\nmade {}\npinned {}\n"
      "what {}\n",
      snapshot.key, snapshot.id, snapshot.bytes, snapshot.sum, snapshot.ends, snapshot.made_s,
      snapshot.pinned ? 1 : 0, base::printable(snapshot.what));
  return text + fmt::format("end {:016x}\n", base::hash64(text));
}

Result<Snapshot> decode_about(std::string_view text) {
  const auto corrupt = [] { return base::fail(Errc::kCorrupt, "its about file is damaged"); };
  const auto end = text.rfind("end ");
  if (end == std::string_view::npos ||
      text.substr(end) != fmt::format("end {:016x}\n", base::hash64(text.substr(0, end)))) {
    return corrupt();
  }
  const auto lines = base::split(text.substr(0, end), '\n');
  constexpr std::string_view kNames[] = {"key ",  "id ",   "bytes ",  "sum ",
                                         "ends ", "made ", "pinned ", "what "};
  if (lines.size() != std::size(kNames) + 2 || lines[0] != "robustrun-deps 1") return corrupt();
  std::vector<std::string_view> values;
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (!lines[i + 1].starts_with(kNames[i])) return corrupt();
    values.push_back(lines[i + 1].substr(kNames[i].size()));
  }
  const auto hex = [](std::string_view word) {
    std::uint64_t value = 0;
    const auto parsed = std::from_chars(word.data(), word.data() + word.size(), value, 16);
    return parsed.ptr == word.data() + word.size() ? std::optional(value) : std::nullopt;
  };
  const auto bytes = base::parse_int<std::uint64_t>(values[2]);
  const auto sum = hex(values[3]), ends = hex(values[4]);
  const auto made = base::parse_int<std::int64_t>(values[5]);
  const bool is_id = !values[1].empty() && values[1].find('/') == std::string_view::npos;
  if (!bytes || !sum || !ends || !made || !is_id || !is_snapshot_key(values[0])) return corrupt();
  return Snapshot{std::string(values[0]),
                  std::string(values[1]),
                  std::string(values[7]),
                  *bytes,
                  *sum,
                  *ends,
                  *made,
                  values[6] == "1"};
}

std::string snapshot_folder(const std::string& cache) { return cache + "/deps"; }
std::string snapshot_path(const std::string& cache, const std::string& key) {
  return snapshot_folder(cache) + "/" + key + std::string(kSnapshotEnding);
}
std::string lease_path(const std::string& cache, const std::string& key) {
  return snapshot_folder(cache) + "/" + key + ".lease";
}
std::string unfinished_path(const std::string& cache, const std::string& key,
                            const std::string& id) {
  return snapshot_folder(cache) + "/" + key + "." + id + std::string(kUnfinishedEnding);
}

base::Status make_snapshot_folder(const std::string& cache) {
  RR_TRY(base::make_directories(cache, 0700));
  return base::make_private_directory(snapshot_folder(cache));
}

std::optional<Snapshot> find_snapshot(const std::string& cache, const std::string& key) {
  auto snapshot = read_about(about_path(cache, key));
  if (!snapshot || snapshot->key != key) return std::nullopt;
  if (!damage_of(snapshot_path(cache, key), *snapshot).empty()) return std::nullopt;
  return *std::move(snapshot);
}

Result<Snapshot> finish_snapshot(const std::string& cache, Snapshot snapshot) {
  const std::string unfinished = unfinished_path(cache, snapshot.key, snapshot.id);
  const base::Fd file = RR_TRY(base::open_regular(unfinished, base::Links::kRefuse));
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) {
    return base::fail_errno("cannot open " + unfinished, errno);
  }
  if (::fchmod(file.get(), 0600) != 0 || ::fsync(file.get()) != 0) {
    return base::fail_errno("cannot sync " + unfinished, errno);
  }
  snapshot.bytes = static_cast<std::uint64_t>(status.st_size);
  snapshot.sum = RR_TRY(sum_of_all(file.get(), snapshot.bytes));
  snapshot.ends = RR_TRY(sum_of_ends(file.get(), snapshot.bytes));
  // The about file first: a file that does not match it does not count, whichever of the two is
  // old.
  RR_TRY(
      base::write_file_atomically(about_path(cache, snapshot.key), encode_about(snapshot), 0600));
  const std::string path = snapshot_path(cache, snapshot.key);
  if (std::rename(unfinished.c_str(), path.c_str()) != 0) {
    return base::fail_errno("cannot rename " + unfinished, errno);
  }
  RR_TRY(sync_folder(snapshot_folder(cache)));
  remove_unfinished(cache, snapshot.key);
  return snapshot;
}

void remove_unfinished(const std::string& cache, const std::string& key) {
  for (const std::string& name : names_in(snapshot_folder(cache))) {
    if (!name.starts_with(key + ".") || !name.ends_with(kUnfinishedEnding)) continue;
    ::unlink((snapshot_folder(cache) + "/" + name).c_str());
  }
}

base::Status verify_snapshot(const std::string& cache, const Snapshot& snapshot) {
  const std::string path = snapshot_path(cache, snapshot.key);
  if (const std::string damage = damage_of(path, snapshot); !damage.empty()) {
    return base::fail(Errc::kCorrupt, damage);
  }
  const base::Fd file = RR_TRY(base::open_regular(path, base::Links::kRefuse));
  if (RR_TRY(sum_of_all(file.get(), snapshot.bytes)) == snapshot.sum) return {};
  return base::fail(Errc::kCorrupt, "its bytes have changed since it was made");
}

base::Fd hold_snapshot(const std::string& cache, const std::string& key) {
  auto file = base::open_regular(about_path(cache, key), base::Links::kRefuse);
  if (!file || ::flock(file->get(), LOCK_SH | LOCK_NB) != 0) return {};
  return *std::move(file);
}

void touch_snapshot(const std::string& cache, const std::string& key) {
  static_cast<void>(
      ::utimensat(AT_FDCWD, about_path(cache, key).c_str(), nullptr, AT_SYMLINK_NOFOLLOW));
}

std::vector<CacheEntry> list_snapshots(const std::string& cache, std::int64_t now_s) {
  const std::string folder = snapshot_folder(cache);
  const bool is_shared = file_system_of(folder) == FileSystem::kShared;
  std::vector<CacheEntry> all;
  for (const std::string& name : names_in(folder)) {
    if (!name.ends_with(kSnapshotEnding)) continue;
    CacheEntry stored{.kind = CacheKind::kSnapshot};
    const std::string key = name.substr(0, name.size() - kSnapshotEnding.size());
    auto about = read_about(about_path(cache, key));
    stored.name = key;
    stored.damage = about ? damage_of(folder + "/" + name, *about) : about.error().what;
    if (about) {
      stored.what = about->what;
      stored.made_s = about->made_s;
    }
    struct stat status{};
    if (::lstat(about_path(cache, key).c_str(), &status) == 0) stored.used_s = status.st_mtime;
    struct stat file{};
    if (::lstat((folder + "/" + name).c_str(), &file) == 0) {
      stored.bytes = static_cast<std::uint64_t>(file.st_size);
      stored.used_s = std::max<std::int64_t>(stored.used_s, file.st_mtime);
    }
    stored.in_use = is_locked(about_path(cache, key)) ||
                    (is_shared && now_s - stored.used_s < kUsedElsewhereFor.count());
    all.push_back(std::move(stored));
  }
  std::ranges::stable_sort(
      all, [](const CacheEntry& a, const CacheEntry& b) { return a.used_s > b.used_s; });
  return all;
}

bool remove_snapshot(const std::string& cache, const std::string& key) {
  const std::string about = about_path(cache, key);
  if (is_locked(about)) return false;
  ::unlink(about.c_str());  // without it the other file does not count
  ::unlink(snapshot_path(cache, key).c_str());
  return true;
}

SnapshotsRemoved collect_snapshots(const std::string& cache, std::uint64_t bytes_max,
                                   std::int64_t unused_s, std::int64_t now_s) {
  const std::string folder = snapshot_folder(cache);
  for (const std::string& name : names_in(folder)) {
    struct stat status{};
    const std::string path = folder + "/" + name;
    if (!name.ends_with(kUnfinishedEnding) || ::lstat(path.c_str(), &status) != 0) continue;
    const std::int64_t day = std::chrono::seconds(kLeftoverAge).count();
    if (now_s - status.st_mtime > day) ::unlink(path.c_str());
  }
  SnapshotsRemoved result;
  std::vector<CacheEntry> all = list_snapshots(cache, now_s);
  for (const CacheEntry& stored : all) result.bytes_left += stored.bytes;
  for (auto stored = all.rbegin(); stored != all.rend(); ++stored) {
    const bool is_old = unused_s > 0 && now_s - stored->used_s > unused_s;
    if (stored->damage.empty() && !is_old && result.bytes_left <= bytes_max) continue;
    if (stored->in_use || !remove_snapshot(cache, stored->name)) continue;
    result.bytes_left -= stored->bytes;
    result.removed.push_back(*stored);
  }
  return result;
}

}  // namespace robustrun::bootstrap
