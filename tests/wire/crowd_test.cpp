// More unidentified peers at the supervisor's port than it has slots for: silent ones give way.

#include <unistd.h>

#include <filesystem>

#include "tests/wire/run_ends.h"

namespace crowd_test {

using namespace std::chrono_literals;
using namespace robustrun::test;
using namespace robustrun::wire;
using robustrun::base::Fd;
using robustrun::base::write_all;

TEST_CASE("an agent waits until silent peers are disconnected") {
  boost::asio::io_context loop;
  Server server(loop, {.limits = {.handshakes_max = 2, .handshake_max = 400ms}});
  std::vector<Fd> crowd;
  for (int i = 0; i < 5; ++i) crowd.push_back(tcp_to(server.listener->port()));
  Caller caller(loop, server.credential());
  caller.dial();
  REQUIRE(run_until(loop, [&] { return server.listener->counters().accepted >= 2; }));
  CHECK(server.listener->counters().accepted == 2);
  REQUIRE(run_until(loop, [&] { return caller.result.has_value(); }));
  CHECK(caller.result->has_value());
  CHECK(server.listener->counters().refused >= 4);  // all earlier peers, except perhaps one
}

TEST_CASE("silent strangers in all slots delay an agent only briefly") {
  boost::asio::io_context loop;
  Server server(loop);
  std::vector<Fd> crowd;
  for (std::size_t i = 0; i < kHandshakesMax; ++i) {
    crowd.push_back(tcp_to(server.listener->port()));
    // Some send a few bytes that look like TLS.
    if (i % 2 == 0) REQUIRE(write_all(crowd.back().get(), "\x16\x03\x01"));
  }
  REQUIRE(run_until(loop, [&] { return server.listener->counters().accepted == kHandshakesMax; }));
  CHECK(server.listener->counters().refused == 0);
  Caller caller(loop, server.credential());
  const auto start = std::chrono::steady_clock::now();
  CHECK(caller.call());
  REQUIRE(run_until(loop, [&] { return server.listener->counters().admitted == 1; }));
  CHECK(std::chrono::steady_clock::now() - start < kHandshakeMax / 2);
  // One place for the enrolment, which gives it back, and one for the agent.
  CHECK(server.listener->counters().refused <= 2);
  CHECK(server.listener->counters().refused >= 1);
  CHECK(server.listener->counters().last_refusal.find("while others waited") != std::string::npos);
  CHECK(is_closed(crowd.front()));
  CHECK_FALSE(is_closed(crowd.back()));
}

TEST_CASE("a crowd of strangers does not delay an agent from an address that is known") {
  boost::asio::io_context loop;
  Server server(loop, {.limits = {.handshakes_max = 2, .silent_before_hello_max = 10'000ms}});
  const auto& counters = server.listener->counters();
  Caller first(loop, server.credential());
  REQUIRE(first.call());
  REQUIRE(run_until(loop, [&] { return counters.admitted == 1; }));
  const auto accepted = counters.accepted;
  std::vector<Fd> crowd;
  bool is_full = false;  // more than may wait
  for (std::size_t i = 0; i < kWaitingStrangersMax + 100 && !is_full; ++i) {
    crowd.push_back(tcp_to(server.listener->port(), "127.7.7.7"));
    loop.restart();
    loop.poll();
    is_full = i >= 2 && is_closed(crowd.back());
  }
  CHECK(is_full);
  CHECK(counters.accepted == accepted + 2);
  CHECK_FALSE(is_closed(crowd.front()));
  check_still_admits(server);
}

TEST_CASE("a crowd of strangers does not delay the first agent from an address that is expected") {
  boost::asio::io_context loop;
  Server server(loop, {.limits = {.handshakes_max = 2, .silent_before_hello_max = 10'000ms}});
  const auto& counters = server.listener->counters();
  server.listener->expect("127.0.0.1");
  std::vector<Fd> crowd;
  for (std::size_t i = 0; i < kWaitingStrangersMax + 100; ++i) {
    crowd.push_back(tcp_to(server.listener->port(), "127.7.7.7"));
    loop.restart();
    loop.poll();
  }
  REQUIRE(run_until(loop, [&] { return is_closed(crowd.back()); }));  // more than may wait
  CHECK(counters.admitted == 0);
  check_still_admits(server);
}

TEST_CASE("strangers give way before a silent peer from an address that is known") {
  boost::asio::io_context loop;
  Server server(loop, {.limits = {.handshakes_max = 2, .silent_before_hello_max = 20ms}});
  const auto& counters = server.listener->counters();
  Caller first(loop, server.credential());
  REQUIRE(first.call());
  REQUIRE(run_until(loop, [&] { return counters.admitted == 1; }));
  const auto accepted = counters.accepted;
  const Fd known = tcp_to(server.listener->port());
  std::vector<Fd> crowd;
  for (int i = 0; i < 5; ++i) crowd.push_back(tcp_to(server.listener->port(), "127.7.7.7"));
  REQUIRE(run_until(loop, [&] { return counters.accepted == accepted + 6; }));
  CHECK_FALSE(is_closed(known));
}

TEST_CASE("a peer that has begun TLS is kept in preference to silent ones") {
  boost::asio::io_context loop;
  Server server(loop, {.limits = {.handshakes_max = 3, .silent_before_hello_max = 20ms}});
  const TlsContext anybody = Stranger::context();
  const Fd slow = tcp_to(server.listener->port());
  const auto stream = TlsStream::make(anybody, slow.get(), TlsStream::Side::kClient).value();
  REQUIRE(run_until(loop, [&] { return stream->handshake().value() == Stream::Waits::kNothing; }));
  std::vector<Fd> crowd;
  for (int i = 0; i < 10; ++i) crowd.push_back(tcp_to(server.listener->port()));
  check_still_admits(server);
  CHECK(server.listener->counters().refused >= 8);
  char room[16];
  CHECK(stream->read(room));  // nothing, but no end either
}

TEST_CASE("disconnected strangers leave no descriptors behind") {
  boost::asio::io_context loop;
  Server server(loop, {.limits = {.handshakes_max = 2, .silent_before_hello_max = 0ms}});
  const auto descriptors = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const auto before = descriptors();
  std::vector<Fd> crowd;
  for (int i = 0; i < 40; ++i) crowd.push_back(tcp_to(server.listener->port()));
  REQUIRE(refused(server, 38));
  CHECK(descriptors() == before + 40 + 2);
}

TEST_CASE("a peer that is silent after beginning TLS gives way, too, but later") {
  boost::asio::io_context loop;
  Server server(loop, {.limits = {.handshakes_max = 1, .silent_after_hello_max = 60ms}});
  const TlsContext anybody = Stranger::context();
  const Fd silent = tcp_to(server.listener->port());
  const auto stream = TlsStream::make(anybody, silent.get(), TlsStream::Side::kClient).value();
  REQUIRE(run_until(loop, [&] { return stream->handshake().value() == Stream::Waits::kNothing; }));
  check_still_admits(server);
  CHECK(server.listener->counters().refused == 1);
}

TEST_CASE("a full listener disconnects no peer before others wait, nor before its time") {
  boost::asio::io_context loop;
  for (const auto patience : {20ms, 10000ms}) {
    Server server(loop, {.limits = {.handshakes_max = 2, .silent_before_hello_max = patience}});
    const Fd first = tcp_to(server.listener->port());
    const Fd second = tcp_to(server.listener->port());
    REQUIRE(run_until(loop, [&] { return server.listener->counters().accepted == 2; }));
    loop.restart();
    loop.run_for(60ms);
    CHECK(server.listener->counters().refused == 0);
    const Fd third = tcp_to(server.listener->port());
    if (patience == 20ms) {
      REQUIRE(run_until(loop, [&] { return server.listener->counters().accepted == 3; }));
      CHECK(is_closed(first));
    } else {
      loop.restart();
      loop.run_for(60ms);
      CHECK(server.listener->counters().accepted == 2);
      CHECK_FALSE(is_closed(first));
    }
    CHECK_FALSE(is_closed(second));
  }
}

TEST_CASE("a hello that waits to be read does not count as silence") {
  boost::asio::io_context loop;
  Server server(loop, {.limits = {.handshakes_max = 1, .silent_before_hello_max = 0ms}});
  const TlsContext anybody = Stranger::context();
  const Fd fd = tcp_to(server.listener->port());
  const auto stream = TlsStream::make(anybody, fd.get(), TlsStream::Side::kClient).value();
  CHECK(stream->handshake().value() == Stream::Waits::kReadable);
  const Fd other = tcp_to(server.listener->port());
  // Both have come when the listener reads.
  REQUIRE(run_until(loop, [&] { return stream->handshake().value() == Stream::Waits::kNothing; }));
  CHECK(server.listener->counters().accepted == 1);
  CHECK(server.listener->counters().refused == 0);
}

}  // namespace crowd_test
