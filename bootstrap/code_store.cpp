#include "bootstrap/code_store.h"

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
#include <utility>
#include <vector>

#include "base/core/clock.h"
#include "base/core/text.h"
#include "base/io/code_tree.h"
#include "base/io/log.h"
#include "base/io/private_dir.h"
#include "base/io/sha256.h"
#include "bootstrap/blob.h"
#include "bootstrap/code_pack.h"
#include "bootstrap/limits.h"

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

// A name that nobody else makes, beside the folder.
std::string beside(const std::string& folder, std::string_view what) {
  return fmt::format("{}.{}-{:016x}", folder, what, base::system_seed());
}

struct UnusedCode {
  std::string key;
  std::int64_t used_s = 0;
};

// Those of nobody, and what crashes left beside them.
void evict_code(const std::string& cache, const std::string& own, std::int64_t now_s) {
  std::error_code error;
  std::vector<UnusedCode> found;
  std::vector<fs::path> left;
  for (fs::directory_iterator entry(code_root(cache), error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    struct stat status{};
    if (::lstat(entry->path().c_str(), &status) != 0) continue;
    const std::chrono::seconds age(now_s - status.st_mtim.tv_sec);
    if (name.ends_with(kLockSuffix)) {
      const std::string key = name.substr(0, name.size() - kLockSuffix.size());
      const bool is_unused = is_blob_key(key) && key != own && age > kCodeUsedElsewhereFor;
      if (is_unused) found.push_back({key, status.st_mtim.tv_sec});
    } else if (!is_blob_key(name) && age > kLeftoverAge) {
      left.push_back(entry->path());
    }
  }
  for (const fs::path& path : left) fs::remove_all(path, error);
  std::ranges::sort(found, std::greater<>(), &UnusedCode::used_s);
  for (std::size_t i = kCodeFoldersKept; i < found.size(); ++i) {
    const std::string folder = code_root(cache) + "/" + found[i].key;
    const std::string lock = folder + std::string(kLockSuffix);
    const base::Fd fd(::open(lock.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (!fd || ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) continue;
    const std::string away = beside(folder, "old");
    if (::rename(folder.c_str(), away.c_str()) == 0) fs::remove_all(away, error);
    ::unlink(lock.c_str());
  }
}

// Shared by all who use the folder. Its time says when the last one came.
base::Fd lock_code(const std::string& folder) {
  const std::string path = folder + std::string(kLockSuffix);
  for (int tries = 0; tries < kCodeLockTries; ++tries) {
    base::Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd) return {};
    if (::flock(fd.get(), LOCK_SH | LOCK_NB) != 0) continue;
    struct stat held{}, named{};
    const bool is_there = ::fstat(fd.get(), &held) == 0 && ::stat(path.c_str(), &named) == 0 &&
                          held.st_ino == named.st_ino;
    if (!is_there) continue;  // it was being removed
    static_cast<void>(::futimens(fd.get(), nullptr));
    return fd;
  }
  return {};
}

Result<std::string> read_pack(const std::string& pack, const std::string& digest) {
  std::string bytes = RR_TRY(base::read_file(pack, kCodePackBytesMax));
  if (base::to_hex(base::sha256(bytes)) == digest) return bytes;
  return base::fail(Errc::kCorrupt, pack + " is not the code that the run was started with");
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
    const Status whole = S_ISDIR(status.st_mode) && status.st_uid == ::geteuid()
                             ? base::check_code(folder, RR_TRY(code_manifest(bytes)))
                             : base::fail(Errc::kPermission, folder + " is not our folder");
    if (whole) return lock;
    // Others may be at work in it.
    RR_LOG(kWarn, {}, "{}; it is made anew", whole.error().what);
    static_cast<void>(::rename(folder.c_str(), beside(folder, "old").c_str()));
  }
  const std::string fresh = beside(folder, "new");
  Status made = unpack_code(files, fresh);
  if (made && ::rename(fresh.c_str(), folder.c_str()) != 0 && errno != EEXIST &&
      errno != ENOTEMPTY) {
    made = base::fail_errno("cannot make the folder " + folder, errno);
  }
  std::error_code error;
  fs::remove_all(fresh, error);  // another one was quicker, or it failed
  if (!made) return std::unexpected(made.error());
  evict_code(cache, code_key(digest), now_s);
  return lock;
}

}  // namespace robustrun::bootstrap
