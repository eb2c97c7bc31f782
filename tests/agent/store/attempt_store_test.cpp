#include "agent/store/attempt_store.h"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <random>

#include "agent/process/port.h"

namespace attempt_store_test {

using namespace robustrun;
using agent::AttemptStore;

namespace {

struct Fixture {
  base::SystemClock clock;
  boost::asio::io_context loop{1};
  base::BlockingPool pool{loop.get_executor(), 1, 1};
  agent::NodeContext node{
      loop.get_executor(), clock, pool, [](const wire::Message&) {}, {}, {}, {}};
  base::Rng rng{std::random_device{}()};
  AttemptStore store{node};

  Fixture() { node.started_with.agent_store = true; }

  // Whether something listens there.
  bool listens(std::uint16_t port) {
    using boost::asio::ip::tcp;
    boost::system::error_code error;
    tcp::socket socket(loop);
    socket.connect({boost::asio::ip::address_v4::loopback(), port}, error);
    return !error;
  }
};

}  // namespace

TEST_CASE("the port is taken from its reservation on, and free once the attempt was stopped") {
  Fixture f;
  const std::uint16_t port = f.store.reserve(f.rng).value();
  CHECK(f.listens(port));
  f.store.end_attempt();  // an earlier one's
  CHECK(f.listens(port));
  f.store.begin_attempt({port, true, true});
  CHECK(f.listens(port));
  f.store.end_attempt();
  CHECK(!f.listens(port));
  f.store.begin_attempt({port, true, true});  // with a fixed MASTER_PORT
  CHECK(f.listens(port));
}

TEST_CASE("only the node of rank 0 serves a store") {
  Fixture f;
  const std::uint16_t port = f.store.reserve(f.rng).value();
  f.store.begin_attempt({port, false, false});
  CHECK(!f.listens(port));
}

TEST_CASE("a store that is left to the worker, or asked for there, leaves the port free") {
  Fixture f;
  std::uint16_t port = f.store.reserve(f.rng).value();
  f.store.begin_attempt({port, true, true});
  f.store.leave_to_worker();
  CHECK(!f.listens(port));
  CHECK(!f.node.started_with.agent_store);
  port = f.store.reserve(f.rng).value();
  CHECK(!f.listens(port));
  f.store.begin_attempt({port, true, true});
  CHECK(!f.listens(port));
}

TEST_CASE("a port that another program has leaves the store to the worker") {
  Fixture f;
  Fixture other;
  const std::uint16_t port = other.store.reserve(other.rng).value();
  f.store.begin_attempt({port, true, true});
  CHECK(!f.node.started_with.agent_store);
  CHECK(other.listens(port));
}

}  // namespace attempt_store_test
