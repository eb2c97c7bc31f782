#include "checkpoint/disk/disk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/core/clock.h"
#include "base/io/fd.h"
#include "checkpoint/disk/ring.h"
#include "checkpoint/format/limits.h"

namespace robustrun::checkpoint {
namespace {

using base::Fd;
using base::Result;
using base::Status;

// The failure, and what the user can do about it.
std::unexpected<base::Error> refused_write(const std::string& what, int cause) {
  auto failure = base::fail_errno(what, cause);
  if (cause == ENOSPC || cause == EDQUOT) {
    failure.error().what += "; remove old checkpoints there, or save elsewhere";
  } else if (cause == EIO) {
    failure.error().what += "; check that disk, and leave it out until it is repaired";
  }
  return failure;
}

bool aligned(std::uint64_t offset, const char* memory, std::size_t bytes) {
  return offset % kAlignment == 0 && bytes % kAlignment == 0 &&
         reinterpret_cast<std::uintptr_t>(memory) % kAlignment == 0;
}

// Transfers through the thread's ring in several requests at once, or else in one. Returns what
// pwrite and pread return.
ssize_t write_some(int fd, std::uint64_t offset, std::string_view bytes, Ring* ring) {
  if (ring == nullptr) {
    return ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
  }
  const ssize_t wrote = ring->write(fd, offset, bytes.data(), bytes.size());
  if (wrote < 0) errno = static_cast<int>(-wrote);
  return wrote;
}

ssize_t read_some(int fd, std::uint64_t offset, std::span<char> into, Ring* ring) {
  if (ring == nullptr) return ::pread(fd, into.data(), into.size(), static_cast<off_t>(offset));
  const ssize_t got = ring->read(fd, offset, into.data(), into.size());
  if (got < 0) errno = static_cast<int>(-got);
  return got;
}

Status write_at(int fd, std::uint64_t offset, std::string_view bytes, const std::string& path,
                Ring* ring) {
  while (!bytes.empty()) {
    const ssize_t wrote = write_some(fd, offset, bytes, ring);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return refused_write("cannot write " + path, errno);
    if (wrote == 0) return refused_write("cannot write " + path, EIO);
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
    offset += static_cast<std::uint64_t>(wrote);
  }
  return {};
}

// EIO: the medium cannot deliver data that may well be there.
std::unexpected<base::Error> read_failure(const std::string& what, int cause) {
  auto failure = base::fail_errno(what, cause);
  if (cause == EIO) failure.error().code = base::Errc::kUnavailable;
  if (cause == ENOENT) failure.error().code = base::Errc::kNotFound;
  return failure;
}

Status read_at(int fd, std::uint64_t offset, std::span<char> into, const std::string& path,
               Ring* ring) {
  while (!into.empty()) {
    const ssize_t got = read_some(fd, offset, into, ring);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return read_failure("cannot read " + path, errno);
    if (got == 0) {
      return base::fail(base::Errc::kCorrupt, "cannot read " + path + ": it is cut off");
    }
    into = into.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return {};
}

// Reserves space and returns 0 or an errno. posix_fallocate() is no alternative: if the file system
// cannot reserve, it writes a byte into each block.
int reserve(int fd, std::uint64_t bytes) {
  while (::fallocate(fd, 0, 0, static_cast<off_t>(bytes)) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

bool wants_ring(IoWay way) { return way == IoWay::kRing; }

class PosixFile final : public OutputFile {
 public:
  PosixFile(std::string path, Fd buffered, Fd direct, bool ring)
      : path_(std::move(path)),
        buffered_(std::move(buffered)),
        direct_(std::move(direct)),
        ring_(ring) {}

  // A file system may accept O_DIRECT at open and refuse it with EINVAL at the first write. From
  // then on everything goes through the page cache.
  Status write(std::uint64_t offset, std::string_view bytes) override {
    if (direct_ && !refused_ && aligned(offset, bytes.data(), bytes.size())) {
      Status status =
          write_at(direct_.get(), offset, bytes, path_, ring_ ? Ring::of_this_thread() : nullptr);
      if (status || status.error().os_errno != EINVAL) return status;
      refused_ = true;
    }
    return write_at(buffered_.get(), offset, bytes, path_, nullptr);
  }

  Status sync() override {
    if (::fsync(buffered_.get()) != 0) return refused_write("cannot sync " + path_, errno);
    return {};
  }

 private:
  std::string path_;
  Fd buffered_;
  Fd direct_;
  bool ring_;
  std::atomic<bool> refused_ = false;
};

class PosixDisk final : public Disk {
 public:
  explicit PosixDisk(IoWay way) : way_(way) {}

  Result<std::unique_ptr<OutputFile>> create(const std::string& path,
                                             std::uint64_t bytes) override {
    Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file) return refused_write("cannot make " + path, errno);
    // Reserved now, so that no later write runs out of space (or, in /dev/shm, ends in SIGBUS).
    if (bytes > 0) {
      const int cause = reserve(file.get(), bytes);
      if (cause != 0 && cause != EOPNOTSUPP && cause != EINVAL) {
        ::unlink(path.c_str());
        return refused_write("cannot reserve " + std::to_string(bytes) + " bytes for " + path,
                             cause);
      }
    }
    Fd direct;
    if (bytes >= kBlockBytes && way_ != IoWay::kBuffered) {
      direct = Fd(::open(path.c_str(), O_WRONLY | O_DIRECT | O_CLOEXEC));
    }
    return std::make_unique<PosixFile>(path, std::move(file), std::move(direct), wants_ring(way_));
  }

  Status rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) == 0) return {};
    return base::fail_errno("cannot rename " + from + " to " + to, errno);
  }

  Status remove(const std::string& path) override {
    if (::remove(path.c_str()) == 0) return {};
    return base::fail_errno("cannot remove " + path, errno);
  }

  Status make_folder(const std::string& path) override {
    if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
    return base::fail_errno("cannot make " + path, errno);
  }

  Status sync_folder(const std::string& path) override {
    const Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder) return base::fail_errno("cannot open " + path, errno);
    if (::fsync(folder.get()) == 0) return {};
    return base::fail_errno("cannot sync " + path, errno);
  }

 private:
  IoWay way_;
};

}  // namespace

Disk& posix_disk(IoWay way) {
  static std::array<PosixDisk, 4> disks{PosixDisk(IoWay::kAuto), PosixDisk(IoWay::kRing),
                                        PosixDisk(IoWay::kDirect), PosixDisk(IoWay::kBuffered)};
  return disks[static_cast<std::size_t>(way)];
}

Result<std::unique_ptr<InputFile>> InputFile::open(const std::string& path, std::uint64_t bytes,
                                                   IoWay way) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) {
    return read_failure("cannot open " + path, errno);
  }
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return read_failure("cannot look at " + path, errno);
  if (!S_ISREG(status.st_mode) || static_cast<std::uint64_t>(status.st_size) != bytes) {
    return base::fail(base::Errc::kCorrupt, path + " has " + std::to_string(status.st_size) +
                                                " bytes instead of " + std::to_string(bytes));
  }
  Fd direct;
  if (bytes >= kBlockBytes && way != IoWay::kBuffered) {
    direct = Fd(::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
  }
  return std::unique_ptr<InputFile>(
      new InputFile(path, std::move(file), std::move(direct), wants_ring(way)));
}

Status InputFile::read(std::uint64_t offset, std::span<char> into) {
  if (direct_ && !refused_ && aligned(offset, into.data(), into.size())) {
    Status status =
        read_at(direct_.get(), offset, into, path_, ring_ ? Ring::of_this_thread() : nullptr);
    if (status || status.error().os_errno != EINVAL) return status;
    refused_ = true;
  }
  return read_at(buffered_.get(), offset, into, path_, nullptr);
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

namespace {

Status write_and_rename(Disk& disk, const std::string& temporary, const std::string& path,
                        std::string_view bytes) {
  const auto file = RR_TRY(disk.create(temporary, bytes.size()));
  RR_TRY(file->write(0, bytes));
  RR_TRY(file->sync());
  RR_TRY(disk.rename(temporary, path));
  return disk.sync_folder(folder_of(path));
}

}  // namespace

Status replace_file(Disk& disk, const std::string& path, std::string_view bytes) {
  const std::string temporary = path + ".tmp";
  if (auto removed = disk.remove(temporary); !removed && removed.error().os_errno != ENOENT) {
    return removed;
  }
  return write_and_rename(disk, temporary, path, bytes);
}

Status replace_shared_file(Disk& disk, const std::string& path, std::string_view bytes) {
  return write_and_rename(disk, path + ".tmp-" + std::to_string(base::system_seed()), path, bytes);
}

Result<std::vector<std::string>> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  const int cause = error.value();  // ESTALE: another machine has removed it (NFS)
  if (cause != 0 && cause != ENOENT && cause != ENOTDIR && cause != ESTALE) {
    return base::fail_errno("cannot list " + folder, cause);
  }
  return names;
}

}  // namespace robustrun::checkpoint
