#include "supervisor/console/console_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "supervisor/console/console.h"

namespace robustrun::supervisor {

std::string console_log_file(const std::string& run_directory) {
  return run_directory + "/console.log";
}

base::Result<std::unique_ptr<ConsoleLog>> ConsoleLog::open(const std::string& path,
                                                           std::uint64_t bytes_max) {
  std::unique_ptr<ConsoleLog> log(new ConsoleLog(path, bytes_max));
  RR_TRY(log->begin_file());
  return log;
}

base::Result<base::Fd> ConsoleLog::begin_file() {
  base::Fd file(
      ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  struct stat found{};
  if (!file || ::fstat(file.get(), &found) != 0) {
    return base::fail_errno("cannot write " + path_, errno);
  }
  // The copies are ours to give to agents: not CLOEXEC, as standard descriptors are.
  if (::dup2(file.get(), STDOUT_FILENO) < 0 || ::dup2(file.get(), STDERR_FILENO) < 0) {
    return base::fail_errno("cannot write " + path_, errno);
  }
  bytes_ = static_cast<std::uint64_t>(found.st_size);
  return file;
}

bool ConsoleLog::note(std::size_t bytes) {
  bytes_ += bytes;
  if (bytes_ < bytes_max_) return false;
  bytes_ = 0;
  return true;
}

base::Status ConsoleLog::rotate(Console& console) {
  const std::string before = path_ + ".1";
  if (std::rename(path_.c_str(), before.c_str()) != 0 && errno != ENOENT) {
    return base::fail_errno("cannot rename " + path_, errno);
  }
  const base::Fd file = RR_TRY(begin_file());
  return console.redirect(file);
}

}  // namespace robustrun::supervisor
