#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "tests/support/file_size_limit.h"
#include "tests/support/log_pump_fixture.h"

namespace log_pump_trouble_test {

using namespace robustrun;
using namespace std::chrono_literals;
using test::FileSizeLimit;
using test::PumpFixture;

namespace {

std::string lines(std::size_t bytes, char c) {
  std::string text(bytes, c);
  for (std::size_t i = 99; i < bytes; i += 100) text[i] = '\n';
  return text;
}

}  // namespace

TEST_CASE(
    "a full disk drops file bytes, reports it once, counts them and resumes when space returns") {
  PumpFixture f;
  f.options.limits.file_retry_after = 1ms;
  f.open();
  std::string sent;
  const auto send = [&](const std::string& text) {
    sent += text;
    f.write(text);
    REQUIRE(f.loop.run_until([&] { return f.console == sent; }));
    // Waits until the write that this caused has ended, either way, and may be tried again.
    REQUIRE(
        f.loop.run_until([&] { return f.file().size() + f.pump->dropped_bytes() >= sent.size(); }));
    f.loop.run_for(20ms);
  };
  {
    const FileSizeLimit full(10000);
    send(lines(20000, 'a'));
    send(lines(5000, 'b'));
    CHECK(f.pump->dropped_bytes() == 15000);
  }
  send(lines(1000, 'c'));
  f.worker.reset();
  REQUIRE(f.run_to_end());
  REQUIRE(f.troubles.size() == 1);
  CHECK(f.troubles[0].find("stdout.log") != std::string::npos);
  CHECK(f.pump->dropped_bytes() == 15000);
  const std::string file = f.file();
  CHECK(file.starts_with(lines(10000, 'a')));
  CHECK(file.ends_with(lines(1000, 'c')));
  CHECK(file.find("[robustrun: 15000 bytes of output are missing here: File too large]\n") !=
        std::string::npos);
}

TEST_CASE("a disk that is still full at the end does not keep the pump from finishing") {
  PumpFixture f;
  const FileSizeLimit full(10);
  f.open();
  f.write_aside(lines(3'000'000, 'a'));
  REQUIRE(f.run_to_end());
  CHECK(f.console.size() == 3'000'000);
  CHECK(f.file() == "aaaaaaaaaa");
  CHECK(f.pump->dropped_bytes() == 2'999'990);
}

TEST_CASE("a device without space costs only the file's bytes") {
  PumpFixture f;
  f.options.file = "/dev/full";
  f.open();
  f.write_aside(lines(500'000, 'a'));
  REQUIRE(f.run_to_end());
  CHECK(f.console.size() == 500'000);
  CHECK(f.pump->dropped_bytes() == 500'000);
  REQUIRE(f.troubles.size() == 1);
  CHECK(f.troubles[0].find("No space left on device") != std::string::npos);
}

TEST_CASE("a file that takes nothing is given up after a while and resumed when it moves again") {
  PumpFixture f;
  const std::string fifo = f.scratch.path("fifo");
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  const base::Fd reader(::open(fifo.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  REQUIRE(reader);
  f.options.file = fifo;
  f.options.limits.file_stall_max = 700ms;
  f.open();
  const std::string text = lines(4'000'000, 'a');
  f.write_aside(text, false);
  // Paused, not dropped, at first; then the worker continues.
  f.loop.run_for(20ms);
  CHECK(f.pump->dropped_bytes() == 0);
  CHECK(f.console.size() < 3'000'000);
  REQUIRE(f.loop.run_until([&] { return f.console.size() == text.size(); }));
  CHECK(f.console == text);
  CHECK(f.troubles.size() == 1);
  CHECK(f.pump->dropped_bytes() > 1'000'000);
  CHECK(f.pump->held_bytes() < 8'000'000);

  std::string read;
  const auto read_some = [&] {
    char buffer[65536];
    for (ssize_t got = 0; (got = ::read(reader.get(), buffer, sizeof buffer)) > 0;) {
      read.append(buffer, static_cast<std::size_t>(got));
    }
    return read.ends_with("the end\n");
  };
  REQUIRE(f.loop.run_until([&] {
    read_some();
    return read.size() + f.pump->dropped_bytes() == text.size();
  }));
  f.write("the end\n");
  REQUIRE(f.loop.run_until(read_some));
  const std::string note = "[robustrun: " + std::to_string(f.pump->dropped_bytes()) + " bytes";
  CHECK(read.find(note) != std::string::npos);
}

TEST_CASE("a stuck file delays neither the end of a pump nor its destruction") {
  PumpFixture f;
  const std::string fifo = f.scratch.path("fifo");
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  const base::Fd reader(::open(fifo.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  f.options.file = fifo;
  f.options.limits.file_stall_max = 50ms;
  f.open();
  f.write_aside(lines(300'000, 'a'));
  REQUIRE(f.run_to_end());
  f.pump.reset();
}

TEST_CASE("a congested console pauses reading, so that nothing is lost and memory is bounded") {
  PumpFixture f(false);
  f.open();
  const std::string text = lines(8'000'000, 'a');
  f.pump->set_congested(true);
  f.write_aside(text);
  f.loop.run_for(50ms);
  CHECK(f.console.size() <= agent::kLogReadBytes);
  CHECK(f.pump->held_bytes() <= 2 * agent::kLineBytesMax);
  CHECK(f.written == 0);
  f.pump->set_congested(false);
  REQUIRE(f.run_to_end());
  CHECK(f.console == text);
  CHECK(f.pump->dropped_bytes() == 0);
}

TEST_CASE("a dead worker's last words are known at once, whatever its output waits for") {
  PumpFixture f;
  REQUIRE(::fcntl(f.worker.get(), F_SETPIPE_SZ, 1 << 20) >= 0);
  std::string text;
  SUBCASE("more than its log file takes at once") { text = lines(900'000, 'a'); }
  SUBCASE("a congested console") { text = lines(100, 'a'); }
  text += "last words\n";
  f.open();
  const bool is_congested = text.size() < 1000;
  f.pump->set_congested(is_congested);
  f.write(text);
  f.pump->drain();  // a stray process holds the pipe open
  REQUIRE_FALSE(f.pump->tail().empty());
  CHECK(f.pump->tail().back() == "last words");
  CHECK(f.console.size() < text.size());
  CHECK(f.finished == 0);
  f.pump->set_congested(false);
  REQUIRE(f.run_to_end());
  CHECK(f.console == text);
  CHECK(f.file() == text);
  CHECK(f.pump->tail().back() == "last words");
  CHECK(f.pump->dropped_bytes() == 0);
}

TEST_CASE("set_congested may be called from within on_console") {
  PumpFixture f(false);
  agent::LogPump::Handlers handlers;
  std::size_t taken = 0;
  bool congested = false;
  handlers.on_console = [&](std::string_view bytes, bool) {
    CHECK(!congested);
    taken += bytes.size();
    congested = true;
    f.pump->set_congested(true);
  };
  handlers.on_finished = [&] { ++f.finished; };
  auto opened = agent::LogPump::open(f.loop.executor(), f.pool, std::move(f.options), handlers);
  REQUIRE(opened);
  f.pump = std::move(*opened);
  f.write_aside(lines(1'000'000, 'a'));
  REQUIRE(f.loop.run_until([&] {
    if (congested) {
      congested = false;
      f.pump->set_congested(false);
    }
    return f.finished > 0;
  }));
  CHECK(taken == 1'000'000);
}

TEST_CASE("a console that stays congested stops no worker: its copy is dropped and counted") {
  PumpFixture f;
  f.options.limits.console_pause_max = 30ms;
  f.open();
  f.pump->set_congested(true);
  f.write_aside(lines(3'000'000, 'a'), false);
  REQUIRE(f.loop.run_until([&] { return f.written > 0 && f.file().size() == 3'000'000; }));
  CHECK(f.troubles.size() == 1);
  CHECK(f.console.size() + f.pump->dropped_bytes() == 3'000'000);
  CHECK(f.pump->dropped_bytes() > 2'000'000);
  f.pump->set_congested(false);
  f.write("again\n");
  REQUIRE(f.loop.run_until([&] { return f.console.ends_with("again\n"); }));
}

}  // namespace log_pump_trouble_test
