#pragma once
// Every change to a disk, except to the lock file, goes through this interface, so that tests can
// make it fail, stop, or lose what was not synced. `posix_disk()` is the real one. Calls for
// different files may come from several threads at once.
//
// Errors carry the errno (ENOSPC, EIO) and name the path.

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::checkpoint {

// How data bypasses the page cache. kAuto and kDirect: pread and pwrite with O_DIRECT. kRing:
// io_uring; if the machine refuses that, as kDirect. If the file system refuses O_DIRECT (tmpfs;
// EINVAL at open or at the first transfer), the page cache is used.
enum class IoWay : std::uint8_t { kAuto, kRing, kDirect, kBuffered };

class OutputFile {
 public:
  virtual ~OutputFile() = default;
  // Different ranges may be written by several threads. The write bypasses the page cache, if that
  // works, when memory, offset and size are multiples of kAlignment and the file was created with
  // at least kBlockBytes `bytes`.
  virtual base::Status write(std::uint64_t offset, std::string_view bytes) = 0;
  virtual base::Status sync() = 0;
};

class Disk {
 public:
  virtual ~Disk() = default;
  // Creates a file of mode 0600 with `bytes` reserved where the file system can. EEXIST is an
  // error.
  virtual base::Result<std::unique_ptr<OutputFile>> create(const std::string& path,
                                                           std::uint64_t bytes) = 0;
  virtual base::Status rename(const std::string& from, const std::string& to) = 0;
  virtual base::Status remove(const std::string& path) = 0;  // a file or an empty folder
  virtual base::Status make_folder(const std::string& path) = 0;  // 0700; may exist
  virtual base::Status sync_folder(const std::string& path) = 0;
};

[[nodiscard]] Disk& posix_disk(IoWay way = IoWay::kAuto);

// A file opened for reading. Several threads may read.
class InputFile {
 public:
  // Opens `path`. Here and in read(): kNotFound: no such file; kCorrupt: not a regular file of
  // `bytes` bytes; kUnavailable: the medium fails (EIO).
  static base::Result<std::unique_ptr<InputFile>> open(const std::string& path, std::uint64_t bytes,
                                                       IoWay way);
  // Fills `into`. The read bypasses the page cache, if that works, when offset, size and memory are
  // aligned and the file was opened with at least kBlockBytes `bytes`. kCorrupt: the file ends
  // early.
  base::Status read(std::uint64_t offset, std::span<char> into);
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  InputFile(std::string path, base::Fd buffered, base::Fd direct, bool ring)
      : path_(std::move(path)),
        buffered_(std::move(buffered)),
        direct_(std::move(direct)),
        ring_(ring) {}
  std::string path_;
  base::Fd buffered_;
  base::Fd direct_;
  bool ring_;
  std::atomic<bool> refused_ = false;
};

// Replaces `path` by way of a temporary file and syncs it: after a crash the file has either the
// old or the new bytes. Only one process at a time may do so.
base::Status replace_file(Disk& disk, const std::string& path, std::string_view bytes);
// As above, for several processes at once: one of them wins. A crash may leave a file
// `path`.tmp-NUMBER, which is removed with its folder.
base::Status replace_shared_file(Disk& disk, const std::string& path, std::string_view bytes);
// Names of everything in `folder`; empty if there is no such folder.
base::Result<std::vector<std::string>> names_in(const std::string& folder);
[[nodiscard]] std::string folder_of(const std::string& path);

}  // namespace robustrun::checkpoint
