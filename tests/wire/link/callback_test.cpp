// A supervisor that took a run over calls its agents, which do not know its address.

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/io/fd.h"
#include "tests/wire/run_ends.h"
#include "wire/link/acceptor.h"
#include "wire/net/tcp.h"

namespace robustrun::wire::callback_test {
namespace {

using namespace std::chrono_literals;
using base::Errc;
using test::Caller;
using test::run_until;
using test::Server;

// An agent that also listens.
struct Listening {
  Caller caller;
  std::vector<base::Result<Dialer::Connected>> answered;
  test::End end;   // of the connection that was made to us last
  std::unique_ptr<Acceptor> acceptor;

  Listening(boost::asio::io_context& loop, const Credential& credential, DialerLimits limits = {})
      : caller(loop, credential, test::self_example(), {}, limits) {
    acceptor = Acceptor::open(loop.get_executor(), [this](base::Fd connection) {
                 caller.dialer->answer(std::move(connection), [this](auto result) {
                   if (result) {
                     end.channel = result->channel;
                     end.channel->set_handlers(end.handlers());
                     end.channel->send(test::hello_example());
                   }
                   answered.push_back(std::move(result));
                 });
               }).value();
  }
  [[nodiscard]] std::string endpoint() const {
    return endpoint_text("127.0.0.1", acceptor->port());
  }
};

TEST_CASE("an agent called by its run's supervisor joins as if it had connected by itself") {
  boost::asio::io_context loop;
  Server first(loop);
  Listening agent(loop, first.credential());
  agent.caller.dial();
  REQUIRE(run_until(loop, [&] { return first.agents.size() == 1; }));
  Server second(loop, {.authority = first.authority.to_pem()});
  second.listener->call(agent.endpoint());
  REQUIRE(run_until(loop, [&] { return second.agents.size() == 1; }));
  CHECK(second.agents.front()->name == first.agents.front()->name);
  CHECK(second.agents.front()->hello.host == "node-a");
  CHECK(second.enrolments.empty());
  second.agents.front()->end.channel->send(Heartbeat{7});
  REQUIRE(run_until(loop, [&] { return !agent.end.messages.empty(); }));
  // From now on it knows the address.
  agent.caller.dialer->set_endpoints({second.endpoint()});
  first.listener.reset();
  agent.caller.dial();
  REQUIRE(run_until(loop, [&] { return second.agents.size() == 2; }));
  CHECK(second.lines.empty());
}

TEST_CASE("calls from anyone but the run's supervisor are rejected") {
  boost::asio::io_context loop;
  Server server(loop);
  Listening agent(loop, server.credential(), {.connect_max = 5s, .handshake_max = 1s});
  SUBCASE("before it has enrolled") {
    Server other(loop, {.authority = server.authority.to_pem()});
    other.listener->call(agent.endpoint());
    REQUIRE(run_until(loop, [&] { return agent.answered.size() == 1; }));
    CHECK(agent.answered.front().error().code == Errc::kUnavailable);
    CHECK(other.agents.empty());
    return;
  }
  agent.caller.dial();
  REQUIRE(run_until(loop, [&] { return server.agents.size() == 1; }));
  SUBCASE("another run's supervisor") {
    Server other(loop);
    other.listener->call(agent.endpoint());
    REQUIRE(run_until(loop, [&] { return agent.answered.size() == 1; }));
    REQUIRE_FALSE(agent.answered.front());
    CHECK(agent.answered.front().error().code == Errc::kPermission);
    CHECK(other.agents.empty());
  }
  SUBCASE("silent callers, and more of them than there are slots") {
    std::vector<base::Fd> silent;
    for (std::size_t i = 0; i < kAnswersMax + 3; ++i) {
      silent.push_back(begin_connect(*parse_endpoint(agent.endpoint())).value());
    }
    // The oldest gave way to the newest without a call of `done`; the others timed out.
    REQUIRE(run_until(loop, [&] { return agent.answered.size() == kAnswersMax; }));
    for (const auto& answer : agent.answered) CHECK(answer.error().code == Errc::kTimeout);
  }
  SUBCASE("callers that are gone at once take no slot") {
    std::size_t failed = 0;
    bool is_first_over = false;
    base::FdPair first = base::make_socket_pair(SOCK_STREAM).value();
    agent.caller.dialer->answer(std::move(first.first), [&](const auto&) { is_first_over = true; });
    for (std::size_t i = 0; i < kAnswersMax; ++i) {
      base::FdPair gone = base::make_socket_pair(SOCK_STREAM).value();
      gone.second.reset();
      agent.caller.dialer->answer(std::move(gone.first),
                                  [&](const auto& result) { failed += result ? 0U : 1U; });
    }
    CHECK(failed == kAnswersMax);
    first.second.reset();
    CHECK(run_until(loop, [&] { return is_first_over; }));
  }
  // Its connection is unaffected, and it can still be called.
  Server second(loop, {.authority = server.authority.to_pem()});
  second.listener->call(agent.endpoint());
  REQUIRE(run_until(loop, [&] { return second.agents.size() == 1; }));
  CHECK(server.agents.front()->end.closed == std::nullopt);
}

TEST_CASE("an agent cannot stop the run") {
  boost::asio::io_context loop;
  Server server(loop);
  Listening agent(loop, server.credential());
  agent.caller.says_hello = false;
  agent.caller.dial();
  REQUIRE(run_until(loop, [&] { return agent.caller.end.channel != nullptr; }));
  agent.caller.end.channel->send(StopRun{});
  REQUIRE(run_until(loop, [&] { return !agent.caller.end.messages.empty(); }));
  CHECK(std::holds_alternative<Refused>(agent.caller.end.messages.front()));
  CHECK(server.agents.empty());
  REQUIRE(server.lines.size() == 1);
  CHECK(server.lines.front().find("only its owner") != std::string::npos);
}

TEST_CASE("a call without an answer is not reported") {
  boost::asio::io_context loop;
  Server server(loop);
  server.listener->call("127.0.0.1:1");
  server.listener->call("no endpoint");
  bool over = false;
  boost::asio::steady_timer timer(loop, 100ms);
  timer.async_wait([&](boost::system::error_code) { over = true; });
  REQUIRE(run_until(loop, [&] { return over; }));
  CHECK(server.lines.empty());
}

}  // namespace
}  // namespace robustrun::wire::callback_test
