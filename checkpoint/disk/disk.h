#pragma once
// All that changes anything on a disk goes through here, so that tests can let it fail, stop or
// lose what was not synced. `posix_disk()` is the real one. Calls may come from several threads at
// once, for different files.
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

// How data gets past the page cache. What a machine or a file system denies falls to the next one:
// io_uring, then pread and pwrite with O_DIRECT, then the page cache (tmpfs; EINVAL at open or at
// the first transfer).
enum class IoWay : std::uint8_t { kAuto, kRing, kDirect, kBuffered };

class OutputFile {
 public:
  virtual ~OutputFile() = default;
  // Writes may come from several threads, for different places. `bytes`: in memory aligned to
  // kAlignment with offset and size a multiple of it, it passes the page cache where that works.
  virtual base::Status write(std::uint64_t offset, std::string_view bytes) = 0;
  virtual base::Status sync() = 0;
};

class Disk {
 public:
  virtual ~Disk() = default;
  // A new file, 0600, with `bytes` reserved; EEXIST is an error.
  virtual base::Result<std::unique_ptr<OutputFile>> create(const std::string& path,
                                                           std::uint64_t bytes) = 0;
  virtual base::Status rename(const std::string& from, const std::string& to) = 0;
  virtual base::Status remove(const std::string& path) = 0;  // a file, or an empty folder
  virtual base::Status make_folder(const std::string& path) = 0;  // 0700; may be there already
  virtual base::Status sync_folder(const std::string& path) = 0;
};

[[nodiscard]] Disk& posix_disk(IoWay way = IoWay::kAuto);

// A file to be read. Reads may come from several threads.
class InputFile {
 public:
  // kNotFound when there is no such file, kCorrupt when it is no plain file of `bytes` bytes,
  // kUnavailable when the medium fails (EIO), here and in read().
  static base::Result<std::unique_ptr<InputFile>> open(const std::string& path, std::uint64_t bytes,
                                                       IoWay way);
  // Fills `into`; with offset, size and memory aligned it passes the page cache where that works.
  // kCorrupt: the file is cut off.
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

// The same by a temporary file: `path` has the old bytes or, for good, the new ones.
// By one process at a time.
base::Status replace_file(Disk& disk, const std::string& path, std::string_view bytes);
// By several at once: one of them wins. A crash may leave a file `path`.tmp-NUMBER behind, which
// goes with its folder.
base::Status replace_shared_file(Disk& disk, const std::string& path, std::string_view bytes);
// Of all that is in a folder; none where there is no folder.
base::Result<std::vector<std::string>> names_in(const std::string& folder);
[[nodiscard]] std::string folder_of(const std::string& path);

}  // namespace robustrun::checkpoint
