#pragma once
// The console of a detached run: the file console.log in its directory, bounded by rotation.
//
// From open() on, standard output and standard error of this process lead to that file. A full file
// becomes console.log.1, replacing the one before, and a new file begins. Used on the driver's
// loop, and only in a detached supervisor, which owns its standard descriptors.

#include <cstdint>
#include <memory>
#include <string>

#include "base/core/result.h"
#include "base/io/fd.h"
#include "supervisor/limits.h"

namespace robustrun::supervisor {

class Console;

class ConsoleLog {
 public:
  // Opens `path` for appending, creating it if needed (0600), and redirects the standard
  // descriptors.
  static base::Result<std::unique_ptr<ConsoleLog>> open(
      const std::string& path, std::uint64_t bytes_max = kConsoleLogBytesMax);

  // Counts bytes that are written to the file. True: the file is full, call rotate(). Never logs.
  [[nodiscard]] bool note(std::size_t bytes);
  // Begins a new file and redirects `console` to it. After a failure the old file stays in use, and
  // note() returns true again after another `bytes_max` bytes.
  base::Status rotate(Console& console);

 private:
  ConsoleLog(std::string path, std::uint64_t bytes_max)
      : path_(std::move(path)), bytes_max_(bytes_max) {}
  base::Result<base::Fd> begin_file();

  std::string path_;
  std::uint64_t bytes_max_;
  std::uint64_t bytes_ = 0;  // of the current file
};

// The path of the file in a run directory.
[[nodiscard]] std::string console_log_file(const std::string& run_directory);

}  // namespace robustrun::supervisor
