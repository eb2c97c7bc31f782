#pragma once
// All that changes anything on a disk goes through here, so that tests can let it fail, stop or
// lose what was not synced. `posix_disk()` is the real one. Calls may come from several threads at
// once, for different files.
//
// Errors carry the errno (ENOSPC, EIO) and name the path.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace robustrun::checkpoint {

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

[[nodiscard]] Disk& posix_disk();

// The same by a temporary file: `path` has the old bytes or, for good, the new ones.
base::Status replace_file(Disk& disk, const std::string& path, std::string_view bytes);
[[nodiscard]] std::string folder_of(const std::string& path);

}  // namespace robustrun::checkpoint
