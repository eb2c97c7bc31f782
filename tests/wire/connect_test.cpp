// Agents connect to their supervisor: dialer and listener in normal use.

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <filesystem>

#include "tests/wire/run_ends.h"

namespace connect_test {

using namespace std::chrono_literals;
using namespace robustrun::test;
using namespace robustrun::wire;
using robustrun::base::Errc;

namespace {

void check_talk(boost::asio::io_context& loop, End& left, End& right) {
  left.channel->send(output(3 << 20));
  right.channel->send(Heartbeat{.sequence = 5});
  REQUIRE(run_until(loop, [&] { return left.messages.size() == 1 && right.messages.size() == 1; }));
  CHECK(std::get<Output>(right.messages[0]).bytes.size() == 3 << 20);
  CHECK(std::get<Heartbeat>(left.messages[0]).sequence == 5);
}

std::uint16_t port_of(int fd) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  REQUIRE(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  return ntohs(address.sin_port);
}

// A listening socket that never accepts; the kernel completes `backlog` connections.
struct Silent {
  robustrun::base::Fd listener{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};

  explicit Silent(int backlog) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(listener.get(), backlog) == 0);
  }
  [[nodiscard]] std::uint16_t port() const { return port_of(listener.get()); }
  [[nodiscard]] std::string endpoint() const { return "127.0.0.1:" + std::to_string(port()); }
};

// A port without a listener.
std::string deserted() { return Silent(1).endpoint(); }

}  // namespace

TEST_CASE("an agent enrols once, connects, and both ends exchange messages") {
  boost::asio::io_context loop;
  Server server(loop);
  Caller caller(loop, server.credential());
  REQUIRE(caller.call());
  CHECK((*caller.result)->node.value == 3);
  CHECK((*caller.result)->generation.value == 2);
  CHECK((*caller.result)->addresses.local == "127.0.0.1");
  REQUIRE(run_until(loop, [&] { return server.agents.size() == 1; }));
  Server::Admitted& agent = *server.agents[0];
  CHECK(agent.name ==
        PeerName{.run_id = "run-1", .supervisor = false, .node = {3}, .generation = {2}});
  CHECK(agent.addresses.remote == "127.0.0.1");
  CHECK(agent.hello.host == "node-a");
  REQUIRE(server.enrolments.size() == 1);
  CHECK(server.enrolments[0].pid == 4711);
  check_talk(loop, caller.end, agent.end);

  // A broken connection is made again with the same certificate.
  caller.end.channel->close();
  REQUIRE(run_until(loop, [&] { return agent.end.closed.has_value(); }));
  CHECK(agent.end.closed->code == Errc::kUnavailable);
  REQUIRE(caller.call());
  REQUIRE(run_until(loop, [&] { return server.agents.size() == 2; }));
  CHECK(server.agents[1]->name == agent.name);
  const ListenerCounters& counters = server.listener->counters();
  CHECK(counters.accepted == 3);
  CHECK(counters.enrolled == 1);
  CHECK(counters.admitted == 2);
  CHECK(counters.refused == 0);
  CHECK(server.lines.empty());
}

TEST_CASE("IPv6 and the address of every interface work as well") {
  boost::asio::io_context loop;
  Server only6(loop, {.address = "::1"});
  Credential credential = only6.credential();
  credential.endpoints = {"[::1]:" + std::to_string(only6.listener->port())};
  Caller over6(loop, credential);
  REQUIRE(over6.call());
  CHECK((*over6.result)->addresses.remote == "::1");

  Server both(loop, {.address = ""});
  for (const std::string host : {"127.0.0.1", "::1"}) {
    credential = both.credential();
    credential.endpoints = {(host == "::1" ? "[::1]:" : "127.0.0.1:") +
                            std::to_string(both.listener->port())};
    Caller caller(loop, credential);
    const std::size_t before = both.agents.size();
    REQUIRE(caller.call());
    REQUIRE(run_until(loop, [&] { return both.agents.size() == before + 1; }));
    CHECK(both.agents.back()->addresses.remote == host);
    CHECK(both.agents.back()->addresses.local == host);
  }
}

TEST_CASE("the secret alone is enough to find the run's authority") {
  boost::asio::io_context loop;
  Server server(loop);
  Credential credential = server.credential();
  credential.ca_fingerprint.clear();
  credential.node.reset();
  Caller caller(loop, credential);
  REQUIRE(caller.call());
  CHECK((*caller.result)->node.value == 99);
}

TEST_CASE("munge, or with --insecure-rdzv nothing, replaces a secret") {
  boost::asio::io_context loop;
  const MungeProofs munge{
      .make = [](const std::string& digest) -> robustrun::base::Result<std::string> {
        return "MUNGE:" + digest;
      },
      .check = [](const std::string& proof, const std::string& digest) -> robustrun::base::Status {
        if (proof == "MUNGE:" + digest) return {};
        return robustrun::base::fail(Errc::kPermission, "not our user");
      }};
  Server with_munge(loop, {.secret = "", .munge = munge});
  Credential credential = with_munge.credential();
  credential.token.clear();
  credential.ca_fingerprint.clear();
  Caller caller(loop, credential, self_example(), munge);
  CHECK(caller.call());
  Caller without(loop, credential);
  CHECK_FALSE(without.call());
  CHECK(without.error().code == Errc::kPermission);

  Server open(loop, {.secret = ""});
  credential.endpoints = {open.endpoint()};
  Caller anybody(loop, credential);
  CHECK(anybody.call());
  // An agent that wants munge does not follow a supervisor that cannot prove its user.
  Caller careful(loop, credential, self_example(), munge);
  CHECK_FALSE(careful.call());
}

TEST_CASE("endpoints are tried in order until one reaches the run's supervisor") {
  boost::asio::io_context loop;
  Server other(loop);
  Server server(loop);
  const Silent blackhole(0);  // its queue is full: no answer at all
  const robustrun::base::Fd filler = tcp_to(blackhole.port());
  Credential credential = server.credential();
  credential.endpoints = {deserted(), "nonsense", blackhole.endpoint(), other.endpoint(),
                          server.endpoint()};
  const DialerLimits limits{.connect_max = 400ms, .handshake_max = 10s};
  Caller caller(loop, credential, self_example(), {}, limits);
  REQUIRE(caller.call());
  REQUIRE(run_until(loop, [&] { return server.agents.size() == 1; }));
  CHECK(other.listener->counters().accepted == 1);
  REQUIRE(caller.call());  // straight to the endpoint that worked
  CHECK(other.listener->counters().accepted == 1);

  credential.endpoints.pop_back();
  Caller lost(loop, credential, self_example(), {}, limits);
  CHECK_FALSE(lost.call());
  CHECK(lost.error().code == Errc::kUnavailable);
  for (const char* part : {"Connection refused", "ADDRESS:PORT", "no answer from there within 1 s",
                           "not of this run"}) {
    CHECK(lost.error().what.find(part) != std::string::npos);
  }
  credential.endpoints = {blackhole.endpoint()};
  Caller late(loop, credential, self_example(), {}, limits);
  CHECK_FALSE(late.call());
  CHECK(late.error().code == Errc::kTimeout);
}

TEST_CASE("an endpoint that is silent after TCP's handshake is abandoned") {
  boost::asio::io_context loop;
  Server server(loop);
  const Silent silent(4);
  Credential credential = server.credential();
  credential.endpoints = {silent.endpoint()};
  Caller caller(loop, credential, self_example(), {}, {.connect_max = 5s, .handshake_max = 40ms});
  CHECK_FALSE(caller.call());
  CHECK(caller.error().code == Errc::kTimeout);
}

TEST_CASE("a dialer destroyed after any step calls no handler") {
  boost::asio::io_context loop;
  Server server(loop);
  bool got_through = false;
  for (int steps = 0; !got_through; ++steps) {
    REQUIRE(steps < 200);
    auto caller = std::make_unique<Caller>(loop, server.credential());
    caller->dial();
    for (int i = 0; i < steps; ++i) {
      loop.restart();
      loop.run_one_for(20ms);
    }
    got_through = caller->result.has_value();
    caller.reset();
    loop.restart();
    loop.poll();
  }
}

TEST_CASE("a listener destroyed after any step closes its connections") {
  boost::asio::io_context loop;
  bool got_through = false;
  for (int steps = 0; !got_through; ++steps) {
    REQUIRE(steps < 200);
    Server server(loop);
    Caller caller(loop, server.credential());
    caller.dial();
    for (int i = 0; i < steps; ++i) {
      loop.restart();
      loop.run_one_for(20ms);
    }
    server.listener.reset();
    REQUIRE(run_until(loop, [&] { return caller.result.has_value(); }));
    got_through = caller.result->has_value();
    if (!got_through) CHECK(caller.error().code == Errc::kUnavailable);
  }
}

TEST_CASE("every descriptor of a connection is close-on-exec, and TCP has our options") {
  boost::asio::io_context loop;
  Server server(loop);
  Caller caller(loop, server.credential());
  REQUIRE(caller.call());
  REQUIRE(run_until(loop, [&] { return server.agents.size() == 1; }));
  int connected = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename().string());
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) continue;
    if (peer.sin_family != AF_INET) continue;
    ++connected;
    CHECK((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    CHECK((::fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
    for (const auto& [level, name] : {std::pair<int, int>{IPPROTO_TCP, TCP_NODELAY},
                                      std::pair<int, int>{SOL_SOCKET, SO_KEEPALIVE},
                                      std::pair<int, int>{IPPROTO_TCP, TCP_USER_TIMEOUT}}) {
      int value = 0;
      socklen_t length = sizeof value;
      REQUIRE(::getsockopt(fd, level, name, &value, &length) == 0);
      CHECK(value > 0);
    }
  }
  CHECK(connected >= 2);
}

TEST_CASE("many agents come at once") {
  boost::asio::io_context loop;
  Server server(loop, {.limits = {.handshakes_max = 8, .handshake_max = 10s}});
  std::vector<std::unique_ptr<Caller>> callers;
  constexpr std::uint32_t kCount = 60;
  for (std::uint32_t i = 0; i < kCount; ++i) {
    Credential credential = server.credential();
    credential.node->value = i;
    callers.push_back(std::make_unique<Caller>(loop, credential));
    callers.back()->dial();
  }
  REQUIRE(run_until(loop, [&] { return server.agents.size() == kCount; }));
  std::vector<bool> seen(kCount);
  for (const auto& agent : server.agents) seen[agent->name.node.value] = true;
  CHECK(std::ranges::find(seen, false) == seen.end());
  CHECK(server.listener->counters().refused == 0);
}

TEST_CASE("a taken port is a conflict that names its owner") {
  boost::asio::io_context loop;
  Server server(loop);
  const auto open = [&](const std::string& address, std::uint16_t port) {
    return Listener::open(
        loop.get_executor(), address, port, server.authority, kTestSecret,
        {.on_enrol = [&](const Enrol& enrol,
                         const ConnectionAddresses&) { return server.decide(enrol); },
         .on_agent = [](const PeerName&, const ConnectionAddresses&, const Hello&,
                        const std::shared_ptr<Channel>&) {},
         .on_refused = nullptr});
  };
  for (const std::string address : {"127.0.0.1", ""}) {
    const auto second = open(address, server.listener->port());
    REQUIRE_FALSE(second);
    CHECK(second.error().code == Errc::kConflict);
    CHECK(second.error().what.find("process " + std::to_string(::getpid())) != std::string::npos);
  }
  CHECK(open("192.0.2.1", 0).error().code == Errc::kNotFound);
  CHECK(open("localhost", 0).error().code == Errc::kInvalidArgument);
}

TEST_CASE("this machine's addresses end with loopback's") {
  const auto all = local_addresses().value();
  REQUIRE_FALSE(all.empty());
  CHECK((all.back() == "127.0.0.1" || all.back() == "::1"));
  const auto loopback = local_addresses("lo").value();
  CHECK(loopback.front() == "127.0.0.1");
  const auto none = local_addresses("no-such-interface");
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Errc::kNotFound);
  CHECK(none.error().what.find("lo") != std::string::npos);
}

}  // namespace connect_test
