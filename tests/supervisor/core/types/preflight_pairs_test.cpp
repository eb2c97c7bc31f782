// Which nodes are left out when some cannot reach each other, and which are slow.
#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "tests/supervisor/preflight_facts.h"

namespace robustrun::supervisor::test::preflight_pairs_test {
namespace {

std::vector<std::uint32_t> left_out(const std::vector<NodeVerdict>& verdicts) {
  std::vector<std::uint32_t> out;
  for (const NodeVerdict& verdict : verdicts) {
    if (verdict.level == Fitness::kUnfit) out.push_back(verdict.node.value);
  }
  return out;
}

using Nodes = std::vector<std::uint32_t>;

TEST_CASE("one broken direction names the pair and the direction, and the later node goes") {
  NodesChecked checked = all_healthy(4);
  checked.nodes[1].unreached = {timeout_to(2)};
  auto verdicts = verdicts_of(checked);
  CHECK(left_out(verdicts) == Nodes{2});
  CHECK(verdicts[2].findings[0].words ==
        "h1 cannot reach h2: timeout after 3 s; the other direction works");

  checked = all_healthy(4);
  checked.nodes[2].unreached = {{{1}, base::ReachFault::kRefused, "connection refused"}};
  verdicts = verdicts_of(checked);
  CHECK(left_out(verdicts) == Nodes{2});
  CHECK(verdicts[2].findings[0].words ==
        "h2 cannot reach h1: connection refused; the other direction works");
}

TEST_CASE("both directions failed: the node that was half heard shows which direction loses data") {
  NodesChecked checked = all_healthy(3);
  checked.nodes[0].unreached = {timeout_to(1)};
  checked.nodes[1].unreached = {timeout_to(0)};
  CHECK(verdicts_of(checked)[1].findings[0].words ==
        "h0 and h1 cannot reach each other: timeout after 3 s");
  checked.nodes[0].half_heard = {{1}};  // h1's packets come to h0
  CHECK(verdicts_of(checked)[1].findings[0].words ==
        "what h0 sends to h1 is lost (timeout after 3 s); what h1 sends arrives");
  checked.nodes[0].half_heard.clear();
  checked.nodes[1].half_heard = {{0}};
  CHECK(verdicts_of(checked)[1].findings[0].words ==
        "what h1 sends to h0 is lost (timeout after 3 s); what h0 sends arrives");
}

TEST_CASE("a node that no other reaches is left out alone, wherever it stands") {
  for (const std::uint32_t bad : {0U, 5U, 9U}) {
    NodesChecked checked = all_healthy(10);
    for (NodeCheck& node : checked.nodes) {
      if (node.node.value == bad) continue;
      node.unreached = {timeout_to(bad)};
      checked.nodes[bad].unreached.push_back(timeout_to(node.node.value));
    }
    const auto verdicts = verdicts_of(checked);
    CHECK(left_out(verdicts) == Nodes{bad});
    CHECK(verdicts[bad].findings.back().words == "and the same with 6 more nodes");
  }
}

TEST_CASE("two islands: the smaller one goes") {
  NodesChecked checked = all_healthy(5);
  for (const std::uint32_t one : {0U, 1U, 2U}) {
    for (const std::uint32_t two : {3U, 4U})
      checked.nodes[one].unreached.push_back(timeout_to(two));
  }
  CHECK(left_out(verdicts_of(checked)) == Nodes{3, 4});
}

TEST_CASE("a node that did not answer is no evidence against those that could not reach it") {
  NodesChecked checked = all_healthy(3);
  checked.nodes[1].answered = false;
  checked.nodes[0].unreached = {timeout_to(1)};
  checked.nodes[2].unreached = {timeout_to(1)};
  CHECK(left_out(verdicts_of(checked)) == Nodes{1});
}

TEST_CASE("a repeated or impossible complaint counts once, or not at all") {
  NodesChecked checked = all_healthy(3);
  checked.nodes[0].unreached = {timeout_to(0), timeout_to(9), timeout_to(1), timeout_to(1)};
  const auto verdicts = verdicts_of(checked);
  CHECK(left_out(verdicts) == Nodes{1});
  CHECK(verdicts[1].findings.size() == 1);
}

constexpr double kFast = 4e9;
constexpr auto kQuick = std::chrono::milliseconds(10);

// `first` and `second`: rates of the rounds; 0: not measured again.
NodesChecked measured(const std::vector<double>& first, const std::vector<double>& second) {
  NodesChecked checked = all_healthy(static_cast<std::uint32_t>(first.size()));
  checked.full = true;
  for (std::size_t i = 0; i < first.size(); ++i) {
    checked.nodes[i].speeds.push_back({0, kQuick, first[i]});
    if (second[i] > 0) checked.nodes[i].speeds.push_back({1, kQuick, second[i]});
  }
  return checked;
}

Nodes slow(const NodesChecked& checked) {
  Nodes out;
  for (const NodeVerdict& verdict : verdicts_of(checked)) {
    if (verdict.level == Fitness::kSlow) out.push_back(verdict.node.value);
  }
  return out;
}

TEST_CASE("a pair is slow, and the second round tells which of the two") {
  const auto checked = measured({kFast, kFast, kFast / 5, kFast / 5}, {0, 0, kFast, kFast / 5});
  CHECK(slow_ones(checked.nodes) == Nodes{2, 3});
  CHECK(slow(checked) == Nodes{3});
  CHECK(verdicts_of(checked)[3].findings[0].words ==
        "slow, with two partners: it exchanges 800 MB/s, the median node 4000 MB/s");
}

TEST_CASE("half as fast as the median is not yet slow") {
  CHECK(slow_ones(measured({kFast, kFast, kFast / 2}, {0, 0, 0}).nodes).empty());
  CHECK(slow_ones(measured({kFast, kFast, kFast / 2.1}, {0, 0, 0}).nodes) == Nodes{2});
}

TEST_CASE("a node that computes slowly twice is slow, also of two nodes; once is chance") {
  NodesChecked checked = measured({kFast, kFast}, {kFast, kFast});
  checked.nodes[0].speeds[0].compute = 3 * kQuick;
  CHECK(slow(checked).empty());
  checked.nodes[0].speeds[1].compute = 3 * kQuick;
  CHECK(slow(checked) == Nodes{0});
  CHECK(verdicts_of(checked)[0].findings[0].words ==
        "slow, with two partners: it computes 3 times as long as the median node");
}

TEST_CASE("a node without measurements is slow; a fast check knows nothing of speed") {
  NodesChecked checked = measured({kFast, kFast, kFast}, {0, 0, 0});
  checked.nodes[1].speeds.clear();
  CHECK(slow(checked) == Nodes{1});
  CHECK(slow(all_healthy(3)).empty());
}

TEST_CASE("measurements that make no sense make only their own node slow") {
  NodesChecked checked = measured({kFast, kFast, kFast}, {0, 0, 0});
  checked.nodes[1].speeds[0].bytes_per_second = std::numeric_limits<double>::quiet_NaN();
  CHECK(slow_ones(checked.nodes) == Nodes{1});
  checked.nodes[1].speeds[0].bytes_per_second = -1;
  CHECK(slow_ones(checked.nodes) == Nodes{1});
  checked.nodes[1].speeds[0] = {0, base::Nanos(-1), std::numeric_limits<double>::infinity()};
  CHECK(slow_ones(checked.nodes) == Nodes{1});
}

}  // namespace
}  // namespace robustrun::supervisor::test::preflight_pairs_test
