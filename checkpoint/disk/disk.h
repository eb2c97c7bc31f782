#pragma once
// The interface for every change to a disk, except to the lock file. Tests replace it, to let
// changes fail or get lost. `posix_disk()` is the real one. Several threads may make calls for
// different files at once.
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

// How data gets to and from files. kAuto and kDirect use pread and pwrite with O_DIRECT, which
// bypasses the page cache. kRing uses io_uring with O_DIRECT; where the kernel denies io_uring, it
// is the same as kDirect. kBuffered uses the page cache. So do the others where the file system
// refuses O_DIRECT (tmpfs).
enum class IoWay : std::uint8_t { kAuto, kRing, kDirect, kBuffered };

class OutputFile {
 public:
  virtual ~OutputFile() = default;
  // Several threads may write different ranges. A write bypasses the page cache only if memory,
  // offset and size are multiples of kAlignment and the file was created with at least kBlockBytes.
  virtual base::Status write(std::uint64_t offset, std::string_view bytes) = 0;
  virtual base::Status sync() = 0;
};

class Disk {
 public:
  virtual ~Disk() = default;
  // Creates a file of mode 0600 and reserves `bytes` for it, if the file system can do so. Fails
  // with EEXIST if the file exists.
  virtual base::Result<std::unique_ptr<OutputFile>> create(const std::string& path,
                                                           std::uint64_t bytes) = 0;
  virtual base::Status rename(const std::string& from, const std::string& to) = 0;
  virtual base::Status remove(const std::string& path) = 0;  // a file or an empty folder
  virtual base::Status make_folder(const std::string& path) = 0;  // mode 0700; may exist already
  virtual base::Status sync_folder(const std::string& path) = 0;
};

[[nodiscard]] Disk& posix_disk(IoWay way = IoWay::kAuto);

// A file opened for reading. Several threads may read.
class InputFile {
 public:
  // kNotFound: there is no such file. kCorrupt: it is not a regular file of `bytes` bytes.
  // kUnavailable: the disk fails (EIO).
  static base::Result<std::unique_ptr<InputFile>> open(const std::string& path, std::uint64_t bytes,
                                                       IoWay way);
  // Fills `into`. Bypasses the page cache only if memory, offset and size are multiples of
  // kAlignment and the file has at least kBlockBytes. kCorrupt: the file ends early. kUnavailable:
  // the disk fails (EIO).
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

// Replaces `path` by a synced temporary file, `path`.tmp: after a crash the file has either the old
// or the new bytes. Only one process at a time may replace a file.
base::Status replace_file(Disk& disk, const std::string& path, std::string_view bytes);
// As above, but several processes may do so at once; the last one wins. A crash may leave a file
// `path`.tmp-NUMBER, which is removed with its folder.
base::Status replace_shared_file(Disk& disk, const std::string& path, std::string_view bytes);
// Names of everything in `folder`; empty if there is no such folder.
base::Result<std::vector<std::string>> names_in(const std::string& folder);
[[nodiscard]] std::string folder_of(const std::string& path);

}  // namespace robustrun::checkpoint
