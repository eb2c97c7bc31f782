#pragma once
// The console of a detached run: the file console.log in its directory, bounded by rotation.
//
// While one of these lives, standard output and standard error of this process lead to that file.
// When it is full it becomes console.log.1 (the one before that is gone), and a new one is begun.
// On the driver's loop; in a detached supervisor alone, which owns its standard descriptors.

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
  // Opens or makes `path` (0600), to be appended to, and redirects the standard descriptors.
  static base::Result<std::unique_ptr<ConsoleLog>> open(
      const std::string& path, std::uint64_t bytes_max = kConsoleLogBytesMax);

  // So many bytes are on their way into it. True: it is full, rotate() is due. Never logs.
  [[nodiscard]] bool note(std::size_t bytes);
  // `console` writes there, too. After a failure note() asks again after as many bytes.
  base::Status rotate(Console& console);

 private:
  ConsoleLog(std::string path, std::uint64_t bytes_max)
      : path_(std::move(path)), bytes_max_(bytes_max) {}
  base::Result<base::Fd> begin_file();

  std::string path_;
  std::uint64_t bytes_max_;
  std::uint64_t bytes_ = 0;  // of the current file
};

// Of a run directory.
[[nodiscard]] std::string console_log_file(const std::string& run_directory);

}  // namespace robustrun::supervisor
