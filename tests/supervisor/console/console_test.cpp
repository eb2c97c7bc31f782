#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "base/core/hash.h"
#include "base/io/fd.h"
#include "supervisor/console/console.h"
#include "tests/support/loop.h"
#include "tests/support/scratch.h"

namespace console_test {

using namespace robustrun;
using namespace robustrun::supervisor;
using namespace std::chrono_literals;

namespace {

wire::Output output(std::uint32_t rank, std::string bytes, bool is_stderr = false) {
  wire::Output made;
  made.rank = {rank};
  made.local_rank = {rank};
  made.is_stderr = is_stderr;
  made.bytes = std::move(bytes);
  return made;
}

std::string lines(std::size_t bytes, char c) {
  std::string text(bytes, c);
  for (std::size_t i = 99; i < bytes; i += 100) text[i] = '\n';
  return text;
}

ConsoleStyle ranks() {
  ConsoleStyle style;
  style.prefix = ConsoleStyle::Prefix::kRank;
  return style;
}

struct Terminal {
  Terminal() {
    REQUIRE(master);
    REQUIRE(::grantpt(master.get()) == 0);
    REQUIRE(::unlockpt(master.get()) == 0);
    slave = base::Fd(::open(::ptsname(master.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
    REQUIRE(slave);
  }

  base::Fd master{::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)};
  base::Fd slave;
};

// A console whose two destinations are pipes that the test reads.
struct Fixture {
  explicit Fixture(ConsoleStyle style = {}, ConsoleLimits limits = {}) {
    for (auto* pipe : {&out, &err}) {
      auto made = base::make_pipe();
      REQUIRE(made);
      *pipe = std::move(*made);
      REQUIRE(::fcntl(pipe->first.get(), F_SETFL, O_NONBLOCK) == 0);
    }
    open(out.second.get(), err.second.get(), style, limits);
  }

  void open(int out_fd, int err_fd, ConsoleStyle style = {}, ConsoleLimits limits = {}) {
    console = Console::open(
        loop.executor(), out_fd, err_fd, style, "default", [this] { ++drained; }, limits);
  }

  static void read_into(std::string& text, const base::Fd& from) {
    char buffer[65536];
    for (ssize_t got = 0; (got = ::read(from.get(), buffer, sizeof buffer)) > 0;) {
      text.append(buffer, static_cast<std::size_t>(got));
    }
  }

  [[nodiscard]] bool flush() {
    bool flushed = false;
    console->flush([&] { flushed = true; });
    const bool in_time = loop.run_until([&] {
      read_into(out_text, out.first);
      read_into(err_text, err.first);
      return flushed;
    });
    read_into(out_text, out.first);
    read_into(err_text, err.first);
    return in_time;
  }

  robustrun::test::Loop loop;
  base::FdPair out;
  base::FdPair err;
  std::string out_text;
  std::string err_text;
  int drained = 0;
  std::unique_ptr<Console> console;
};

}  // namespace

TEST_CASE("lines of both streams arrive whole, complete and in order at their destinations") {
  Fixture f(ranks());
  std::string out_wanted;
  std::string err_wanted;
  for (int i = 0; i < 2000; ++i) {
    std::string out_chunk;
    std::string err_chunk;
    for (int j = 0; j < 50; ++j) {
      const std::string line = std::to_string(i * 50 + j) + std::string(60, '.') + "\n";
      out_chunk += line;
      out_wanted += "[rank 3] " + line;
      err_chunk += line;
      err_wanted += "[rank 5] " + line;
    }
    f.console->write(output(3, out_chunk), "node7");
    f.console->write(output(5, err_chunk, true), "node7");
    REQUIRE(f.loop.run_until([&] {
      Fixture::read_into(f.out_text, f.out.first);
      Fixture::read_into(f.err_text, f.err.first);
      return !f.console->congested();
    }));
  }
  REQUIRE(f.flush());
  CHECK(base::hash64(f.out_text) == base::hash64(out_wanted));
  CHECK(base::hash64(f.err_text) == base::hash64(err_wanted));
  CHECK(f.console->dropped_bytes() == 0);
}

TEST_CASE("streams that share one destination are kept apart there") {
  Fixture f(ranks());
  f.open(f.out.second.get(), f.out.second.get(), ranks());
  f.console->write(output(0, "half"), "node7");
  f.console->write(output(1, "error\n", true), "node7");
  f.console->write(output(0, " a line"), "node7");
  REQUIRE(f.flush());
  CHECK(f.out_text == "[rank 0] half\n[rank 1] error\n[rank 0]  a line\n");
}

TEST_CASE("the descriptors' flags stay as they are") {
  Fixture f;
  f.console->write(output(0, "x\n"), "node7");
  REQUIRE(f.flush());
  CHECK((::fcntl(f.out.second.get(), F_GETFL) & O_NONBLOCK) == 0);
  f.console.reset();
  CHECK((::fcntl(f.out.second.get(), F_GETFL) & O_NONBLOCK) == 0);
  CHECK(::fcntl(f.out.second.get(), F_GETFD) >= 0);
}

TEST_CASE("a descriptor that others have made non-blocking loses nothing") {
  Fixture f;
  REQUIRE(::fcntl(f.out.second.get(), F_SETFL, O_NONBLOCK) == 0);
  f.console->write(output(0, lines(500'000, 'a')), "node7");
  REQUIRE(f.flush());
  CHECK(f.out_text == lines(500'000, 'a'));
}

TEST_CASE("a slow reader congests the console, which says when it has drained") {
  Fixture f({}, {.congested_bytes = 200'000, .queue_bytes_max = 1'000'000});
  f.console->write(output(0, lines(300'000, 'a')), "node7");
  CHECK(!f.console->congested());  // being written
  f.console->write(output(0, lines(300'000, 'b')), "node7");
  CHECK(f.console->congested());
  f.loop.run_for(10ms);
  CHECK(f.drained == 0);
  REQUIRE(f.loop.run_until([&] {
    Fixture::read_into(f.out_text, f.out.first);
    return f.drained == 1;
  }));
  CHECK(!f.console->congested());
  REQUIRE(f.flush());
  CHECK(f.out_text == lines(300'000, 'a') + lines(300'000, 'b'));
}

TEST_CASE("a reader that takes a little now and then is slow, not stuck") {
  Fixture f({}, {.congested_bytes = 100'000, .queue_bytes_max = 200'000, .stall_max = 700ms});
  f.console->write(output(0, lines(200'000, 'a')), "node7");
  f.console->write(output(0, lines(150'000, 'a')), "node7");
  for (int i = 0; i < 8; ++i) {
    char page[8192];
    REQUIRE(f.loop.run_until([&] { return ::read(f.out.first.get(), page, sizeof page) > 0; }));
    f.loop.run_for(100ms);
    CHECK(f.console->congested());
  }
  CHECK(f.console->dropped_bytes() == 0);
}

TEST_CASE("a reader that takes nothing is given up, memory stays bounded, and a line tells it") {
  Fixture f(ranks(), {.congested_bytes = 100'000, .queue_bytes_max = 200'000, .stall_max = 60ms});
  f.console->write(output(0, lines(300'000, 'a')), "node7");
  f.console->write(output(0, lines(150'000, 'b')), "node7");
  CHECK(f.console->congested());
  REQUIRE(f.loop.run_until([&] { return f.drained == 1; }));
  for (int i = 0; i < 100; ++i) f.console->write(output(0, lines(100'000, 'c')), "node7");
  CHECK(!f.console->congested());
  CHECK(f.console->held_bytes() < 2'000'000);
  CHECK(f.console->dropped_bytes() == 99 * 100'000);
  bool flushed = false;  // not waited for
  f.console->flush([&] { flushed = true; });
  REQUIRE(f.loop.run_until([&] { return flushed; }));
  // It moves again.
  REQUIRE(f.loop.run_until([&] {
    Fixture::read_into(f.out_text, f.out.first);
    return f.out_text.ends_with("s]\n") || f.out_text.find("missing here") != std::string::npos;
  }));
  CHECK(f.out_text.find("[robustrun: 9900000 bytes of output are missing here: standard output "
                        "took no bytes for") != std::string::npos);
  f.console->write(output(0, "again\n"), "node7");
  REQUIRE(f.flush());
  CHECK(f.out_text.ends_with("\n[rank 0] again\n"));
}

TEST_CASE("a copy has everything that is shown, and what a destination is too slow for") {
  ConsoleLimits limits;
  limits.congested_bytes = 100'000;
  limits.queue_bytes_max = 200'000;
  limits.stall_max = 20ms;
  Fixture f(ranks(), limits);
  std::string copied[2];
  f.console->copy_to([&](bool is_stderr, std::string_view bytes) { copied[is_stderr] += bytes; });
  f.console->write(output(3, "one\n"), "node7");
  f.console->write(output(4, "bad\n", true), "node7");
  CHECK(copied[0] == "[rank 3] one\n");
  CHECK(copied[1] == "[rank 4] bad\n");
  std::size_t sent = 0;
  for (int i = 0; i < 20; ++i) {   // the pipes have no reader
    const std::string chunk = lines(100'000, 'x');
    f.console->write(output(3, chunk), "node7");
    sent += chunk.size() + 1000 * std::string("[rank 3] ").size();
  }
  CHECK(f.console->dropped_bytes() > 0);
  CHECK(copied[0].size() == sent + std::string("[rank 3] one\n").size());
}

TEST_CASE("a closed pipe drops the rest without a word and without harm") {
  Fixture f;
  f.out.first.reset();
  f.console->write(output(0, lines(100'000, 'a')), "node7");
  f.console->write(output(0, lines(100'000, 'a')), "node7");
  f.console->write(output(0, "error\n", true), "node7");
  bool flushed = false;
  f.console->flush([&] { flushed = true; });
  REQUIRE(f.loop.run_until([&] { return flushed; }));
  f.console->write(output(0, "more\n"), "node7");
  CHECK(!f.console->congested());
  CHECK(f.console->dropped_bytes() == 200'005);
  Fixture::read_into(f.err_text, f.err.first);
  CHECK(f.err_text == "error\n");
}

TEST_CASE("a destination without space drops and counts") {
  Fixture f;
  const base::Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  REQUIRE(full);
  f.open(full.get(), full.get());
  f.console->write(output(0, lines(100'000, 'a')), "node7");
  REQUIRE(f.loop.run_until([&] { return f.console->dropped_bytes() == 100'000; }));
  f.console->write(output(0, lines(100'000, 'a')), "node7");
  CHECK(!f.console->congested());
  CHECK(f.console->dropped_bytes() == 200'000);
}

TEST_CASE("a regular file gets everything, and closed descriptors are no console at all") {
  robustrun::test::Scratch scratch;
  Fixture f;
  const base::Fd file(::open(scratch.path("out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  f.open(file.get(), -1);
  f.console->write(output(0, lines(3'000'000, 'a')), "node7");
  f.console->write(output(0, "lost\n", true), "node7");
  REQUIRE(f.flush());
  CHECK(f.console->dropped_bytes() == 5);
  CHECK(base::read_file(scratch.path("out"), 10'000'000).value_or("") == lines(3'000'000, 'a'));
}

TEST_CASE("a terminal gets everything, and a stopped one does not delay the exit") {
  Fixture f;
  const Terminal terminal;
  f.open(terminal.slave.get(), terminal.slave.get(), {}, {.stall_max = 60ms});
  f.console->write(output(0, "hello\n"), "node7");
  std::string seen;
  REQUIRE(f.loop.run_until([&] {
    Fixture::read_into(seen, terminal.master);
    return seen == "hello\r\n";
  }));
  f.console->write(output(0, lines(1'000'000, 'a')), "node7");  // the master has no reader any more
  bool flushed = false;
  f.console->flush([&] { flushed = true; });
  REQUIRE(f.loop.run_until([&] { return flushed; }));
  const auto before = std::chrono::steady_clock::now();
  f.console.reset();
  CHECK(std::chrono::steady_clock::now() - before < 5s);
}

TEST_CASE("a flushed console leaves nothing for the loop to wait for") {
  Fixture f;
  f.console->write(output(0, "x\n"), "node7");
  REQUIRE(f.flush());
  const auto before = std::chrono::steady_clock::now();
  f.loop.run_out();
  CHECK(std::chrono::steady_clock::now() - before < kConsoleStallMax / 2);
}

TEST_CASE("an idle console holds no memory") {
  Fixture f({}, {.stall_max = 40ms});
  f.console->write(output(0, lines(60'000, 'a')), "node7");
  REQUIRE(f.loop.run_until([&] {
    Fixture::read_into(f.out_text, f.out.first);
    return f.console->held_bytes() < 64;
  }));
}

TEST_CASE("a bar that becomes a line has the name of its worker's host") {
  ConsoleStyle style;
  style.prefix = ConsoleStyle::Prefix::kTemplate;
  style.prefix_template = "[${hostname}] ";
  style.live = true;
  Fixture f;
  const Terminal terminal;
  f.open(f.out.second.get(), terminal.slave.get(), style);
  f.console->write(output(3, "\r 10% |#  |\r 90% |###|", true), "node7");
  f.console->end_bars();
  REQUIRE(f.flush());
  std::string shown;
  REQUIRE(f.loop.run_until([&] {
    Fixture::read_into(shown, terminal.master);
    return shown.find("[node7]  90% |###|") != std::string::npos;
  }));
  CHECK(shown.find("10%") == std::string::npos);
}

TEST_CASE("where there is no terminal, bars are shown as any other output") {
  ConsoleStyle style = ranks();
  style.live = true;
  const robustrun::test::Scratch scratch;
  const std::string path = scratch / "console";
  Fixture f;
  const base::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  f.open(file.get(), file.get(), style);
  f.console->write(output(3, "a 10%\r", true), "node7");
  REQUIRE(f.flush());
  const auto shown = base::read_file(path, 1000);
  REQUIRE(shown);
  CHECK(shown->find("a 10%") != std::string::npos);
  CHECK(shown->find('\x1b') == std::string::npos);
}

}  // namespace console_test
