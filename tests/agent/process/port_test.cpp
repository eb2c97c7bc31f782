#include "agent/process/port.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "agent/process/port_holder.h"
#include "base/io/fd.h"

namespace port_test {

using namespace robustrun;
using agent::candidate_ports;

namespace {

// A socket bound to `port` (0: the kernel's choice) on one family's wildcard address.
struct Bound {
  base::Fd fd;
  std::uint16_t port = 0;

  Bound(int family, std::uint16_t wanted, bool listening) {
    fd = base::Fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(fd);
    const int on = 1;
    REQUIRE(::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(wanted);
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(wanted);
    const bool is_v6 = family == AF_INET6;
    auto* const address =
        is_v6 ? reinterpret_cast<sockaddr*>(&v6) : reinterpret_cast<sockaddr*>(&v4);
    socklen_t size = is_v6 ? sizeof v6 : sizeof v4;
    if (is_v6) {
      REQUIRE(::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) == 0);
    }
    REQUIRE(::bind(fd.get(), address, size) == 0);
    if (listening) REQUIRE(::listen(fd.get(), 1) == 0);
    REQUIRE(::getsockname(fd.get(), address, &size) == 0);
    port = ntohs(is_v6 ? v6.sin6_port : v4.sin_port);
  }
};

bool contains(const std::vector<std::uint16_t>& ports, unsigned port) {
  return std::ranges::binary_search(ports, port);
}

}  // namespace

TEST_CASE("candidates avoid outgoing connections, reserved ports and torchrun's defaults") {
  const auto ports = candidate_ports("32768\t60999\n", "10080,20000-20010\n");
  CHECK(ports.size() > 10'000);
  CHECK(ports.front() == 10'000);
  CHECK(ports.back() == 65'535);
  for (const unsigned port :
       {32'768U, 45'000U, 60'999U, 10'080U, 20'000U, 20'010U, 29'400U, 29'500U}) {
    CHECK(!contains(ports, port));
  }
  for (const unsigned port : {10'001U, 20'011U, 32'767U, 61'000U}) CHECK(contains(ports, port));
}

TEST_CASE("with a wide ephemeral range lower ports are taken, and at worst the range's own") {
  const auto lower = candidate_ports("10000 65535", "");
  CHECK(lower.front() == 1024);
  CHECK(lower.back() == 9999);
  const auto own = candidate_ports("1024 65535", "10000-19999");
  CHECK(own.front() == 20'000);
  CHECK(own.back() == 65'535);
  CHECK(candidate_ports("1024 65535", "1-65535").empty());
}

TEST_CASE("invalid settings restrict nothing") {
  for (const char* const text : {"", "\n", "x y", "7", "-1 -2", "99999999999 1"}) {
    CAPTURE(text);
    CHECK(candidate_ports(text, text).size() > 50'000);
  }
  CHECK(candidate_ports("70000 80000", "0-70000").empty());
}

TEST_CASE("a reserved port is free on IPv4 and IPv6 and outside the ephemeral range") {
  const std::uint64_t seed = base::system_seed();
  INFO("seed ", seed);
  base::Rng rng(seed);
  const auto port = agent::reserve_port(rng);
  REQUIRE(port);
  unsigned first = 0;
  unsigned last = 0;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> first >> last;
  CHECK((*port < first || *port > last));
  CHECK(agent::check_port_free(*port));
  CHECK(*agent::reserve_port(rng) != *port);
}

TEST_CASE("a port that is bound on one family alone is never reserved") {
  // The same seed draws the same port again, unless it is taken meanwhile.
  const std::uint64_t seed = base::system_seed();
  INFO("seed ", seed);
  base::Rng first(seed);
  const auto port = agent::reserve_port(first);
  REQUIRE(port);
  for (const int family : {AF_INET, AF_INET6}) {
    const base::Fd probe(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!probe) continue;  // this machine has no IPv6
    const Bound bound(family, *port, false);
    base::Rng again(seed);
    CHECK(*agent::reserve_port(again) != *port);
  }
}

TEST_CASE("the holder of a port is named by pid, command and user") {
  const Bound server(AF_INET, 0, true);
  const auto holder = agent::port_holder(server.port);
  REQUIRE(holder);
  CHECK(holder->pid == ::getpid());
  CHECK(holder->command.starts_with("test_agent"));
  CHECK(!holder->user.empty());
  const auto status = agent::check_port_free(server.port);
  REQUIRE(!status);
  CHECK(status.error().code == base::Errc::kConflict);
  CHECK(status.error().what == "port " + std::to_string(server.port) + " is in use by pid " +
                                   std::to_string(::getpid()) + " (" + holder->command +
                                   ") of user " + holder->user);
}

TEST_CASE("a listener on IPv6 alone is found as well") {
  const base::Fd probe(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!probe) return;  // this machine has no IPv6
  const Bound server(AF_INET6, 0, true);
  REQUIRE(agent::port_holder(server.port));
  CHECK(agent::port_holder(server.port)->pid == ::getpid());
  CHECK(!agent::check_port_free(server.port));
}

TEST_CASE("a free port has no holder") {
  base::Rng rng(base::system_seed());
  CHECK(!agent::port_holder(*agent::reserve_port(rng)));
}

}  // namespace port_test
