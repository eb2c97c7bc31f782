#include "checkpoint/disk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

#include "base/io/fd.h"
#include "checkpoint/limits.h"

namespace robustrun::checkpoint {
namespace {

using base::Fd;
using base::Result;
using base::Status;

bool aligned(std::uint64_t offset, std::string_view bytes) {
  return offset % kAlignment == 0 && bytes.size() % kAlignment == 0 &&
         reinterpret_cast<std::uintptr_t>(bytes.data()) % kAlignment == 0;
}

Status write_at(int fd, std::uint64_t offset, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return base::fail_errno("cannot write " + path, errno);
    if (wrote == 0) return base::fail_errno("cannot write " + path, EIO);
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
    offset += static_cast<std::uint64_t>(wrote);
  }
  return {};
}

class PosixFile final : public OutputFile {
 public:
  PosixFile(std::string path, Fd buffered, Fd direct)
      : path_(std::move(path)), buffered_(std::move(buffered)), direct_(std::move(direct)) {}

  // A file system may take O_DIRECT when a file is opened and refuse it with EINVAL at the first
  // write: from then on all goes through the page cache.
  Status write(std::uint64_t offset, std::string_view bytes) override {
    if (direct_ && !refused_ && aligned(offset, bytes)) {
      Status status = write_at(direct_.get(), offset, bytes, path_);
      if (status || status.error().os_errno != EINVAL) return status;
      refused_ = true;
    }
    return write_at(buffered_.get(), offset, bytes, path_);
  }

  Status sync() override {
    if (::fsync(buffered_.get()) != 0) return base::fail_errno("cannot sync " + path_, errno);
    return {};
  }

 private:
  std::string path_;
  Fd buffered_;
  Fd direct_;
  std::atomic<bool> refused_ = false;
};

class PosixDisk final : public Disk {
 public:
  Result<std::unique_ptr<OutputFile>> create(const std::string& path,
                                             std::uint64_t bytes) override {
    Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file) return base::fail_errno("cannot make " + path, errno);
    // Reserved now: no write behind this can run out of space (or, in /dev/shm, end in SIGBUS).
    if (bytes > 0) {
      const int cause = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
      if (cause != 0 && cause != EOPNOTSUPP && cause != EINVAL) {
        ::unlink(path.c_str());
        return base::fail_errno("cannot reserve " + std::to_string(bytes) + " bytes for " + path,
                                cause);
      }
    }
    Fd direct;
    if (bytes >= kBlockBytes) direct = Fd(::open(path.c_str(), O_WRONLY | O_DIRECT | O_CLOEXEC));
    return std::make_unique<PosixFile>(path, std::move(file), std::move(direct));
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
};

}  // namespace

Disk& posix_disk() {
  static PosixDisk disk;
  return disk;
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

Status replace_file(Disk& disk, const std::string& path, std::string_view bytes) {
  const std::string temporary = path + ".tmp";
  if (auto removed = disk.remove(temporary); !removed && removed.error().os_errno != ENOENT) {
    return removed;
  }
  const auto file = RR_TRY(disk.create(temporary, bytes.size()));
  RR_TRY(file->write(0, bytes));
  RR_TRY(file->sync());
  RR_TRY(disk.rename(temporary, path));
  return disk.sync_folder(folder_of(path));
}

}  // namespace robustrun::checkpoint
