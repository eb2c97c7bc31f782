#include "bootstrap/store/code_store.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "base/core/clock.h"
#include "base/core/text.h"
#include "base/io/code_tree.h"
#include "base/io/log.h"
#include "base/io/private_dir.h"
#include "base/io/sha256.h"
#include "bootstrap/store/blob.h"
#include "bootstrap/store/code_pack.h"
#include "bootstrap/store/limits.h"
#include "bootstrap/store/store_files.h"

namespace robustrun::bootstrap {
namespace {

namespace fs = std::filesystem;
using base::Errc;
using base::Result;
using base::Status;

constexpr std::size_t kCodeKeyDigits = 32;
constexpr int kCodeLockTries = 3;
constexpr std::string_view kLockSuffix = ".lock";

std::string code_root(const std::string& cache) { return cache + "/code"; }

// A unique name beside the folder.
std::string beside(const std::string& folder, std::string_view what) {
  return fmt::format("{}.{}-{:016x}", folder, what, base::system_seed());
}

std::string lock_of(const std::string& cache, const std::string& key) {
  return fmt::format("{}/{}{}", code_root(cache), key, kLockSuffix);
}

// Takes the lock if no process uses the code. Returns an invalid descriptor if one does, or if that
// cannot be known.
base::Fd lock_unused(const std::string& cache, const std::string& key) {
  base::Fd fd(::open(lock_of(cache, key).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) fd.reset();
  return fd;
}

std::uint64_t bytes_in(const std::string& folder) {
  std::error_code error;
  std::uint64_t bytes = 0;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    struct stat status{};
    if (::lstat(entry->path().c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
      bytes += static_cast<std::uint64_t>(status.st_size);
    }
  }
  return bytes;
}

// Names of everything in the code folder, if that is private.
std::vector<std::string> names_of_code(const std::string& cache) {
  std::vector<std::string> names;
  if (!check_private_folder(code_root(cache))) return names;
  std::error_code error;
  for (fs::directory_iterator entry(code_root(cache), error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  return names;
}

void remove_code_leftovers(const std::string& cache, std::int64_t now_s) {
  for (const std::string& name : names_of_code(cache)) {
    const std::string path = code_root(cache) + "/" + name;
    struct stat status{};
    if (is_blob_key(name) || name.ends_with(kLockSuffix)) continue;
    if (::lstat(path.c_str(), &status) != 0) continue;
    std::error_code error;
    if (std::chrono::seconds(now_s - status.st_mtim.tv_sec) > kLeftoverAge) {
      fs::remove_all(path, error);
    }
  }
}

bool remove_code(const std::string& cache, const std::string& key) {
  const base::Fd lock = lock_unused(cache, key);
  if (!lock) return false;
  const std::string folder = code_root(cache) + "/" + key;
  const std::string away = beside(folder, "old");
  std::error_code error;
  if (::rename(folder.c_str(), away.c_str()) == 0) fs::remove_all(away, error);
  ::unlink(lock_of(cache, key).c_str());
  return true;
}

bool has_code_folder(const std::string& cache, const std::string& key) {
  struct stat status{};
  return ::lstat((code_root(cache) + "/" + key).c_str(), &status) == 0;
}

CacheEntry look_at_code(const std::string& cache, const std::string& key, std::int64_t now_s) {
  CacheEntry code{.kind = CacheKind::kCode};
  code.name = key;
  struct stat status{};
  if (::lstat((code_root(cache) + "/" + key).c_str(), &status) == 0) {
    code.used_s = status.st_mtim.tv_sec;
    const bool is_ours = S_ISDIR(status.st_mode) && status.st_uid == ::geteuid();
    if (!is_ours) code.damage = "not a folder of this user";
  }
  // Without a lock file, the code was used where locks do not work, so its users are unknown.
  const bool has_lock = ::lstat(lock_of(cache, key).c_str(), &status) == 0;
  if (has_lock) code.used_s = status.st_mtim.tv_sec;
  const bool is_recent = std::chrono::seconds(now_s - code.used_s) <= kCodeUsedElsewhereFor;
  code.in_use = is_recent || (has_lock && !lock_unused(cache, key));
  return code;
}

// The last used first, without sizes. Some entries are only a lock file.
std::vector<CacheEntry> look_at_codes(const std::string& cache, std::int64_t now_s) {
  std::set<std::string> keys;
  for (std::string name : names_of_code(cache)) {
    if (name.ends_with(kLockSuffix)) name.resize(name.size() - kLockSuffix.size());
    if (is_blob_key(name)) keys.insert(std::move(name));
  }
  std::vector<CacheEntry> all;
  for (const std::string& key : keys) all.push_back(look_at_code(cache, key, now_s));
  std::ranges::stable_sort(all, std::greater<>(), &CacheEntry::used_s);
  return all;
}

std::vector<CacheEntry> evict_code(const std::string& cache, const std::string& own,
                                   std::int64_t unused_s, std::int64_t now_s) {
  remove_code_leftovers(cache, now_s);
  std::vector<CacheEntry> removed;
  std::size_t kept = 0;
  for (CacheEntry& code : look_at_codes(cache, now_s)) {
    if (code.name == own || code.in_use || !code.damage.empty()) continue;
    const bool has_folder = has_code_folder(cache, code.name);
    const bool is_old = unused_s > 0 && now_s - code.used_s > unused_s;
    if (has_folder && !is_old && ++kept <= kCodeFoldersKept) continue;
    code.bytes = bytes_in(code_root(cache) + "/" + code.name);
    if (remove_code(cache, code.name) && has_folder) removed.push_back(std::move(code));
  }
  return removed;
}

// Takes the lock that all users of the folder share. The lock file's time is that of the last use.
base::Fd lock_code(const std::string& folder) {
  const std::string path = folder + std::string(kLockSuffix);
  for (int tries = 0; tries < kCodeLockTries; ++tries) {
    base::Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd) return {};
    // Waits while another process checks or removes the folder.
    if (::flock(fd.get(), LOCK_SH) != 0) return {};
    struct stat held{}, named{};
    const bool is_there = ::fstat(fd.get(), &held) == 0 && ::stat(path.c_str(), &named) == 0 &&
                          held.st_ino == named.st_ino;
    if (!is_there) continue;  // removed meanwhile
    static_cast<void>(::futimens(fd.get(), nullptr));
    return fd;
  }
  return {};
}

Result<std::string> read_pack(const std::string& pack, const std::string& digest) {
  std::string bytes = RR_TRY(base::read_file(pack, kCodePackBytesMax));
  if (base::to_hex(base::sha256(bytes)) == digest) return bytes;
  return base::fail(Errc::kCorrupt, pack + " is not the code that this run was started with");
}

}  // namespace

std::string code_key(const std::string& digest) { return digest.substr(0, kCodeKeyDigits); }
std::string code_folder(const std::string& cache, const std::string& digest) {
  return code_root(cache) + "/" + code_key(digest);
}

Result<base::Fd> open_code(const std::string& cache, const std::string& digest,
                           const std::string& pack, std::int64_t now_s) {
  RR_TRY(base::make_private_directory(code_root(cache)));
  const std::string folder = code_folder(cache, digest);
  base::Fd lock = lock_code(folder);
  const std::string bytes = RR_TRY(read_pack(pack, digest));
  const std::vector<PackedFile> files = RR_TRY(parse_code_pack(bytes));
  struct stat status{};
  if (::lstat(folder.c_str(), &status) == 0) {
    const Status whole =
        S_ISDIR(status.st_mode) && status.st_uid == ::geteuid()
            ? base::check_code(folder, RR_TRY(code_manifest(bytes)))
            : base::fail(Errc::kPermission, folder + " does not belong to this user");
    if (whole) return lock;
    // Other workers may be using it.
    RR_LOG(kWarn, {}, "{}; it is unpacked again", whole.error().what);
    const std::string old = beside(folder, "old");
    // Its age as a leftover counts from now.
    if (::rename(folder.c_str(), old.c_str()) == 0) {
      static_cast<void>(::utimensat(AT_FDCWD, old.c_str(), nullptr, AT_SYMLINK_NOFOLLOW));
    }
  }
  const std::string fresh = beside(folder, "new");
  Status made = unpack_code(files, fresh);
  if (made && ::rename(fresh.c_str(), folder.c_str()) != 0 && errno != EEXIST &&
      errno != ENOTEMPTY) {
    made = base::fail_errno("cannot make the folder " + folder, errno);
  }
  std::error_code error;
  fs::remove_all(fresh, error);  // another process was faster, or unpacking failed
  if (!made) return std::unexpected(made.error());
  evict_code(cache, code_key(digest), 0, now_s);
  return lock;
}

std::vector<CacheEntry> list_code(const std::string& cache, std::int64_t now_s) {
  std::vector<CacheEntry> all = look_at_codes(cache, now_s);
  std::erase_if(all, [&](const CacheEntry& code) { return !has_code_folder(cache, code.name); });
  for (CacheEntry& code : all) {
    if (code.damage.empty()) code.bytes = bytes_in(code_root(cache) + "/" + code.name);
  }
  return all;
}

std::vector<CacheEntry> collect_code(const std::string& cache, std::int64_t unused_s,
                                     std::int64_t now_s) {
  return evict_code(cache, "", unused_s, now_s);
}

}  // namespace robustrun::bootstrap
