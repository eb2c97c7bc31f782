#include <fcntl.h>
#include <sys/ioctl.h>

#include <string>

#include "base/core/hash.h"
#include "tests/support/log_pump_fixture.h"

namespace log_pump_test {

using namespace robustrun;
using test::PumpFixture;

namespace {

std::string numbered_lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += "line " + std::to_string(i) + std::string(static_cast<std::size_t>(i % 90), '.') + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("every line of a fast stream reaches console and file in order, in complete lines only") {
  PumpFixture f;
  f.open();
  const std::string text = numbered_lines(200000);
  f.write_aside(text);
  REQUIRE(f.run_to_end());
  CHECK(base::hash64(f.console) == base::hash64(text));
  CHECK(base::hash64(f.file()) == base::hash64(text));
  CHECK(f.partials == 0);
  for (const std::string& chunk : f.chunks) REQUIRE(chunk.back() == '\n');
  CHECK(f.pump->dropped_bytes() == 0);
  CHECK(f.pump->tail().size() == 5);
  CHECK(f.pump->tail().back().starts_with("line 199999"));
  CHECK(f.troubles.empty());
}

TEST_CASE("a worker that flushes every line makes few chunks") {
  PumpFixture f;
  f.open();
  for (int i = 0; i < 500; ++i) {
    f.write("x\n");
    f.loop.run_for(std::chrono::milliseconds(0));
  }
  f.worker.reset();
  REQUIRE(f.run_to_end());
  CHECK(f.console.size() == 1000);
  CHECK(f.chunks.size() < 250);
}

TEST_CASE("a line of 10 MB passes in bounded pieces") {
  PumpFixture f;
  f.open();
  const std::string text = "before\n" + std::string(10'000'000, 'y') + "\nafter\n";
  f.write_aside(text);
  REQUIRE(f.run_to_end());
  CHECK(base::hash64(f.console) == base::hash64(text));
  CHECK(base::hash64(f.file()) == base::hash64(text));
  CHECK(f.partials > 0);
  for (const std::string& chunk : f.chunks) {
    REQUIRE(chunk.size() <= agent::kLogReadBytes + agent::kLineBytesMax);
  }
  CHECK(f.pump->tail().back() == "after");
}

TEST_CASE("NUL and bytes that are not UTF-8 pass unchanged") {
  PumpFixture f;
  f.open();
  std::string text;
  for (int i = 0; i < 256 * 40; ++i) text += static_cast<char>(i);
  text += "\xff\xfe\n";
  f.write_aside(text);
  REQUIRE(f.run_to_end());
  CHECK(f.console == text);
  CHECK(f.file() == text);
}

TEST_CASE("the beginning of a line is shown after a while even without its end") {
  PumpFixture f;
  f.open();
  f.write("Password: ");
  REQUIRE(f.loop.run_until([&] { return f.console == "Password: "; }));
  CHECK(f.partials == 1);
  CHECK(f.file() == "Password: ");
  f.write("secret\n");
  REQUIRE(f.loop.run_until([&] { return f.console == "Password: secret\n"; }));
  CHECK(f.partials == 1);
}

TEST_CASE("progress bars pass as they move") {
  PumpFixture f;
  f.open();
  f.write("\r 10%");
  REQUIRE(f.loop.run_until([&] { return f.console == "\r 10%"; }));
  f.write("\r 20%\r");
  REQUIRE(f.loop.run_until([&] { return f.console == "\r 10%\r 20%\r"; }));
  CHECK(f.partials == 1);
}

TEST_CASE("a stray process that holds the pipe open does not keep a drained pump from finishing") {
  PumpFixture f;
  f.open();
  const base::Fd stray(::fcntl(f.worker.get(), F_DUPFD_CLOEXEC, 0));
  f.write("last words");
  f.worker.reset();
  f.pump->drain();
  REQUIRE(f.run_to_end());
  CHECK(f.console == "last words");
  CHECK(f.file() == "last words");
  CHECK(f.finished == 1);
}

TEST_CASE("a drained pump takes what was in the pipe, and not what a stray process adds for ever") {
  PumpFixture f;
  REQUIRE(::fcntl(f.worker.get(), F_SETPIPE_SZ, 1 << 20) > 0);
  const std::string text = numbered_lines(10000);
  REQUIRE(text.size() < (1 << 20));
  f.write(text);
  f.open();
  f.pump->drain();
  f.write("stray\n");
  REQUIRE(f.run_to_end());
  CHECK(base::hash64(f.console) == base::hash64(text));
  CHECK(f.file().size() == text.size());
}

TEST_CASE("a drained pump passes on a last line without an end before anything else happens") {
  PumpFixture f(false);
  f.open();
  f.write("last words");
  // Read, but held back for the rest of the line.
  REQUIRE(f.loop.run_until([&] {
    int pending = 0;
    return ::ioctl(f.worker.get(), FIONREAD, &pending) == 0 && pending == 0;
  }));
  f.worker.reset();
  f.pump->drain();
  CHECK(f.console == "last words");
}

TEST_CASE("an empty pipe is drained at once, and on_finished may destroy the pump") {
  PumpFixture f;
  agent::LogPump::Handlers handlers;
  handlers.on_finished = [&] {
    ++f.finished;
    f.pump.reset();
  };
  auto opened = agent::LogPump::open(f.loop.executor(), f.pool, std::move(f.options), handlers);
  REQUIRE(opened);
  f.pump = std::move(*opened);
  f.pump->drain();
  f.pump->drain();
  REQUIRE(f.run_to_end());
  f.loop.run_for(std::chrono::milliseconds(5));
  CHECK(f.finished == 1);
}

TEST_CASE("a finished pump leaves nothing for the loop to wait for") {
  PumpFixture f;
  f.open();
  f.write("x\nrest");
  REQUIRE(f.loop.run_until([&] { return f.file() == "x\nrest"; }));
  f.worker.reset();
  REQUIRE(f.run_to_end());
  const auto before = std::chrono::steady_clock::now();
  f.loop.run_out();
  CHECK(std::chrono::steady_clock::now() - before < agent::kFileStallMax / 2);
}

TEST_CASE("a destroyed pump calls nothing") {
  PumpFixture f;
  f.open();
  f.write("x\n");
  f.pump.reset();
  f.worker.reset();
  f.loop.run_for(std::chrono::milliseconds(20));
  CHECK(f.console.empty());
  CHECK(f.finished == 0);
}

TEST_CASE("matching lines of several pumps also go to one filter file, with their prefix") {
  PumpFixture f;
  PumpFixture g;
  const std::string filtered = f.scratch.path("filtered_stdout.log");
  f.options.filters = {"loss"};
  f.options.filter_file = filtered;
  f.options.filter_prefix = "[default0]:";
  g.options.filters = {"loss"};
  g.options.filter_file = filtered;
  g.options.filter_prefix = "[default1]:";
  f.open();
  f.write("loss=1\nother\n");
  f.worker.reset();
  REQUIRE(f.run_to_end());
  g.open();
  g.write("no\nthe loss");
  g.worker.reset();
  REQUIRE(g.run_to_end());
  CHECK(base::read_file(filtered, 1000).value_or("") == "[default0]:loss=1\n[default1]:the loss\n");
  CHECK(g.file() == "no\nthe loss");
}

TEST_CASE("a file that cannot be created is an error that names it") {
  PumpFixture f;
  f.options.file = f.scratch.path("missing/stdout.log");
  const auto opened = agent::LogPump::open(f.loop.executor(), f.pool, std::move(f.options), {});
  REQUIRE(!opened);
  CHECK(opened.error().what.find("missing/stdout.log") != std::string::npos);
}

TEST_CASE("an idle pump holds no buffers, a busy one a bounded amount") {
  PumpFixture f;
  f.options.limits.file_stall_max = std::chrono::milliseconds(200);
  f.open();
  CHECK(f.pump->held_bytes() < 64);
  f.write_aside(numbered_lines(200000), false);
  std::size_t most = 0;
  REQUIRE(f.loop.run_until([&] {
    most = std::max(most, f.pump->held_bytes());
    return f.written > 0;
  }));
  // Two file buffers (a string may have twice the capacity it needs) and an incomplete line.
  CHECK(most <= 2 * 2 * (agent::kFileCongestedBytes + agent::kLogReadBytes) + agent::kLineBytesMax);
  REQUIRE(f.loop.run_until([&] { return f.pump->held_bytes() < 64; }));
}

}  // namespace log_pump_test
