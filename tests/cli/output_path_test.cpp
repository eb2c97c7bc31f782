// The whole path of worker output in one process: pipes, pumps, console, as agent and supervisor
// do it with the wire between them.

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "supervisor/console/console.h"
#include "tests/support/log_pump_fixture.h"

namespace output_path_test {

using namespace robustrun;

namespace {

constexpr int kLines = 100000;

// Two pumps in front of one console, whose output goes into a pipe that the test reads.
struct Path {
  test::Loop loop;
  test::Scratch scratch;
  base::BlockingPool pool{loop.executor(), 3, 64};
  base::FdPair out;
  std::array<std::unique_ptr<agent::LogPump>, 2> pumps;
  std::unique_ptr<supervisor::Console> console;
  bool flushed = false;
  int finished = 0;

  Path() {
    auto pipe = base::make_pipe();
    REQUIRE(pipe);
    out = std::move(*pipe);
    REQUIRE(::fcntl(out.first.get(), F_SETFL, O_NONBLOCK) == 0);
    supervisor::ConsoleStyle style;
    style.prefix = supervisor::ConsoleStyle::Prefix::kTemplate;
    style.prefix_template = "[${role_name}${local_rank}]:";
    console = supervisor::Console::open(loop.executor(), out.second.get(), out.second.get(), style,
                                        "default", [this] { set_congested(false); },
                                        {.congested_bytes = 100'000, .queue_bytes_max = 2'000'000});
  }

  void set_congested(bool congested) {
    for (const auto& pump : pumps) pump->set_congested(congested);
  }

  void open_pump(std::uint32_t rank, base::Fd source) {
    agent::LogPumpOptions options;
    options.source = std::move(source);
    options.file = scratch.path(std::to_string(rank));
    agent::LogPump::Handlers handlers;
    handlers.on_console = [this, rank](std::string_view bytes, bool partial) {
      wire::Output output;
      output.rank = {rank};
      output.local_rank = {rank};
      output.is_stderr = rank == 1;
      output.partial = partial;
      output.bytes = bytes;
      console->write(output, "node7");
      if (console->congested()) set_congested(true);
    };
    handlers.on_finished = [this] {
      if (++finished == 2) console->flush([this] { flushed = true; });
    };
    auto pump = agent::LogPump::open(loop.executor(), pool, std::move(options), handlers);
    REQUIRE(pump);
    pumps[rank] = std::move(*pump);
  }

  void write_lines(std::uint32_t lane, base::Fd worker) {
    auto write = [worker = std::move(worker)] {
      std::string text;
      for (int i = 0; i < kLines; ++i) text += std::to_string(i) + " of the lines\n";
      static_cast<void>(base::write_all(worker.get(), text));
    };
    REQUIRE(pool.submit(lane, std::move(write), {}));
  }

  std::string read_until_flushed() {
    std::string seen;
    REQUIRE(loop.run_until([&] {
      char buffer[65536];
      ssize_t got = 0;
      while ((got = ::read(out.first.get(), buffer, sizeof buffer)) > 0) {
        seen.append(buffer, static_cast<std::size_t>(got));
      }
      return flushed;
    }));
    return seen;
  }
};

// How many lines of each rank `seen` holds; fails at the first that is cut or out of order.
std::array<int, 2> count_in_order(std::string_view seen) {
  std::array<int, 2> next{};
  while (!seen.empty()) {
    const std::size_t end = seen.find('\n');
    REQUIRE(end != std::string_view::npos);
    const std::string_view line = seen.substr(0, end);
    REQUIRE(line.starts_with("[default"));
    const auto rank = static_cast<std::size_t>(line.at(8) - '0');
    REQUIRE(rank < 2);
    if (line.substr(11) != std::to_string(next[rank]) + " of the lines") FAIL(line);
    ++next[rank];
    seen.remove_prefix(end + 1);
  }
  return next;
}

}  // namespace

TEST_CASE("200,000 lines of two streams reach one slow reader whole, complete and in order") {
  Path path;
  std::array<base::Fd, 2> workers;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    auto pipe = base::make_pipe();
    REQUIRE(pipe);
    path.open_pump(rank, std::move(pipe->first));
    workers[rank] = std::move(pipe->second);
  }
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    path.write_lines(100 + rank, std::move(workers[rank]));
  }
  CHECK(count_in_order(path.read_until_flushed()) == std::array{kLines, kLines});
  CHECK(path.console->dropped_bytes() == 0);
}

}  // namespace output_path_test
