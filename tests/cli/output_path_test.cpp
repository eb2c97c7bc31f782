// The whole path of worker output in one process: pipes, pumps, console, as agent and supervisor
// do it with the wire between them.

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "supervisor/console.h"
#include "tests/support/log_pump_fixture.h"

using namespace robustrun;

TEST_CASE("200,000 lines of two streams reach one slow reader whole, complete and in order") {
  constexpr int kLines = 100000;
  test::Loop loop;
  test::Scratch scratch;
  base::BlockingPool pool(loop.executor(), 3, 64);
  auto out = base::make_pipe();
  REQUIRE(out);
  REQUIRE(::fcntl(out->first.get(), F_SETFL, O_NONBLOCK) == 0);

  std::array<std::unique_ptr<agent::LogPump>, 2> pumps;
  supervisor::ConsoleStyle style;
  style.prefix = supervisor::ConsoleStyle::Prefix::kTemplate;
  style.prefix_template = "[${role_name}${local_rank}]:";
  const auto console = supervisor::Console::open(
      loop.executor(), out->second.get(), out->second.get(), style, "default",
      [&] {
        for (const auto& pump : pumps) pump->set_congested(false);
      },
      {.congested_bytes = 100'000, .queue_bytes_max = 2'000'000});

  bool flushed = false;
  int finished = 0;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    auto source = base::make_pipe();
    REQUIRE(source);
    agent::LogPumpOptions options;
    options.source = std::move(source->first);
    options.file = scratch.path(std::to_string(rank));
    agent::LogPump::Handlers handlers;
    handlers.on_console = [&, rank](std::string_view bytes, bool partial) {
      wire::Output output;
      output.rank = {rank};
      output.local_rank = {rank};
      output.is_stderr = rank == 1;
      output.partial = partial;
      output.bytes = bytes;
      console->write(output);
      if (!console->congested()) return;
      for (const auto& pump : pumps) pump->set_congested(true);
    };
    handlers.on_finished = [&] {
      if (++finished == 2) console->flush([&] { flushed = true; });
    };
    auto pump = agent::LogPump::open(loop.executor(), pool, std::move(options), handlers);
    REQUIRE(pump);
    pumps[rank] = std::move(*pump);
    REQUIRE(pool.submit(100 + rank,
                        [worker = std::move(source->second)] {
                          std::string text;
                          for (int i = 0; i < kLines; ++i)
                            text += std::to_string(i) + " of the lines\n";
                          static_cast<void>(base::write_all(worker.get(), text));
                        },
                        {}));
  }

  std::string seen;
  REQUIRE(loop.run_until([&] {
    char buffer[65536];
    ssize_t got = 0;
    while ((got = ::read(out->first.get(), buffer, sizeof buffer)) > 0) {
      seen.append(buffer, static_cast<std::size_t>(got));
    }
    return flushed;
  }));
  std::array<int, 2> next{};
  std::size_t at = 0;
  while (at < seen.size()) {
    const std::size_t end = seen.find('\n', at);
    REQUIRE(end != std::string::npos);
    const std::string_view line = std::string_view(seen).substr(at, end - at);
    REQUIRE(line.starts_with("[default"));
    const auto rank = static_cast<std::size_t>(line.at(8) - '0');
    REQUIRE(rank < 2);
    if (line.substr(11) != std::to_string(next[rank]) + " of the lines") FAIL(line);
    ++next[rank];
    at = end + 1;
  }
  CHECK(next == std::array{kLines, kLines});
  CHECK(console->dropped_bytes() == 0);
}
