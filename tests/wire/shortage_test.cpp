// No descriptors left: accepting pauses, is logged once, and resumes when some are free.

#include <sys/resource.h>

#include "tests/wire/run_ends.h"

namespace shortage_test {

using namespace std::chrono_literals;
using namespace robustrun::test;
using robustrun::base::Fd;

namespace {

// Takes every descriptor this process may have.
struct Hoard {
  rlimit before{};
  std::vector<Fd> taken;

  Hoard() {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    rlimit few = before;
    few.rlim_cur = 64;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    while (true) {
      Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (!fd) break;
      taken.push_back(std::move(fd));
    }
  }
  ~Hoard() { ::setrlimit(RLIMIT_NOFILE, &before); }
  Hoard(const Hoard&) = delete;
  Hoard& operator=(const Hoard&) = delete;
};

}  // namespace

TEST_CASE("without free descriptors connections wait, without a busy loop, and are served later") {
  boost::asio::io_context loop;
  Server server(loop);
  const Fd waiting = tcp_to(server.listener->port());
  std::size_t turns = 0;
  {
    const Hoard hoard;
    REQUIRE(run_until(loop, [&] { return !server.lines.empty(); }));
    loop.restart();
    turns = loop.run_for(250ms);
  }
  CHECK(turns < 10);
  REQUIRE(server.lines.size() == 1);
  CHECK(server.lines[0].find("cannot accept connections: Too many open files") !=
        std::string::npos);
  CHECK(server.listener->counters().refused == 0);
  REQUIRE(run_until(loop, [&] { return server.listener->counters().accepted == 1; }));
  Caller caller(loop, server.credential());
  CHECK(caller.call());
}

}  // namespace shortage_test
