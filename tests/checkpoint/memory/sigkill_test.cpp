// Real processes that save and are killed at any moment.

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <memory>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "checkpoint/memory/staging.h"
#include "checkpoint/store/retention.h"
#include "tests/checkpoint/rounds.h"
#include "tests/checkpoint/support.h"
#include "tests/paths.h"

namespace sigkill_test {

using namespace robustrun;
using namespace robustrun::checkpoint;
using robustrun::test::TwoMounts;
using robustrun::test::wrong_in;

namespace {

constexpr std::uint64_t kKillsInCi = 12;  // per test

// A helper program; its output tells how far it got.
class Saver {
 public:
  Saver(const std::string& helper, std::vector<std::string> words,
        const std::vector<std::string>& directories, int memory = -1) {
    auto pipe = base::make_pipe();
    REQUIRE(pipe);
    out_ = std::move(pipe->first);
    posix_spawn_file_actions_t actions;
    REQUIRE(::posix_spawn_file_actions_init(&actions) == 0);
    REQUIRE(::posix_spawn_file_actions_adddup2(&actions, pipe->second.get(), 1) == 0);
    if (memory >= 0) REQUIRE(::posix_spawn_file_actions_adddup2(&actions, memory, 3) == 0);
    std::string program = test_helper("") + helper;
    words.insert(words.end(), directories.begin(), directories.end());
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

  // Reads its output until it has printed `lines`, then for at most `more_ms`.
  void follow(std::size_t lines, int more_ms) {
    while (count_ < lines) REQUIRE(read_some(-1));
    (void)read_some(more_ms);
  }
  void kill() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    (void)wait();
  }
  // Its exit code; -1: killed.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    while (read_some(-1)) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  // The number in the last whole line that begins with `word`, once it was killed.
  [[nodiscard]] std::uint64_t reported(const std::string& word = "") const {
    std::uint64_t number = 0;
    std::string_view left = text_;
    for (auto end = left.find('\n'); end != std::string_view::npos; end = left.find('\n')) {
      std::string_view line = left.substr(0, end);
      left.remove_prefix(end + 1);
      if (!line.starts_with(word)) continue;
      line.remove_prefix(word.size());
      number = base::parse_int<std::uint64_t>(line).value_or(number);
    }
    return number;
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

struct Luck {
  std::uint64_t seed = test::test_seed();
  base::Rng rng{seed};
  std::size_t lines(std::uint64_t most) { return 1 + rng.below(most); }
  int more_ms() { return static_cast<int>(rng.below(12)); }
};

FoundAttempt newest_whole(const TwoMounts& mounts) {
  auto found = newest_committed(mounts.directories);
  REQUIRE(found);
  REQUIRE(wrong_in(*found) == "");
  return *std::move(found);
}

void kill_savers(const std::vector<std::string>& words) {
  const TwoMounts mounts("/dev/shm");  // syncing costs nothing there
  Luck luck;
  CAPTURE(luck.seed);
  std::uint64_t reported = 0;
  const std::uint64_t kills = test::rounds(kKillsInCi);
  for (std::uint64_t i = 0; i < kills; ++i) {
    CAPTURE(i);
    Saver saver("checkpoint_saver", words, mounts.directories);
    saver.follow(luck.lines(3), luck.more_ms());
    saver.kill();
    REQUIRE(saver.reported() > reported);
    reported = saver.reported();
    const std::uint64_t step = newest_whole(mounts).attempt.step;
    REQUIRE(step >= reported);
    REQUIRE(step <= reported + 1);
  }
  CHECK(reported >= kills);
}

}  // namespace

TEST_CASE("SIGKILL while saving leaves the newest committed step whole") { kill_savers({}); }

TEST_CASE("SIGKILL while saving with parity leaves the newest committed step whole") {
  kill_savers({"parity"});
}

TEST_CASE(
    "SIGKILL of one or all of several ranks leaves every step that any of them saw committed") {
  const TwoMounts mounts("/dev/shm");
  Luck luck;
  CAPTURE(luck.seed);
  std::uint64_t sequence = 0;
  std::uint64_t generation = 0;
  for (std::uint64_t i = 0; i < test::rounds(kKillsInCi); ++i) {
    CAPTURE(i);
    const auto start = [&](const char* rank) {
      return std::make_unique<Saver>(
          "checkpoint_rank",
          std::vector<std::string>{"run", std::to_string(i), rank, "2", "1000000"},
          mounts.directories);
    };
    const auto zero = start("0");
    const auto one = start("1");
    // Some steps are committed before; it is chance which rank reports one.
    const std::uint64_t wanted = sequence + 1 + luck.rng.below(3);
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (std::uint64_t reached = 0; reached < wanted;) {
      REQUIRE(std::chrono::steady_clock::now() < until);
      if (auto found = newest_committed(mounts.directories)) {
        reached = found->manifest.head.sequence;
      }
    }
    Saver& first = luck.rng.below(2) == 0 ? *zero : *one;
    first.follow(0, luck.more_ms());
    first.kill();
    zero->follow(0, luck.more_ms());
    zero->kill();
    one->kill();
    const FoundAttempt found = newest_whole(mounts);
    REQUIRE(found.manifest.head.writers.size() == 2);
    // Perhaps nothing is committed but what earlier ranks left complete, by a claim that was
    // killed.
    const std::uint64_t reported = std::max(zero->reported(), one->reported());
    REQUIRE(found.attempt.generation >= (reported > 0 ? generation + 1 : generation));
    generation = found.attempt.generation;
    REQUIRE((reported == 0 || found.attempt.step >= reported));
    REQUIRE(found.manifest.head.sequence > sequence);
    sequence = found.manifest.head.sequence;
    REQUIRE(prune(posix_disk(), mounts.directories, 2));
  }
}

namespace {

// Workers that copy to memory and save from there, and processes that save what they left.
void kill_memory_savers(bool rescuers, std::uint64_t kills) {
  const TwoMounts mounts("/dev/shm");
  Luck luck;
  CAPTURE(luck.seed);
  std::uint64_t reported = 0;
  for (std::uint64_t i = 0; i < kills; ++i) {
    CAPTURE(i);
    auto memory = make_sealed_memory(*area_bytes(1U << 20U));
    REQUIRE(memory);
    Saver worker("memory_saver", {"save"}, mounts.directories, memory->get());
    worker.follow(luck.lines(6), luck.more_ms());
    worker.kill();
    REQUIRE(worker.reported("staged ") > reported);
    const std::uint64_t saved = std::max(reported, worker.reported("saved "));
    if (saved > 0) REQUIRE(newest_whole(mounts).attempt.step >= saved);
    for (std::uint64_t more = rescuers ? 1 + luck.rng.below(2) : 0; more > 0; --more) {
      Saver rescuer("memory_saver", {"rescue"}, mounts.directories, memory->get());
      rescuer.follow(0, luck.more_ms());
      rescuer.kill();
      if (saved > 0) REQUIRE(newest_whole(mounts).attempt.step >= saved);
    }
    Saver last("memory_saver", {"rescue"}, mounts.directories, memory->get());
    REQUIRE(last.wait() == 0);
    reported = newest_whole(mounts).attempt.step;
    REQUIRE(reported >= worker.reported("staged "));  // every complete copy is saved
  }
}

}  // namespace

TEST_CASE("after SIGKILL while a copy in memory is saved, another process saves it") {
  kill_memory_savers(false, test::rounds(kKillsInCi));
}

TEST_CASE("after SIGKILL of the process that saves a killed worker's copy, the next one saves it") {
  kill_memory_savers(true, test::rounds(kKillsInCi));
}

}  // namespace sigkill_test
