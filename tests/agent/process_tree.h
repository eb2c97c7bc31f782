#pragma once
// Support for tests that start and kill trees of processes. The bytes that a tree writes count its
// processes; the end of its pipe means that all of them are dead.

#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "base/io/fd.h"
#include "base/io/strays.h"

namespace robustrun::agent {

using Milliseconds = std::chrono::milliseconds;
inline constexpr Milliseconds kPatience{60'000};
// Two seconds are promised on an otherwise idle machine.
inline constexpr Milliseconds kGoneWithin{10'000};

// This process adopts orphans while one of these lives.
class SubreaperScope {
 public:
  SubreaperScope() { base::become_subreaper(); }
  ~SubreaperScope() { ::prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0); }
  SubreaperScope(const SubreaperScope&) = delete;
  SubreaperScope& operator=(const SubreaperScope&) = delete;
};

class TreePipe {
 public:
  TreePipe() : pair_(*base::make_pipe()) {}
  [[nodiscard]] int write_fd() const { return pair_.second.get(); }
  // The tree has its own copies: ours must not delay the end.
  void close_write_end() { pair_.second.reset(); }

  bool wait_for_bytes(std::size_t count) {
    return read_until([&] { return text_.size() >= count; });
  }
  // Time since the call.
  std::optional<Milliseconds> wait_for_end() {
    const auto begin = std::chrono::steady_clock::now();
    if (!read_until([] { return false; }) && !ended_) return std::nullopt;
    return std::chrono::duration_cast<Milliseconds>(std::chrono::steady_clock::now() - begin);
  }
  bool ended() {
    pollfd watched{pair_.first.get(), POLLIN, 0};
    while (!ended_ && ::poll(&watched, 1, 0) > 0) read_once();
    return ended_;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void read_once() {
    char buffer[65536];
    const ssize_t got = ::read(pair_.first.get(), buffer, sizeof buffer);
    if (got > 0) text_.append(buffer, static_cast<std::size_t>(got));
    if (got == 0) ended_ = true;
  }
  template <class Condition>
  bool read_until(Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
      const auto left = deadline - std::chrono::steady_clock::now();
      pollfd watched{pair_.first.get(), POLLIN, 0};
      const auto wait = std::chrono::duration_cast<Milliseconds>(left).count();
      if (wait <= 0 || ended_ || ::poll(&watched, 1, static_cast<int>(wait)) <= 0) return false;
      read_once();
    }
    return true;
  }

  base::FdPair pair_;
  std::string text_;
  bool ended_ = false;
};

// Runs the loop until the condition holds; false when patience ends before.
template <class Condition>
bool run_until(boost::asio::io_context& loop, Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    loop.restart();
    if (loop.run_one_for(Milliseconds{50}) == 0) std::this_thread::yield();
  }
  return true;
}

}  // namespace robustrun::agent
