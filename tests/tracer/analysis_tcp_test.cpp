// Rules R4b, R8 and R8b where there are no flows (gloo): what TCP and the interfaces tell.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/tracer/fleet.h"

namespace robustrun::tracer::analysis_tcp_test {
namespace {

using Ranks = std::vector<std::uint32_t>;

std::string end_of(std::uint32_t rank, std::uint32_t port) {
  return fmt::format("10.0.0.{}:{}", rank + 1, 4000 + port);
}

// The connection of two ranks; both ends, the first one's is given back.
SocketState& connect(Fleet& fleet, std::uint32_t a, std::uint32_t b) {
  SocketState far;
  far.local = end_of(b, a);
  far.peer = end_of(a, b);
  far.watched = seconds(1);
  fleet.rank(b).evidence.sockets.push_back(far);
  SocketState near = far;
  std::swap(near.local, near.peer);
  fleet.rank(a).evidence.sockets.push_back(near);
  return fleet.rank(a).evidence.sockets.back();
}

// Data is in flight from a to b and is not acknowledged.
SocketState& stick(Fleet& fleet, std::uint32_t a, std::uint32_t b) {
  SocketState& socket = connect(fleet, a, b);
  socket.send_queue = 4000;
  socket.retransmits = 4;
  socket.unacked = 3;
  socket.last_received = seconds(9);
  return socket;
}

// From each rank to the next, `mb` megabytes in `busy_ms` of a second.
void ring(Fleet& fleet, const std::vector<double>& busy_ms, double mb = 5) {
  const auto size = static_cast<std::uint32_t>(busy_ms.size());
  for (std::uint32_t r = 0; r < size; ++r) {
    SocketState& socket = connect(fleet, r, (r + 1) % size);
    socket.acked_meanwhile = static_cast<std::uint64_t>(mb * 1e6);
    socket.busy_meanwhile = seconds(busy_ms[r] / 1e3);
  }
}

// All ranks are training, and at the moment inside the same operation.
Fleet training(std::uint32_t world, std::uint32_t per_node = 1) {
  Fleet fleet(world, per_node);
  fleet.world();
  fleet.enter_all_but(1, {}, 0.2);
  return fleet;
}

TEST_CASE("gloo: repeated retransmission names the link, a slow reader does not") {
  Fleet fleet(4);
  fleet.world();
  fleet.enter_all_but(1, {});
  SocketState one{.local = "10.0.0.1:5",
                  .peer = "10.0.0.2:6",
                  .send_queue = 4000,
                  .retransmits = 4,
                  .unacked = 3,
                  .last_received = seconds(9)};
  fleet.rank(1).evidence.sockets = {one};
  fleet.rank(2).evidence.sockets = {{.local = "10.0.0.2:6", .peer = "10.0.0.1:5"}};
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kLinkStuck);
  CHECK(verdict.confidence == Confidence::kInferred);
  CHECK(verdict.edges == std::vector<Edge>{{{1}, {2}}});
  CHECK(verdict.sentence ==
        "the link from rank 1 (node0, local 1) to rank 2 (node0, local 2) is stuck in all_reduce "
        "#7 (48 MB, group world) for 10.0 s; 4 ranks wait for it");
  fleet.rank(1).evidence.sockets.front().retransmits = 0;
  CHECK(fleet.verdict().finding == Finding::kUndecided);
}

TEST_CASE("gloo: an interface down on one node is the finding when all have entered") {
  Fleet fleet(4, 2);
  fleet.world();
  fleet.enter_all_but(1, {});
  fleet.rank(2).evidence.network = fleet.rank(3).evidence.network = {"eth0: no carrier"};
  Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kLinkDown);
  CHECK(verdict.confidence == Confidence::kInferred);
  CHECK(verdict.culprits.empty());
  CHECK(verdict.nodes == std::vector<std::string>{"node1"});
  fleet.in(1, 0).pending.clear();
  fleet.in(1, 0).entered = 6;
  fleet.in(1, 0).recent.clear();
  verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kNeverEntered);  // it is absent: no need for a network
}

TEST_CASE("gloo: data held back by its own machine is stuck, though TCP retransmits nothing") {
  Fleet fleet(3, 1);
  fleet.world();
  fleet.enter_all_but(1, {});
  SocketState& socket = stick(fleet, 1, 2);
  socket.retransmits = 0;
  CHECK(fleet.verdict().finding == Finding::kUndecided);
  socket.nothing_acked = true;
  CHECK(fleet.verdict().edges == std::vector<Edge>{{{1}, {2}}});
  socket.unacked = 0;  // refused at once, it has not left
  CHECK(fleet.verdict().edges == std::vector<Edge>{{{1}, {2}}});
  // The peer does not read, so its buffer is full.
  SocketState& far = fleet.rank(2).evidence.sockets.front();
  far.recv_queue = 100'000;
  CHECK(fleet.verdict().finding == Finding::kUndecided);
  far.recv_queue = 0;
  // Shortly after it was sent, it is just in transit.
  socket.last_received = seconds(1);
  CHECK(fleet.verdict().finding == Finding::kUndecided);
}

TEST_CASE("gloo: stuck links of one rank are that rank's") {
  Fleet fleet(4, 1);
  fleet.world();
  fleet.enter_all_but(1, {});
  stick(fleet, 1, 2);
  stick(fleet, 0, 1);
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kLinkStuck);
  CHECK(numbers(verdict.culprits) == Ranks{1});
  CHECK(verdict.nodes == std::vector<std::string>{"node1"});
}

TEST_CASE("gloo: a rank that cannot finish because of a stuck link is not blamed") {
  Fleet fleet(4, 1);
  fleet.world();
  fleet.enter_all_but(1, {});
  for (const std::uint32_t r : {1U, 2U, 3U}) {
    fleet.finish(1, r);
    fleet.enter(1, r);
  }
  CHECK(fleet.verdict().finding == Finding::kLeftBehind);
  stick(fleet, 3, 0);
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kLinkStuck);
  CHECK(verdict.edges == std::vector<Edge>{{{3}, {0}}});
  CHECK(verdict.runner_up.finding == Finding::kLeftBehind);
}

TEST_CASE("gloo: an interface that is down at the end of a stuck link is proof") {
  Fleet fleet(4, 1);
  fleet.world();
  fleet.enter_all_but(1, {});
  stick(fleet, 1, 2);
  stick(fleet, 0, 1);
  fleet.rank(1).evidence.network = {"eth1: no carrier"};
  Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kLinkDown);
  CHECK(verdict.confidence == Confidence::kExact);
  CHECK(numbers(verdict.culprits) == Ranks{1});
  CHECK(verdict.sentence ==
        "node1: eth1: no carrier; all_reduce #7 (48 MB, group world) has made no progress for 10.0 "
        "s; 3 "
        "ranks wait for it");
  // Elsewhere it explains nothing.
  fleet.rank(3).evidence.network = {"eth9: is down"};
  verdict = fleet.verdict();
  CHECK(verdict.sentence.starts_with("node1: eth1: no carrier;"));
  CHECK(verdict.nodes == std::vector<std::string>{"node1"});
  fleet.rank(1).evidence.network.clear();
  fleet.rank(3).evidence.network = {"eth1: no carrier"};
  verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kLinkStuck);
  CHECK(numbers(verdict.culprits) == Ranks{1});
}

TEST_CASE("gloo: equal addresses of two machines are not taken for each other") {
  Fleet fleet(4, 2);
  fleet.world();
  fleet.enter_all_but(1, {});
  for (const std::uint32_t r : {0U, 2U}) {
    fleet.rank(r).evidence.sockets = {{.local = "127.0.0.1:1", .peer = "127.0.0.1:2"}};
    fleet.rank(r + 1).evidence.sockets = {{.local = "127.0.0.1:2", .peer = "127.0.0.1:1"}};
  }
  SocketState& socket = fleet.rank(0).evidence.sockets.front();
  socket.send_queue = 4000;
  socket.unacked = socket.retransmits = 2;
  socket.last_received = seconds(9);
  CHECK(fleet.verdict().edges == std::vector<Edge>{{{0}, {1}}});
}

TEST_CASE("gloo: the link with far less throughput while busy is slow") {
  Fleet fleet = training(4);
  ring(fleet, {20, 900, 30, 25});
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kSlowLink);
  CHECK(is_slowness(verdict.finding));
  CHECK(verdict.edges == std::vector<Edge>{{{1}, {2}}});
  CHECK(verdict.culprits.empty());
  CHECK(verdict.nodes == std::vector<std::string>{"node1", "node2"});
  CHECK(verdict.sentence ==
        "the link from rank 1 (node1, local 0) to rank 2 (node2, local 0) is slow: 5.6 MB/s, 250 "
        "MB/s on the best links of its kind");
}

TEST_CASE("gloo: both links of a rank are slow, in a ring so small that they are most of it") {
  Fleet fleet = training(3);
  ring(fleet, {800, 900, 8});
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kSlowLink);
  CHECK(numbers(verdict.culprits) == Ranks{1});
  CHECK(verdict.nodes == std::vector<std::string>{"node1"});
  // Most of the links, and nothing that they share: then one is fast, not the others slow.
  Fleet more = training(5);
  ring(more, {800, 900, 900, 8, 8});
  CHECK(more.verdict().finding != Finding::kSlowLink);
}

TEST_CASE("gloo: slow links of a node with several ranks name the node") {
  Fleet fleet = training(6, 2);
  ring(fleet, {8, 900, 8, 800, 8, 8});  // 1 to 2 and 3 to 4 lead to node1 and away from it
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kSlowLink);
  CHECK(verdict.culprits.empty());
  CHECK(verdict.nodes == std::vector<std::string>{"node1"});
}

TEST_CASE("gloo: little data, links hardly used, equal ones, and two are no slow links") {
  const auto finding = [](std::uint32_t world, const std::vector<double>& busy, double mb) {
    Fleet fleet = training(world);
    ring(fleet, busy, mb);
    return fleet.verdict().finding;
  };
  CHECK(finding(4, {20, 900, 30, 25}, 5) == Finding::kSlowLink);
  CHECK(finding(4, {20, 900, 30, 25}, 0.05) != Finding::kSlowLink);
  CHECK(finding(4, {20, 290, 30, 25}, 5) != Finding::kSlowLink);
  CHECK(finding(4, {300, 900, 310, 320}, 5) != Finding::kSlowLink);
  CHECK(finding(2, {8, 900}, 5) != Finding::kSlowLink);
}

TEST_CASE("gloo: an operation that takes long over a slow link is explained by it") {
  Fleet fleet(4, 1);
  fleet.world();
  fleet.enter_all_but(1, {}, 12);
  CHECK(fleet.verdict().finding == Finding::kUndecided);
  ring(fleet, {20, 900, 30, 25});
  CHECK(fleet.verdict().finding == Finding::kSlowLink);
  // But not an operation that a rank has not entered.
  Fleet absent(4, 1);
  absent.world();
  absent.enter_all_but(1, {3}, 12);
  ring(absent, {20, 900, 30, 25});
  CHECK(absent.verdict().finding == Finding::kNeverEntered);
}

}  // namespace
}  // namespace robustrun::tracer::analysis_tcp_test
