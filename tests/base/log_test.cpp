#include "base/io/log.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>

#include "base/io/fd.h"
#include "tests/base/support.h"

namespace log_test {

using namespace robustrun::base;

namespace {

// Redirects standard error to a pipe during its lifetime.
class Capture {
 public:
  explicit Capture(const LogOptions& options) : Capture(options, make_pipe().value()) {}
  // `pipe`: where to read, and what standard error becomes.
  Capture(const LogOptions& options, FdPair pipe)
      : pipe_(std::move(pipe)), before_(::dup(STDERR_FILENO)) {
    REQUIRE(set_nonblocking(pipe_.first.get(), true));
    REQUIRE(::dup2(pipe_.second.get(), STDERR_FILENO) == STDERR_FILENO);
    configure_log(options);
  }
  ~Capture() {
    ::dup2(before_.get(), STDERR_FILENO);
    configure_log({});
    redirect_log(nullptr);
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  std::string text() {
    std::string all;
    char chunk[65536];
    ssize_t size = 0;
    while ((size = ::read(pipe_.first.get(), chunk, sizeof chunk)) > 0) {
      all.append(chunk, static_cast<std::size_t>(size));
    }
    return all;
  }

 private:
  FdPair pipe_;
  Fd before_;
};

// A terminal that changes no byte: its controlling side, and the other.
FdPair terminal(unsigned short columns) {
  Fd control(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  REQUIRE(::grantpt(control.get()) == 0);
  REQUIRE(::unlockpt(control.get()) == 0);
  char name[64];
  REQUIRE(::ptsname_r(control.get(), name, sizeof name) == 0);
  Fd other(::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
  termios raw{};
  REQUIRE(::tcgetattr(other.get(), &raw) == 0);
  ::cfmakeraw(&raw);
  REQUIRE(::tcsetattr(other.get(), TCSANOW, &raw) == 0);
  const winsize size{24, columns, 0, 0};
  REQUIRE(::ioctl(other.get(), TIOCSWINSZ, &size) == 0);
  return {std::move(control), std::move(other)};
}

// Replaces every digit by 0, so that times compare equal.
std::string shape(std::string text) {
  for (char& c : text) {
    if (c >= '0' && c <= '9') c = '0';
  }
  return text;
}

}  // namespace

TEST_CASE("lines also go to a copy until it is removed") {
  Capture capture({});
  std::string copied;
  copy_log([&](std::string_view line) { copied += line; });
  RR_LOG(kInfo, (), "both");
  RR_LOG(kDebug, (), "not wanted");
  copy_log(nullptr);
  RR_LOG(kInfo, (), "one alone");
  CHECK(copied.ends_with("both\n"));
  CHECK(capture.text().starts_with(copied));
}

TEST_CASE("a copy that was removed is not called any more, also with lines of other threads") {
  Capture capture({});
  std::atomic<bool> is_over = false;
  std::thread other([&is_over] {
    while (!is_over) RR_LOG(kInfo, (), "of another thread");
  });
  for (int i = 0; i < 100; ++i) {
    auto copied = std::make_unique<std::string>();
    std::atomic<bool> was_called = false;
    copy_log([&](std::string_view line) {
      copied->assign(line);
      was_called = true;
    });
    while (!was_called) std::this_thread::yield();
    copy_log(nullptr);
    copied.reset();
  }
  is_over = true;
  other.join();
  // The pipe is full: the next line tells how many lines were dropped.
  static_cast<void>(capture.text());
  RR_LOG(kInfo, (), "there is room again");
}

TEST_CASE("a human line has time, level, node, rank and text in columns") {
  Capture capture({});
  RR_LOG(kWarn, ({.node = "node0", .rank = Rank{3}}), "worker late by {} ms", 12);
  CHECK(shape(capture.text()) == "00:00:00.000 warn  node0  rank 0   worker late by 00 ms\n");
  RR_LOG(kInfo, (), "plain");
  CHECK(shape(capture.text()) == "00:00:00.000 info  plain\n");
}

TEST_CASE("a line wraps at words beside its prefix on a terminal, and is whole in copies") {
  for (const LogColour colour : {LogColour::kNever, LogColour::kAlways}) {
    Capture capture({.colour = colour}, terminal(40));
    std::string copied;
    copy_log([&](std::string_view line) { copied += line; });
    RR_LOG(kWarn, (), "logs in /a/folder/with/a/long/name, times in UTC");
    copy_log(nullptr);
    std::string shown = shape(capture.text());
    for (const std::string_view escape : {"\x1b[00m", "\x1b[0m"}) {
      if (const auto at = shown.find(escape); at != std::string::npos)
        shown.erase(at, escape.size());
    }
    CHECK(shown ==
          "00:00:00.000 warn  logs in\n"
          "                   /a/folder/with/a/long/name,\n"
          "                   times in UTC\n");
    CHECK(copied.ends_with("logs in /a/folder/with/a/long/name, times in UTC\n"));
  }
}

TEST_CASE("a narrow terminal breaks lines as it can") {
  Capture capture({}, terminal(30));
  RR_LOG(kWarn, (), "logs in a folder with a long name");
  CHECK(shape(capture.text()) ==
        "00:00:00.000 \x1b[00mwarn \x1b[0m logs in a folder with a long name\n");
}

TEST_CASE("lines below the level are not written, and kOff writes none") {
  Capture capture({.level = LogLevel::kWarn});
  RR_LOG(kInfo, (), "quiet");
  RR_LOG(kDebug, (), "quiet");
  CHECK(capture.text().empty());
  configure_log({.level = LogLevel::kOff});
  RR_LOG(kError, (), "quiet");
  CHECK(capture.text().empty());
}

TEST_CASE("a JSON line is one object with UTC time and escaped text") {
  Capture capture({.format = LogFormat::kJson});
  RR_LOG(kError, ({.node = "n\"1", .rank = Rank{7}}), "a\n\"b\" \xff {}", "{x} %v");
  CHECK(shape(capture.text()) == R"__({"time":"0000-00-00T00:00:00.000Z","level":"error",)__"
                                 R"__("node":"n\"0","rank":0,"text":"a\n\"b\" \\xff {x} %v"})__"
                                 "\n");
  RR_LOG(kInfo, (), "b");
  CHECK(shape(capture.text()) ==
        R"__({"time":"0000-00-00T00:00:00.000Z","level":"info","text":"b"})__"
        "\n");
}

TEST_CASE("colour marks the level alone, on demand or on a terminal") {
  Capture capture({.colour = LogColour::kAlways});
  RR_LOG(kWarn, (), "x");
  CHECK(capture.text().find("\x1b[33mwarn \x1b[0m") != std::string::npos);
  configure_log({});  // a pipe is no terminal
  RR_LOG(kWarn, (), "x");
  CHECK(capture.text().find('\x1b') == std::string::npos);
}

TEST_CASE("text from a worker can neither start a line nor move the cursor") {
  Capture capture({});
  RR_LOG(kInfo, (), "a\nb\x1b[2J\xff");
  CHECK(capture.text().ends_with("a\\x0ab\\x1b[2J\\xff\n"));
}

TEST_CASE("a redirected log goes to the sink with level, context and text") {
  Capture capture({});
  std::string got;
  redirect_log([&](LogLevel level, const LogContext& context, std::string_view text) {
    got = fmt::format("{} {} {} {}", static_cast<int>(level), context.node, context.rank->value,
                      text);
  });
  RR_LOG(kWarn, ({.node = "n", .rank = Rank{2}}), "hello");
  CHECK(got == "2 n 2 hello");
  CHECK(capture.text().empty());
}

TEST_CASE("a stderr without a reader costs one short wait, then lines are dropped and counted") {
  Capture capture({});
  const std::string filler(65536, 'f');
  REQUIRE(set_nonblocking(STDERR_FILENO, true));
  while (::write(STDERR_FILENO, filler.data(), filler.size()) > 0) {
  }
  REQUIRE(set_nonblocking(STDERR_FILENO, false));
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) RR_LOG(kInfo, (), "lost {}", i);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));  // not one for each
  static_cast<void>(capture.text());
  RR_LOG(kInfo, (), "heard");
  const std::string text = capture.text();
  CHECK(text.starts_with("(100 log lines were dropped here)\n"));
  CHECK(text.ends_with("heard\n"));
}

}  // namespace log_test
