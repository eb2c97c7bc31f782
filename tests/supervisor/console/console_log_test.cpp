#include "supervisor/console/console_log.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/io/log.h"
#include "supervisor/console/console.h"
#include "tests/scratch_folder.h"
#include "tests/support/loop.h"

namespace robustrun::supervisor::console_log_test {
namespace {

// The test's own standard descriptors, back at the end.
class Descriptors {
 public:
  Descriptors() : out_(::dup(STDOUT_FILENO)), err_(::dup(STDERR_FILENO)) {}
  ~Descriptors() {
    ::dup2(out_.get(), STDOUT_FILENO);
    ::dup2(err_.get(), STDERR_FILENO);
  }
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;

 private:
  base::Fd out_, err_;
};

std::string text_of(const std::string& path) {
  const auto text = base::read_file(path, std::size_t{64} << 20);
  return text ? *text : "";
}

wire::Output line(std::uint64_t number) {
  wire::Output output;
  output.bytes = "line " + std::to_string(number) + std::string(80, '.') + "\n";
  return output;
}

TEST_CASE("a console that is full goes on in a new file, and nothing is lost between the two") {
  const robustrun::test::ScratchFolder folder;
  const std::string path = folder / "console.log";
  std::string all;
  std::string kept;
  {
    const Descriptors descriptors;
    robustrun::test::Loop loop;
    const auto log = ConsoleLog::open(path, 20'000);
    if (!log) return;
    auto console =
        Console::open(loop.executor(), STDOUT_FILENO, STDERR_FILENO, {}, "default", [] {});
    int rotations = 0;
    for (std::uint64_t i = 0; i < 400 && rotations < 2; ++i) {
      const wire::Output output = line(i);
      console->write(output, "node7");
      all += output.bytes;
      if (!(*log)->note(output.bytes.size())) continue;
      if ((*log)->rotate(*console)) ++rotations;
    }
    console->write(line(999), "node7");
    all += line(999).bytes;
    static_cast<void>(base::write_all(STDERR_FILENO, "our own\n"));
    bool flushed = false;
    console->flush([&] { flushed = true; });
    static_cast<void>(loop.run_until([&] { return flushed; }));
    kept = text_of(path + ".1") + text_of(path);
  }
  CHECK(std::filesystem::exists(path + ".1"));
  CHECK(kept.find("our own\n") != std::string::npos);
  kept.erase(kept.find("our own\n"), 8);
  // What is left of the first file went with the second rotation.
  CHECK(kept.size() >= 20'000);
  CHECK(all.ends_with(kept));
  struct stat info{};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
}

TEST_CASE("a line of the log begins on a line of its own, and so does what goes on after it") {
  const robustrun::test::ScratchFolder folder;
  std::string kept;
  {
    const Descriptors descriptors;
    robustrun::test::Loop loop;
    const auto log = ConsoleLog::open(folder / "console.log");
    if (!log) return;
    ConsoleStyle style;
    style.prefix = ConsoleStyle::Prefix::kRank;
    auto console =
        Console::open(loop.executor(), STDOUT_FILENO, STDERR_FILENO, style, "default", [] {});
    wire::Output output;
    output.bytes = "\r 4/100";
    console->write(output, "node7");
    static_cast<void>(
        loop.run_until([&] { return text_of(folder / "console.log").ends_with("/100"); }));
    RR_LOG(kWarn, {}, "first");
    RR_LOG(kWarn, {}, "second");
    output.bytes = " it/s";
    console->write(output, "node7");
    bool flushed = false;
    console->flush([&] { flushed = true; });
    static_cast<void>(loop.run_until([&] { return flushed; }));
    kept = text_of(folder / "console.log");
  }
  REQUIRE(kept.starts_with("\r[rank 0]  4/100\n"));
  CHECK(kept.find("warn  first\n") < kept.find("warn  second\n[rank 0]  it/s\n"));
  CHECK(kept.ends_with("warn  second\n[rank 0]  it/s\n"));
}

TEST_CASE("a console that cannot be opened is an error, and so is a link") {
  const robustrun::test::ScratchFolder folder;
  const Descriptors descriptors;
  CHECK_FALSE(ConsoleLog::open(folder / "missing/console.log"));
  const std::string victim = folder.write("victim", "precious");
  REQUIRE(::symlink(victim.c_str(), (folder / "link").c_str()) == 0);
  CHECK_FALSE(ConsoleLog::open(folder / "link"));
  CHECK(text_of(victim) == "precious");
}

TEST_CASE("a console that is there already is appended to") {
  const robustrun::test::ScratchFolder folder;
  const std::string path = folder.write("console.log", "before\n");
  {
    const Descriptors descriptors;
    const auto log = ConsoleLog::open(path, 100);
    CHECK(log);
    if (log) CHECK((*log)->note(94));   // 7 are in it
    static_cast<void>(base::write_all(STDOUT_FILENO, "after\n"));
  }
  CHECK(text_of(path) == "before\nafter\n");
}

}  // namespace
}  // namespace robustrun::supervisor::console_log_test
