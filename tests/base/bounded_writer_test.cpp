#include "base/io/bounded_writer.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include "tests/support/loop.h"

namespace bounded_writer_test {

// Full disks, dead files and stopped terminals are tested where the writer is used:
// tests/agent/output/log_pump_trouble_test.cpp and tests/supervisor/console/console_test.cpp.

using namespace robustrun;
using namespace std::chrono_literals;

namespace {

base::BoundedWriter::Options options_for(base::Fd fd) {
  base::BoundedWriter::Options options;
  options.fd = std::move(fd);
  options.name = "the pipe";
  options.congested_bytes = 1000;
  options.queue_bytes_max = 2000;
  options.stall_max = 10s;
  options.retry_after = 1s;
  return options;
}

}  // namespace

TEST_CASE("writes appear in order, and settled() is true once all are written") {
  test::Loop loop;
  base::BlockingPool pool(loop.executor(), 1, 8);
  auto pipe = base::make_pipe();
  REQUIRE(pipe);
  int progress = 0;
  base::BoundedWriter writer(loop.executor(), pool, 0, options_for(std::move(pipe->second)),
                             {.on_progress = [&] { ++progress; }, .on_trouble = {}});
  CHECK(writer.settled());
  std::string sent;
  for (int i = 0; i < 10; ++i) {
    sent += std::to_string(i);
    writer.append(std::to_string(i));
  }
  CHECK(!writer.settled());
  REQUIRE(loop.run_until([&] { return writer.settled(); }));
  CHECK(progress > 0);
  char read[64];
  const ssize_t got = ::read(pipe->first.get(), read, sizeof read);
  CHECK(std::string(read, static_cast<std::size_t>(got)) == sent);
}

TEST_CASE("a producer that ignores congestion cannot exceed the limit") {
  test::Loop loop;
  base::BlockingPool pool(loop.executor(), 1, 8);
  auto pipe = base::make_pipe();
  REQUIRE(pipe);
  REQUIRE(::fcntl(pipe->first.get(), F_SETPIPE_SZ, 4096) == 4096);
  base::BoundedWriter writer(loop.executor(), pool, 0, options_for(std::move(pipe->second)), {});
  writer.append(std::string(5000, 'a'));
  for (int i = 0; i < 30; ++i) writer.append(std::string(100, 'b'));
  CHECK(writer.congested());
  CHECK(writer.dropped_bytes() == 1000);
  CHECK(!writer.settled());
}

TEST_CASE("a pool that refuses work costs only dropped bytes") {
  test::Loop loop;
  base::BlockingPool pool(loop.executor(), 1, 1);
  auto pipe = base::make_pipe();
  auto other = base::make_pipe();
  REQUIRE(pipe);
  REQUIRE(other);
  REQUIRE(::fcntl(pipe->first.get(), F_SETPIPE_SZ, 4096) == 4096);
  base::BoundedWriter stuck(loop.executor(), pool, 0, options_for(std::move(pipe->second)), {});
  stuck.append(std::string(5000, 'a'));
  // Runs and waits; only then is there room for one job that waits.
  REQUIRE(loop.run_until([&] {
    char byte = 0;
    return ::read(pipe->first.get(), &byte, 1) == 1;
  }));
  base::BoundedWriter second(loop.executor(), pool, 1,
                             options_for(base::Fd(::dup(other->second.get()))), {});
  std::string trouble;
  base::BoundedWriter third(
      loop.executor(), pool, 2, options_for(std::move(other->second)),
      {.on_progress = {}, .on_trouble = [&](const std::string& what) { trouble = what; }});
  second.append("x");
  third.append("yy");
  CHECK(third.dropped_bytes() == 2);
  CHECK(trouble.find("1 jobs are waiting") != std::string::npos);
}

}  // namespace bounded_writer_test
