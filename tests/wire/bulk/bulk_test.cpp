// Bulk streams between agents: admission, authentication, and what ends a transfer.
#include <doctest/doctest.h>

#include <sys/socket.h>
#include <cerrno>

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/io/blocking_pool.h"
#include "tests/support/loop.h"
#include "tests/wire/run_ends.h"
#include "wire/bulk/bulk_listener.h"
#include "wire/bulk/pace.h"
#include "wire/link/acceptor.h"
#include "wire/net/tcp.h"

namespace robustrun::wire::bulk_test {
namespace {

using base::Errc;
using std::chrono::milliseconds;

const BulkRequest kRequest{BulkPurpose::kKeep, base::Rank{7}, 1U << 20U, 2U << 20U};

Identity identity_of(const Authority& authority, const PeerName& name) {
  const KeyRequest key = make_key_request().value();
  return {key.private_key, authority.sign(key.request, name).value(), authority.certificate()};
}

PeerName node_name(std::uint32_t node, std::uint32_t generation = 1,
                   const std::string& run = "run-1") {
  return {run, false, base::NodeId{node}, base::Generation{generation}};
}

SharedBulkKeys keys_of(const Authority& authority, const PeerName& name) {
  return make_bulk_keys("run-1", identity_of(authority, name)).value();
}

// Node 2 listens; peers call from threads.
struct Ends {
  // `pending_time_max`: generous, because a busy machine is slow.
  explicit Ends(milliseconds pending_time_max = std::chrono::seconds(20))
      : listener(
            BulkListener::open(
                loop.executor(), "127.0.0.1", keys_of(authority, node_name(2)),
                [this](BulkConnection connection) { connections.push_back(std::move(connection)); },
                pending_time_max)
                .value()) {}

  test::Loop loop;
  Authority authority = Authority::make("run-1").value();
  std::vector<BulkConnection> connections;
  std::unique_ptr<BulkListener> listener;
  base::BlockingPool threads{loop.executor(), 4, 16};
  std::uint32_t lanes = 0;

  // Runs `work` on its own thread; the result appears later.
  std::shared_ptr<std::optional<base::Status>> begin(std::function<base::Status()> work) {
    auto result = std::make_shared<std::optional<base::Status>>();
    auto made = std::make_shared<base::Status>();
    REQUIRE(threads.submit(
        lanes++, [work = std::move(work), made] { *made = work(); },
        [result, made] { *result = *made; }));
    return result;
  }
  base::Status wait_for(const std::shared_ptr<std::optional<base::Status>>& result) {
    REQUIRE(loop.run_until([&] { return result->has_value(); }));
    return **result;
  }
  base::Status run(std::function<base::Status()> work) { return wait_for(begin(std::move(work))); }
  [[nodiscard]] std::string endpoint() const {
    return endpoint_text("127.0.0.1", listener->port());
  }
};

using SharedStream = std::shared_ptr<BulkStream>;

// Connects, asks, and waits for one byte of an answer.
base::Status ask(const SharedStream& stream, const SharedBulkKeys& keys,
                 const std::string& endpoint, const PeerName& callee) {
  RR_TRY(stream->connect(*keys, endpoint, callee));
  RR_TRY(stream->send(to_bytes(kRequest)));
  char byte = 0;
  return stream->receive({&byte, 1});
}

// The peer has closed the connection; a write after that meets a reset.
bool is_refusal(const base::Status& status) {
  if (status) return false;
  const base::Error& error = status.error();
  const bool is_reset = error.os_errno == ECONNRESET || error.os_errno == EPIPE;
  return is_reset || error.code == Errc::kUnavailable || error.code == Errc::kPermission ||
         error.code == Errc::kProtocol;
}

TEST_CASE("bytes pass in both directions, and each side identifies the other") {
  Ends ends;
  const auto stream = std::make_shared<BulkStream>();
  std::string sent(5'000'000, 'x');
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 2654435761U >> 13U);
  const auto caller = ends.begin([&, keys = keys_of(ends.authority, node_name(1, 4)),
                                  endpoint = ends.endpoint()]() -> base::Status {
    RR_TRY(stream->connect(*keys, endpoint, node_name(2)));
    RR_TRY(stream->send(to_bytes(kRequest)));
    RR_TRY(stream->send(sent));
    std::string answer(kBulkAnswerBytes, 0);
    RR_TRY(stream->receive(answer));
    const BulkAnswer read = RR_TRY(parse_bulk_answer(answer));
    return read.verdict == BulkVerdict::kKept ? base::Status() : base::fail(Errc::kCorrupt, "no");
  });
  REQUIRE(ends.loop.run_until([&] { return !ends.connections.empty(); }));
  CHECK(ends.connections[0].peer == node_name(1, 4));
  CHECK(ends.connections[0].request == kRequest);
  std::string got(sent.size(), 0);
  CHECK(ends.run([&, callee = ends.connections[0].stream]() -> base::Status {
    RR_TRY(callee->receive(got));
    RR_TRY(callee->send(to_bytes(BulkAnswer{BulkVerdict::kKept, 0, {}})));
    callee->finish();
    return {};
  }));
  CHECK(ends.wait_for(caller));
  CHECK(got == sent);
}

TEST_CASE("a caller without a node's certificate of this run is disconnected") {
  Ends ends;
  const Authority other = Authority::make("run-1").value();
  // Its own authority is another one, but it trusts ours.
  Identity forged = identity_of(other, node_name(1));
  forged.authority = ends.authority.certificate();
  const Identity supervisor = ends.authority.issue_supervisor().value();
  const Authority same_key = Authority::from_pem("run-2", ends.authority.to_pem()).value();
  const Identity elsewhere = identity_of(same_key, node_name(1, 1, "run-2"));
  for (const Identity& identity : {forged, supervisor, elsewhere}) {
    const auto stream = std::make_shared<BulkStream>();
    const auto keys = make_bulk_keys("run-1", identity).value();
    CHECK(is_refusal(ends.run(
        [&, endpoint = ends.endpoint()] { return ask(stream, keys, endpoint, node_name(2)); })));
  }
  CHECK(ends.connections.empty());
}

TEST_CASE("a caller sends nothing to an unexpected node, generation or run") {
  Ends ends;
  const auto keys = keys_of(ends.authority, node_name(1));
  for (const PeerName& meant : {node_name(3), node_name(2, 2), node_name(2, 1, "run-2")}) {
    const auto stream = std::make_shared<BulkStream>();
    const auto status =
        ends.run([&, endpoint = ends.endpoint()] { return ask(stream, keys, endpoint, meant); });
    REQUIRE_FALSE(status);
    CHECK(status.error().code == Errc::kPermission);
  }
  const Authority other = Authority::make("run-1").value();
  const auto stranger = keys_of(other, node_name(1));
  const auto stream = std::make_shared<BulkStream>();
  const auto status = ends.run(
      [&, endpoint = ends.endpoint()] { return ask(stream, stranger, endpoint, node_name(2)); });
  REQUIRE_FALSE(status);
  CHECK(status.error().code == Errc::kPermission);
  CHECK(ends.connections.empty());
}

TEST_CASE("silent peers are disconnected, and others are served meanwhile") {
  Ends ends(std::chrono::seconds(2));
  std::vector<base::Fd> silent;
  for (std::size_t i = 0; i < kBulkPendingMax + 3; ++i) {
    silent.push_back(begin_connect(parse_endpoint(ends.endpoint()).value()).value());
  }
  const auto stream = std::make_shared<BulkStream>();
  const auto keys = keys_of(ends.authority, node_name(1));
  const auto caller = ends.begin(
      [&, endpoint = ends.endpoint()] { return ask(stream, keys, endpoint, node_name(2)); });
  REQUIRE(ends.loop.run_until([&] { return !ends.connections.empty(); }));
  for (const base::Fd& fd : silent) {
    char byte = 0;
    CHECK(ends.loop.run_until(
        [&] { return ::recv(fd.get(), &byte, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET; }));
  }
  stream->hang_up();
  CHECK_FALSE(ends.wait_for(caller));
}

TEST_CASE("a peer that goes or is too slow, and hang_up(), end a transfer") {
  Ends ends;
  const auto keys = keys_of(ends.authority, node_name(1));
  const auto stream = std::make_shared<BulkStream>();
  const auto caller = ends.begin(
      [&, endpoint = ends.endpoint()] { return ask(stream, keys, endpoint, node_name(2)); });
  REQUIRE(ends.loop.run_until([&] { return !ends.connections.empty(); }));
  SUBCASE("gone") {
    ends.connections.clear();
    const auto status = ends.wait_for(caller);
    REQUIRE_FALSE(status);
    CHECK(status.error().code == Errc::kUnavailable);
  }
  SUBCASE("not wanted") {
    stream->hang_up();
    const auto status = ends.wait_for(caller);
    REQUIRE_FALSE(status);
    CHECK(status.error().code == Errc::kUnavailable);
  }
  SUBCASE("slow: it takes nothing, and the deadline comes") {
    const std::string much(64U << 20U, 'x');  // more than the kernel takes
    const auto status = ends.run([&much, callee = ends.connections[0].stream]() -> base::Status {
      RR_TRY(callee->send(std::string(16U << 10U, 'x')));
      callee->set_deadline(base::SystemClock().now() + milliseconds(300));
      return callee->send(much);
    });
    REQUIRE_FALSE(status);
    CHECK(status.error().code == Errc::kTimeout);
    ends.connections.clear();
    const auto heard = ends.wait_for(caller);
    CHECK_MESSAGE(heard, heard.error().what);  // some bytes did come
  }
}

TEST_CASE("an incomplete transfer is an error, however much of it came") {
  Ends ends;
  const auto keys = keys_of(ends.authority, node_name(1));
  auto stream = std::make_shared<BulkStream>();
  const auto caller = ends.begin([&, endpoint = ends.endpoint()]() -> base::Status {
    RR_TRY(stream->connect(*keys, endpoint, node_name(2)));
    RR_TRY(stream->send(to_bytes(kRequest) + std::string(1000, 'x')));
    stream.reset();
    return {};
  });
  REQUIRE(ends.loop.run_until([&] { return !ends.connections.empty(); }));
  CHECK(ends.wait_for(caller));
  const auto status = ends.run([callee = ends.connections[0].stream] {
    std::string room(1U << 20U, 0);
    return callee->receive(room);
  });
  REQUIRE_FALSE(status);
  CHECK(status.error().code == Errc::kUnavailable);
}

TEST_CASE("an enrolled agent's certificate identifies it to its peers") {
  Ends ends;
  boost::asio::io_context loop(1);
  test::Server server(loop, {.address = "127.0.0.1",
                             .secret = test::kTestSecret,
                             .limits = {},
                             .munge = {},
                             .authority = ends.authority.to_pem()});
  test::Caller agent(loop, server.credential());
  CHECK_FALSE(agent.dialer->identity());
  REQUIRE(agent.call());
  REQUIRE(agent.dialer->identity());
  CHECK((*agent.result)->run_id == "run-1");
  const auto keys = make_bulk_keys((*agent.result)->run_id, *agent.dialer->identity()).value();
  const auto stream = std::make_shared<BulkStream>();
  const auto caller = ends.begin(
      [&, endpoint = ends.endpoint()] { return ask(stream, keys, endpoint, node_name(2)); });
  REQUIRE(ends.loop.run_until([&] { return !ends.connections.empty(); }));
  CHECK(ends.connections[0].peer == node_name(3, 2));  // as the credential says
  ends.connections.clear();
  CHECK_FALSE(ends.wait_for(caller));
}

TEST_CASE("impossible lengths are refused before they are used") {
  CHECK(parse_bulk_request(to_bytes(kRequest)).value() == kRequest);
  const auto refused = [](BulkRequest request) { return !parse_bulk_request(to_bytes(request)); };
  CHECK(refused({BulkPurpose::kKeep, {1}, 0, 1}));
  CHECK(refused({BulkPurpose::kKeep, {1}, 2, 1}));
  CHECK(refused({BulkPurpose::kKeep, {1}, 1, kBulkBytesMax + 1}));
  CHECK(refused({BulkPurpose::kKeep, {1}, UINT64_MAX, UINT64_MAX}));
  CHECK(refused({BulkPurpose::kFetch, {1}, 1, 1}));
  CHECK(refused({static_cast<BulkPurpose>(4), {1}, 1, 1}));
  CHECK_FALSE(refused({BulkPurpose::kFetch, {1}, 0, 0}));
  for (std::size_t size = 0; size < kBulkRequestBytes; ++size) {
    CHECK_FALSE(parse_bulk_request(to_bytes(kRequest).substr(0, size)));
  }
  const BulkAnswer answer{BulkVerdict::kGo, 100, {100, 7}};
  CHECK(parse_bulk_answer(to_bytes(answer)).value() == answer);
  const auto bad = [](BulkAnswer each) { return !parse_bulk_answer(to_bytes(each)); };
  CHECK(bad({BulkVerdict::kGo, 100, {101, 0}}));
  CHECK(bad({BulkVerdict::kGo, 100, {0, 7}}));
  CHECK(bad({BulkVerdict::kGo, UINT64_MAX, {1, 1}}));
  CHECK(bad({static_cast<BulkVerdict>(6), 0, {}}));
}

TEST_CASE("a round takes sixteen bytes, and differs from the complete one") {
  const BulkRound round{7, 6};
  const std::string bytes = to_bytes(round);
  CHECK(bytes.size() == kBulkRoundBytes);
  CHECK(parse_bulk_round(bytes) == round);
  CHECK(parse_bulk_round(to_bytes(BulkRound{1, 0})));
  CHECK_FALSE(parse_bulk_round(to_bytes(BulkRound{0, 6})));
  CHECK_FALSE(parse_bulk_round(to_bytes(BulkRound{6, 6})));
  CHECK_FALSE(parse_bulk_round(bytes.substr(1)));
  CHECK_FALSE(parse_bulk_round(bytes + "x"));
  BulkRequest request = kRequest;
  request.purpose = BulkPurpose::kKeepRound;
  CHECK(parse_bulk_request(to_bytes(request)) == request);
  request.bytes = 0;
  CHECK_FALSE(parse_bulk_request(to_bytes(request)));
}

TEST_CASE("the pace keeps its rate for pieces of any size, after at most one burst") {
  BulkPace pace(1'000'000);
  base::Nanos now = std::chrono::seconds(5);
  base::Nanos rested{};
  for (int i = 0; i < 100; ++i) {
    const base::Nanos rest = pace.take(static_cast<std::uint64_t>(1000 * (1 + i % 7)), now);
    now += rest;
    rested += rest;
  }
  const double bytes = 1000.0 * (14 * 28 + 1 + 2);
  const double seconds = std::chrono::duration<double>(rested).count();
  CHECK(seconds > bytes / 1e6 - 0.021);
  CHECK(seconds <= bytes / 1e6);
  now += std::chrono::hours(1);  // a long rest saves up no more than the burst
  CHECK(pace.take(1'000'000, now) >= milliseconds(979));
}

}  // namespace
}  // namespace robustrun::wire::bulk_test
