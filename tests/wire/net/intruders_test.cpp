// Unwanted connections to the supervisor's port: each is closed and counted, and affects no other.

#include <unistd.h>

#include <cstring>

#include "tests/wire/run_ends.h"
#include "wire/net/tcp.h"

namespace intruders_test {

using namespace std::chrono_literals;
using namespace robustrun::test;
using namespace robustrun::wire;
using robustrun::base::Errc;
using robustrun::base::Fd;
using robustrun::base::NodeId;
using robustrun::base::write_all;

namespace {

PeerName node(std::uint32_t id, const std::string& run = "run-1") {
  return {.run_id = run, .supervisor = false, .node = {id}, .generation = {1}};
}

}  // namespace

TEST_CASE("a wrong secret is refused for good, with the reason") {
  boost::asio::io_context loop;
  Server server(loop);
  Credential credential = server.credential();
  credential.token = "another";
  Caller caller(loop, credential);
  CHECK_FALSE(caller.call());
  CHECK(caller.error().code == Errc::kPermission);
  CHECK(caller.error().what.find("the secret is not this run's") != std::string::npos);
  REQUIRE(refused(server));
  CHECK(server.enrolments.empty());
  CHECK(server.lines.size() == 1);
  CHECK(server.lines[0].find("127.0.0.1") != std::string::npos);
  check_still_admits(server);
}

TEST_CASE("an agent of another run refuses the supervisor, and is refused by it") {
  boost::asio::io_context loop;
  Server server(loop);
  Credential credential = server.credential();
  credential.run_id = "run-2";
  Caller pinned(loop, credential);
  CHECK_FALSE(pinned.call());
  CHECK(pinned.error().code == Errc::kPermission);
  CHECK(pinned.error().what.find("not of this run") != std::string::npos);
  credential.ca_fingerprint.clear();
  Caller unpinned(loop, credential);
  CHECK_FALSE(unpinned.call());
  CHECK(unpinned.error().code == Errc::kPermission);
  CHECK(unpinned.error().what.find("run 'run-2' is not the one") != std::string::npos);
  credential = server.credential();
  credential.ca_fingerprint = std::string(32, 'x');
  Caller elsewhere(loop, credential);
  CHECK_FALSE(elsewhere.call());
  CHECK(elsewhere.error().code == Errc::kPermission);
  REQUIRE(refused(server, 3));
  CHECK(server.enrolments.empty());
}

TEST_CASE("the supervisor's own refusal reaches the agent in its words") {
  boost::asio::io_context loop;
  Server server(loop);
  server.refusal = {Errc::kPermission, 0, "cannot enrol: a newer agent of node 3 was started"};
  Caller caller(loop, server.credential());
  CHECK_FALSE(caller.call());
  CHECK(caller.error().code == Errc::kPermission);
  CHECK(caller.error().what.find("a newer agent of node 3 was started") != std::string::npos);
  server.refusal->code = Errc::kUnavailable;
  CHECK_FALSE(caller.call());
  CHECK(caller.error().code == Errc::kUnavailable);
  server.refusal.reset();
  CHECK(caller.call());
}

TEST_CASE("certificates of another authority, another run or a supervisor are rejected") {
  boost::asio::io_context loop;
  Server server(loop);
  const Authority stranger = Authority::make("run-1").value();
  const Authority before = Authority::from_pem("run-0", server.authority.to_pem()).value();
  const std::pair<const char*, Identity> cases[] = {
      {"not of this run", identity_of(stranger, node(3))},
      {"holder of this certificate", identity_of(before, node(3, "run-0"))},
      {"holder of this certificate", server.authority.issue_supervisor().value()}};
  std::uint64_t count = 0;
  for (const auto& [why, identity] : cases) {
    CAPTURE(why);
    Stranger intruder(loop, server.listener->port(), Stranger::context(identity));
    intruder.end.channel->send(hello_example());
    REQUIRE(refused(server, ++count));
    CHECK(server.listener->counters().last_refusal.find(why) != std::string::npos);
    REQUIRE(run_until(loop, [&] { return intruder.end.closed.has_value(); }));
  }
  CHECK(server.agents.empty());
  check_still_admits(server);
}

TEST_CASE("the certificate identifies an agent, whatever its messages claim") {
  boost::asio::io_context loop;
  Server server(loop);
  Stranger agent(loop, server.listener->port(),
                 Stranger::context(identity_of(server.authority, node(5))));
  Hello hello = hello_example();
  hello.host = "I am node 3";
  agent.end.channel->send(hello);
  REQUIRE(run_until(loop, [&] { return server.agents.size() == 1; }));
  CHECK(server.agents[0]->name == node(5));
}

TEST_CASE("without a certificate only Enrol is accepted, with one only Hello") {
  boost::asio::io_context loop;
  Server server(loop);
  Stranger anonymous(loop, server.listener->port(), Stranger::context());
  anonymous.end.channel->send(hello_example());
  REQUIRE(refused(server, 1));
  REQUIRE(run_until(loop, [&] { return anonymous.end.closed.has_value(); }));
  REQUIRE(anonymous.end.messages.size() == 1);
  CHECK(std::get<Refused>(anonymous.end.messages[0]).text.find("without a certificate") !=
        std::string::npos);
  Stranger agent(loop, server.listener->port(),
                 Stranger::context(identity_of(server.authority, node(5))));
  agent.end.channel->send(Heartbeat{});
  agent.end.channel->send(hello_example());
  REQUIRE(refused(server, 2));
  CHECK(server.agents.empty());
}

TEST_CASE("an Enrol that a man in the middle passes on to the supervisor is rejected") {
  boost::asio::io_context loop;
  Server server(loop);
  // An impostor at the address where the agent looks for its supervisor.
  const Authority fake = Authority::make("run-1").value();
  const auto context = TlsContext::server(fake.issue_supervisor().value()).value();
  const Fd listener = listen_tcp("127.0.0.1", 0).value();
  Credential credential = server.credential();
  credential.ca_fingerprint.clear();
  credential.endpoints = {"127.0.0.1:" + std::to_string(local_port(listener.get()))};
  Caller victim(loop, credential);
  victim.dial();
  End middle;
  REQUIRE(run_until(loop, [&] {
    Fd fd(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) return false;
    auto stream = TlsStream::make(context, fd.get(), TlsStream::Side::kServer).value();
    middle.open(loop, {std::move(fd), std::move(stream)});
    return true;
  }));
  REQUIRE(run_until(loop, [&] { return middle.messages.size() == 1; }));
  const Enrol stolen = std::get<Enrol>(middle.messages[0]);

  Stranger relay(loop, server.listener->port(), Stranger::context());
  relay.end.channel->send(stolen);
  REQUIRE(run_until(loop, [&] { return relay.end.messages.size() == 1; }));
  CHECK(std::holds_alternative<Refused>(relay.end.messages[0]));
  CHECK(server.enrolments.empty());

  // Nor does the agent accept an impostor that cannot prove the secret.
  Enrolled lure{.node = {3},
                .generation = {2},
                .certificate = fake.sign(stolen.request, node(3)).value(),
                .authority = fake.certificate(),
                .proof = {}};
  lure.proof = supervisor_proof("a guess", stolen, lure);
  middle.channel->send(lure);
  REQUIRE(run_until(loop, [&] { return victim.result.has_value(); }));
  CHECK(victim.error().code == Errc::kPermission);
  CHECK(victim.error().what.find("does not know the secret") != std::string::npos);
}

TEST_CASE("both sides get another protocol version as words") {
  boost::asio::io_context loop;
  Server server(loop);
  Enrol self = self_example();
  self.protocol = 77;
  Caller newer(loop, server.credential(), self);
  CHECK_FALSE(newer.call());
  CHECK(newer.error().code == Errc::kPermission);
  REQUIRE(refused(server, 1));
  for (const std::string& text : {newer.error().what, server.listener->counters().last_refusal}) {
    CHECK(text.find("protocol 77") != std::string::npos);
    CHECK(text.find("install the same robustrun everywhere") != std::string::npos);
  }
  Stranger agent(loop, server.listener->port(),
                 Stranger::context(identity_of(server.authority, node(5))));
  Hello hello = hello_example();
  hello.protocol = 77;
  agent.end.channel->send(hello);
  REQUIRE(run_until(loop, [&] { return agent.end.messages.size() == 1; }));
  CHECK(std::get<Refused>(agent.end.messages[0]).text.find("protocol 77") != std::string::npos);
  Credential credential = server.credential();
  credential.protocol = 78;
  Caller older(loop, credential);
  CHECK_FALSE(older.call());
  CHECK(older.error().code == Errc::kPermission);
  CHECK(older.error().what.find("protocol 78") != std::string::npos);
}

TEST_CASE("garbage, plain messages and old TLS are refused at once") {
  boost::asio::io_context loop;
  Server server(loop);
  std::uint64_t count = 0;
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), std::string(100000, '\xff'),
        frames_of(hello_example()),
        std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11)}) {
    const Fd fd = tcp_to(server.listener->port());
    REQUIRE(write_all(fd.get(), bytes));
    REQUIRE(::shutdown(fd.get(), SHUT_WR) == 0);
    REQUIRE(refused(server, ++count));
    REQUIRE(run_until(loop, [&] { return is_closed(fd); }));
  }
  const TlsContext old = Stranger::context();
  REQUIRE(SSL_CTX_set_min_proto_version(old.get(), TLS1_2_VERSION) == 1);
  REQUIRE(SSL_CTX_set_max_proto_version(old.get(), TLS1_2_VERSION) == 1);
  Stranger intruder(loop, server.listener->port(), old);
  intruder.end.channel->send(self_example());
  REQUIRE(refused(server, ++count));
  REQUIRE(run_until(loop, [&] { return intruder.end.closed.has_value(); }));
  CHECK(server.listener->counters().last_refusal.find("TLS") != std::string::npos);
  check_still_admits(server);
}

TEST_CASE("an oversized, truncated or foreign first frame ends the connection") {
  boost::asio::io_context loop;
  Server server(loop);
  const TlsContext anybody = Stranger::context();
  std::uint64_t count = 0;
  {
    Stranger intruder(loop, server.listener->port(), anybody);
    Enrol large = self_example();
    large.request.resize(kFirstMessageBytesMax);
    intruder.end.channel->send(large);
    REQUIRE(refused(server, ++count));
    REQUIRE(run_until(loop, [&] { return intruder.end.closed.has_value(); }));
  }
  const std::string whole = frames_of(self_example());
  for (const std::string& bytes : {whole.substr(0, whole.size() - 1), whole.substr(0, 3),
                                   std::string("\xff\xff\x00\x00\x63\x00\x00\x00", 8),
                                   std::string("not a frame at all"), std::string()}) {
    Fd fd = tcp_to(server.listener->port());
    const auto stream = TlsStream::make(anybody, fd.get(), TlsStream::Side::kClient).value();
    REQUIRE(
        run_until(loop, [&] { return stream->handshake().value() == Stream::Waits::kNothing; }));
    if (!bytes.empty()) REQUIRE(stream->write(bytes).value().bytes == bytes.size());
    fd.reset();
    REQUIRE(refused(server, ++count));
  }
  check_still_admits(server);
}

TEST_CASE("a peer that is silent, or silent after TLS, is disconnected after the deadline") {
  boost::asio::io_context loop;
  Server server(loop, {.limits = {.handshakes_max = 8, .handshake_max = 400ms}});
  const Fd silent = tcp_to(server.listener->port());
  REQUIRE(refused(server, 1));
  const TlsContext anybody = Stranger::context();
  const Fd fd = tcp_to(server.listener->port());
  const auto stream = TlsStream::make(anybody, fd.get(), TlsStream::Side::kClient).value();
  REQUIRE(run_until(loop, [&] { return stream->handshake().value() == Stream::Waits::kNothing; }));
  REQUIRE(refused(server, 2));
  REQUIRE(run_until(loop, [&] { return is_closed(silent); }));
  CHECK(server.listener->counters().last_refusal.find("in time") != std::string::npos);
}

TEST_CASE("all refusals are counted, but only a few a minute are logged") {
  boost::asio::io_context loop;
  Server server(loop);
  constexpr std::uint64_t kCount = 30;
  for (std::uint64_t i = 1; i <= kCount; ++i) {
    tcp_to(server.listener->port()).reset();
    REQUIRE(refused(server, i));
  }
  CHECK(server.lines.size() == kRefusalLinesPerMinute);
  CHECK(server.lines.back().find("counted only") != std::string::npos);
  CHECK(server.listener->counters().accepted == kCount);
}

}  // namespace intruders_test
