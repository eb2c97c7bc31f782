#pragma once
// Real mounts for tests: a folder seen through FUSE, whose server can be stopped, and a small
// tmpfs. Neither exists where mounting is not allowed; the test then reports that and ends.

#include <doctest/doctest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/paths.h"

namespace robustrun::test {

// A folder seen through FUSE, served by a process that can be stopped.
class FuseView {
 public:
  FuseView(const std::string& source, const std::string& target)
      : FuseView(target, {"bindfs", "-f", source, target}) {}
  // Read-only; reads of files whose paths have `broken` in them fail with EIO, and listings of
  // folders whose paths, "/" for the view itself, end with it.
  static FuseView failing(const std::string& source, const std::string& target,
                          const std::string& broken) {
    return FuseView(target, {test_helper("slow_view"), source, target, "0", "/dev/null", broken});
  }
  ~FuseView() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);  // its waiting readers get an error
    ::waitpid(pid_, nullptr, 0);
    ::umount2(target_.c_str(), MNT_DETACH);
  }
  FuseView(const FuseView&) = delete;
  FuseView& operator=(const FuseView&) = delete;
  [[nodiscard]] bool there() const { return there_; }
  void stop() const {
    ::kill(pid_, SIGSTOP);
    int status = 0;
    REQUIRE(::waitpid(pid_, &status, WUNTRACED) == pid_);
  }
  void go_on() const { ::kill(pid_, SIGCONT); }
  // The mount stays, and its users get ENOTCONN.
  void die() const {
    ::kill(pid_, SIGKILL);
    siginfo_t info{};
    REQUIRE(::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) == 0);
  }

 private:
  FuseView(const std::string& target, std::vector<std::string> words) : target_(target) {
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    struct stat before{};
    REQUIRE(::stat(target.c_str(), &before) == 0);
    if (::posix_spawnp(&pid_, argv[0], nullptr, nullptr, argv.data(), environ) != 0) return;
    struct stat now = before;
    while (now.st_dev == before.st_dev && ::waitpid(pid_, nullptr, WNOHANG) == 0) {
      (void)::stat(target.c_str(), &now);
    }
    there_ = now.st_dev != before.st_dev;
    if (!there_) pid_ = -1;
  }

  std::string target_;
  pid_t pid_ = -1;
  bool there_ = false;
};

// An empty tmpfs over a folder.
class SmallDisk {
 public:
  SmallDisk(const std::string& folder, const std::string& size)
      : folder_(folder), there_(::mount("none", folder.c_str(), "tmpfs", 0, options(size)) == 0) {}
  ~SmallDisk() {
    if (there_) ::umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  [[nodiscard]] bool there() const { return there_; }
  void resize(const std::string& size) {
    REQUIRE(::mount("none", folder_.c_str(), "tmpfs", MS_REMOUNT, options(size)) == 0);
  }

 private:
  const char* options(const std::string& size) {
    options_ = "size=" + size;
    return options_.c_str();
  }

  std::string options_;
  std::string folder_;
  bool there_;
};

}  // namespace robustrun::test
