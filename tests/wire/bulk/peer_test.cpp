// Calls between peers: which are reached, detected as strangers, or disconnected.
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/any_io_executor.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/io/fd.h"
#include "tests/support/loop.h"
#include "wire/bulk/peer_call.h"
#include "wire/bulk/peer_listener.h"
#include "wire/messages/limits.h"

namespace robustrun::wire::peer_test {
namespace {

using base::ReachFault;
using std::chrono::milliseconds;

const std::string kNonce(kPeerNonceBytes, 'n');
constexpr base::NodeId kCaller{1}, kCallee{2};

struct Ends {
  test::Loop loop;
  std::vector<base::Fd> exchanges;
  std::unique_ptr<PeerListener> listener = PeerListener::open(
                                               loop.executor(), "127.0.0.1", kNonce, kCallee,
                                               [this](base::NodeId peer, base::Fd connection) {
                                                 CHECK(peer == kCaller);
                                                 exchanges.push_back(std::move(connection));
                                               },
                                               milliseconds(300))
                                               .value();

  OutgoingCall::Outcome call(const std::string& nonce, base::NodeId callee, std::uint32_t port,
                             PeerPurpose purpose = PeerPurpose::kReach,
                             milliseconds within = milliseconds(5000)) {
    std::optional<OutgoingCall::Outcome> outcome;
    const auto caller = OutgoingCall::start(
        loop.executor(), {callee, "127.0.0.1", port}, nonce, kCaller, purpose, within,
        [&](OutgoingCall::Outcome came) { outcome.emplace(std::move(came)); });
    REQUIRE(loop.run_until([&] { return outcome.has_value(); }));
    return std::move(*outcome);
  }
};

// A TCP socket of ours on 127.0.0.1; its port. With `backlog` < 0 it is bound and does not listen.
struct OwnSocket {
  explicit OwnSocket(int backlog) : fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    if (backlog >= 0) REQUIRE(::listen(fd.get(), backlog) == 0);
    REQUIRE(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port = ntohs(address.sin_port);
  }
  base::Fd fd;
  std::uint16_t port = 0;
};

int connect_to(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  static_cast<void>(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address));
  return fd;
}

TEST_CASE("a peer is reached, and an exchange gets the connection on both sides") {
  Ends ends;
  CHECK(ends.call(kNonce, kCallee, ends.listener->port()).reached);
  CHECK(ends.exchanges.empty());
  auto outcome = ends.call(kNonce, kCallee, ends.listener->port(), PeerPurpose::kExchange);
  CHECK(outcome.reached);
  REQUIRE(ends.loop.run_until([&] { return ends.exchanges.size() == 1; }));
  REQUIRE(::write(outcome.connection.get(), "x", 1) == 1);
  char byte = 0;
  CHECK(ends.loop.run_until([&] { return ::read(ends.exchanges[0].get(), &byte, 1) == 1; }));
}

TEST_CASE("a peer with another nonce, and another node at the address, are strangers") {
  Ends ends;
  const auto is_told_apart = [&](const std::string& nonce, base::NodeId callee) {
    const auto outcome = ends.call(nonce, callee, ends.listener->port(), PeerPurpose::kExchange);
    CHECK_FALSE(outcome.reached);
    CHECK(outcome.why.fault == ReachFault::kStranger);
    CHECK(outcome.why.how == "something else answers at 127.0.0.1");
  };
  is_told_apart(std::string(32, 'o'), kCallee);
  is_told_apart(kNonce, base::NodeId{3});
  ends.loop.run_for(milliseconds(50));
  CHECK(ends.exchanges.empty());
}

TEST_CASE("an unreachable peer is reported with the cause") {
  Ends ends;
  const OwnSocket closed(-1);
  auto outcome = ends.call(kNonce, kCallee, closed.port);
  CHECK(outcome.why.fault == ReachFault::kRefused);
  CHECK(outcome.why.how == "connection refused");
  CHECK(outcome.why.peer == kCallee);
  const OwnSocket mute(8);  // only its kernel answers
  outcome = ends.call(kNonce, kCallee, mute.port, PeerPurpose::kReach, milliseconds(200));
  CHECK(outcome.why.fault == ReachFault::kTimeout);
  CHECK(outcome.why.how == "timeout after 0.2 s");
  CHECK(ends.call(kNonce, kCallee, 0).why.fault == ReachFault::kOther);
  CHECK(ends.call(kNonce, kCallee, 70000).why.fault == ReachFault::kOther);
}

TEST_CASE("a dropped call reports nothing any more") {
  Ends ends;
  bool said = false;
  const auto caller = OutgoingCall::start(
      ends.loop.executor(), {kCallee, "127.0.0.1", ends.listener->port()}, kNonce, kCaller,
      PeerPurpose::kReach, milliseconds(100), [&](const OutgoingCall::Outcome&) { said = true; });
  caller->drop();
  ends.loop.run_for(milliseconds(200));
  CHECK_FALSE(said);
}

TEST_CASE("a caller with any wrong byte in its proof is rejected") {
  Ends ends;
  const std::string call = make_peer_call({PeerPurpose::kExchange, kCaller, kCallee});
  CHECK_FALSE(read_peer_call(call.substr(1)));
  CHECK_FALSE(read_peer_call("RRPEER1\n\x02" + call.substr(9)));  // no such purpose
  const std::string answer = make_peer_answer(kNonce, call);
  CHECK(is_peer_answer(kNonce, call, answer));
  for (std::size_t at = 0; at < answer.size(); ++at) {
    std::string wrong = answer;
    wrong[at] = static_cast<char>(wrong[at] ^ 1);
    CHECK_FALSE(is_peer_answer(kNonce, call, wrong));
  }
  // A man in the middle reflects our own proof.
  const base::Fd fd(connect_to(ends.listener->port()));
  REQUIRE(ends.loop.run_until([&] {
    return ::write(fd.get(), call.data(), call.size()) == static_cast<ssize_t>(call.size());
  }));
  std::string heard(kPeerAnswerBytes, '\0');
  REQUIRE(ends.loop.run_until([&] {
    return ::read(fd.get(), heard.data(), heard.size()) == static_cast<ssize_t>(heard.size());
  }));
  REQUIRE(::write(fd.get(), heard.data() + 16, 32) == 32);
  char byte = 0;
  CHECK(ends.loop.run_until([&] { return ::read(fd.get(), &byte, 1) == 0; }));
  CHECK(ends.exchanges.empty());
}

TEST_CASE("silent peers wait in bounded numbers, and do not keep others out") {
  Ends ends;
  std::vector<base::Fd> silent;
  for (std::size_t i = 0; i < kPeerPendingMax + 20; ++i) {
    silent.emplace_back(connect_to(ends.listener->port()));
  }
  ends.loop.run_for(milliseconds(100));
  // Until the first of them have had their time.
  const auto outcome =
      ends.call(kNonce, kCallee, ends.listener->port(), PeerPurpose::kReach, milliseconds(20'000));
  CHECK(outcome.reached);
}

}  // namespace
}  // namespace robustrun::wire::peer_test
