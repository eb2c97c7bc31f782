#pragma once
// A pump with a pipe whose write end the test holds, and everything it passed on.

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "agent/output/log_pump.h"
#include "tests/support/loop.h"
#include "tests/support/scratch.h"

namespace robustrun::test {

struct PumpFixture {
  explicit PumpFixture(bool with_file = true) {
    auto pipe = base::make_pipe();
    REQUIRE(pipe);
    worker = std::move(pipe->second);
    options.source = std::move(pipe->first);
    if (with_file) options.file = scratch.path("stdout.log");
    options.tail_lines = 5;
  }

  void open() {
    agent::LogPump::Handlers handlers;
    handlers.on_console = [this](std::string_view bytes, bool partial) {
      console.append(bytes);
      chunks.emplace_back(bytes);
      partials += partial ? 1 : 0;
    };
    handlers.on_trouble = [this](const std::string& what) { troubles.push_back(what); };
    handlers.on_finished = [this] { ++finished; };
    auto opened = agent::LogPump::open(loop.executor(), pool, std::move(options), handlers);
    REQUIRE(opened);
    pump = std::move(*opened);
  }

  void write(std::string_view bytes) { REQUIRE(base::write_all(worker.get(), bytes)); }

  // For more than the pipe holds: written on a lane of the pool, as a worker would.
  void write_aside(std::string bytes, bool then_close = true) {
    const int fd = worker.get();
    if (then_close) static_cast<void>(worker.release());
    const auto submitted = pool.submit(
        kWorkerLane,
        [fd, then_close, text = std::move(bytes)] {
          static_cast<void>(base::write_all(fd, text));
          if (then_close) base::Fd closing(fd);
        },
        [this] { ++written; });
    REQUIRE(submitted);
  }

  [[nodiscard]] bool run_to_end() {
    return loop.run_until([this] { return finished > 0; });
  }

  [[nodiscard]] std::string file() const {
    return base::read_file(scratch.path("stdout.log"), std::size_t{1} << 30).value_or("");
  }

  static constexpr base::BlockingPool::Lane kWorkerLane = 1000000;
  Scratch scratch;
  Loop loop;
  base::BlockingPool pool{loop.executor(), 3, 64};
  base::Fd worker;
  agent::LogPumpOptions options;
  std::string console;
  std::vector<std::string> chunks;
  std::vector<std::string> troubles;
  int partials = 0;
  int finished = 0;
  int written = 0;
  std::unique_ptr<agent::LogPump> pump;
};

}  // namespace robustrun::test
