#pragma once
// A process for tests to look at: started with a pipe as its standard output, and at the end killed
// with its process group and reaped.

#include <doctest/doctest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/io/fd.h"
#include "tests/paths.h"

extern char** environ;

namespace robustrun::agent {

inline constexpr std::chrono::seconds kSubjectPatience{60};

// Waits until `condition` holds; false when patience ends before.
template <class Condition>
bool wait_until(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + kSubjectPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

class Subject {
 public:
  explicit Subject(const std::vector<std::string>& argv) {
    std::vector<char*> words;
    for (const std::string& each : argv) words.push_back(const_cast<char*>(each.c_str()));
    words.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    REQUIRE(::posix_spawn_file_actions_init(&actions) == 0);
    REQUIRE(::posix_spawnattr_init(&attributes) == 0);
    ::posix_spawn_file_actions_adddup2(&actions, out_.second.get(), STDOUT_FILENO);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    const int failed =
        ::posix_spawnp(&pid_, words[0], &actions, &attributes, words.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    REQUIRE(failed == 0);
    out_.second.reset();
  }
  ~Subject() { end(); }
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const { REQUIRE(::kill(pid_, number) == 0); }

  // Whether it has written `word`, or does so within patience.
  bool says(const std::string& word) {
    while (text_.find(word) == std::string::npos) {
      pollfd watched{out_.first.get(), POLLIN, 0};
      constexpr int kMilliseconds = 60'000;
      char buffer[4096];
      if (::poll(&watched, 1, kMilliseconds) <= 0) return false;
      const ssize_t got = ::read(out_.first.get(), buffer, sizeof buffer);
      if (got <= 0) return false;
      text_.append(buffer, static_cast<std::size_t>(got));
    }
    return true;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

  void end() {
    if (pid_ <= 0) return;
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  base::FdPair out_ = *base::make_pipe();
  std::string text_;
  pid_t pid_ = 0;
};

// The project's interpreter with a script of the test.
inline std::vector<std::string> python(const std::string& script,
                                       std::vector<std::string> arguments = {}) {
  const std::string own = in_source(".venv/bin/python3");
  std::vector<std::string> argv = {::access(own.c_str(), X_OK) == 0 ? own : "python3", "-u", "-c",
                                   script};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

}  // namespace robustrun::agent
