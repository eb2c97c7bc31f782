#pragma once
// Limits the size of this process's files during its lifetime: the next byte beyond it fails with
// EFBIG, as it would with ENOSPC on a full disk.

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>

namespace robustrun::test {

class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : previous_(::signal(SIGXFSZ, SIG_IGN)) {
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit limit{bytes, before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, previous_);
  }

 private:
  rlimit before_{};
  sighandler_t previous_;
};

}  // namespace robustrun::test
