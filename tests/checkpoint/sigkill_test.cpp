#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "tests/checkpoint/support.h"

namespace sigkill_test {

using namespace robustrun;
using namespace robustrun::checkpoint;
using robustrun::test::TwoMounts;
using robustrun::test::wrong_in;

namespace {

constexpr int kKills = 50;

// A child that saves for ever; what it printed is what it had committed.
class Saver {
 public:
  explicit Saver(const std::vector<std::string>& directories) {
    auto pipe = base::make_pipe();
    REQUIRE(pipe);
    out_ = std::move(pipe->first);
    posix_spawn_file_actions_t actions;
    REQUIRE(::posix_spawn_file_actions_init(&actions) == 0);
    REQUIRE(::posix_spawn_file_actions_adddup2(&actions, pipe->second.get(), 1) == 0);
    std::string program = RR_TEST_HELPERS "/checkpoint_saver";
    std::vector<std::string> words = directories;
    std::vector<char*> argv = {program.data()};
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    char* environment[] = {nullptr};
    REQUIRE(::posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv.data(), environment) ==
            0);
    ::posix_spawn_file_actions_destroy(&actions);
  }
  ~Saver() { kill(); }
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  // Reads what it prints until it has printed `lines` more, then for at most `more_ms`.
  void follow(std::size_t lines, int more_ms) {
    while (count_ < lines) REQUIRE(read_some(-1));
    (void)read_some(more_ms);
  }
  // Kills it and reads the rest. Its last whole line, or `before`.
  std::uint64_t kill(std::uint64_t before = 0) {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
      pid_ = -1;
      while (read_some(-1)) {
      }
    }
    const auto end = text_.rfind('\n');
    if (end == std::string::npos) return before;
    const auto start = end == 0 ? std::string::npos : text_.rfind('\n', end - 1);
    const std::size_t first = start == std::string::npos ? 0 : start + 1;
    return base::parse_int<std::uint64_t>(text_.substr(first, end - first)).value_or(before);
  }

 private:
  bool read_some(int wait_ms) {
    pollfd waiting{out_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, wait_ms) <= 0) return false;
    char bytes[256];
    const ssize_t got = ::read(out_.get(), bytes, sizeof bytes);
    for (ssize_t i = 0; i < got; ++i) count_ += bytes[i] == '\n' ? 1 : 0;
    if (got > 0) text_.append(bytes, static_cast<std::size_t>(got));
    return got > 0;
  }

  pid_t pid_ = -1;
  base::Fd out_;
  std::string text_;
  std::size_t count_ = 0;
};

}  // namespace

TEST_CASE("a saving process that is killed leaves the newest step that it committed, whole") {
  const TwoMounts mounts("/dev/shm");  // syncing costs nothing there
  base::Rng rng(base::system_seed());
  std::uint64_t told = 0;
  for (int i = 0; i < kKills; ++i) {
    Saver saver(mounts.directories);
    saver.follow(1 + rng.below(3), static_cast<int>(rng.below(12)));
    told = saver.kill(told);
    CAPTURE(i);
    const auto found = newest_committed(mounts.directories);
    REQUIRE(found);
    REQUIRE(found->attempt.step >= told);
    REQUIRE(found->attempt.step <= told + 1);
    REQUIRE(wrong_in(*found) == "");
  }
  CHECK(told >= kKills);
}

}  // namespace sigkill_test
