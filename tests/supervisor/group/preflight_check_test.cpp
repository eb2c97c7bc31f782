// The conversation of a check: what agents are told, and what of their answers counts.
#include "supervisor/group/preflight_check.h"

#include <doctest/doctest.h>

#include <boost/asio/any_io_executor.hpp>
#include <limits>
#include <map>
#include <optional>

#include "supervisor/core/types/limits.h"
#include "tests/supervisor/preflight_facts.h"
#include "tests/support/loop.h"

namespace robustrun::supervisor::test::preflight_check_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Talk {
  explicit Talk(std::uint32_t count, bool full = false, PreflightCheck::Limits limits = {},
                bool gpus = false) {
    const CheckNodes order{7, full, {}, {}, gpus};
    std::vector<PreflightCheck::Node> nodes;
    for (std::uint32_t i = count; i-- > 0;) {  // the order they come in does not matter
      nodes.push_back({{i}, {1}, "10.0.0." + std::to_string(i)});
    }
    PreflightCheck::Hands hands;
    hands.send = [this](base::NodeId node, const wire::Message& message) {
      told[node.value].push_back(message);
    };
    hands.on_done = [this](NodesChecked done) { result.emplace(std::move(done)); };
    check = PreflightCheck::start(loop.executor(), clock, order, nodes, hands, limits);
    CHECK(told.empty());
    REQUIRE(loop.run_until([&] { return told.size() == count; }));
  }

  template <class Message>
  [[nodiscard]] std::vector<Message> all(std::uint32_t node) const {
    std::vector<Message> found;
    for (const wire::Message& message : told.at(node)) {
      if (const auto* one = std::get_if<Message>(&message)) found.push_back(*one);
    }
    return found;
  }
  void ready(std::uint32_t node, std::uint32_t port = 4000) {
    check->on_report({node}, wire::CheckReady{7, port, "none", clock.wall_time()});
  }
  void checked(std::uint32_t node, std::vector<base::Unreached> unreached = {}) {
    wire::NodeChecked report{7, healthy(node).facts, std::move(unreached), {}};
    check->on_report({node}, report);
  }
  void measured(std::uint32_t node, std::uint32_t round, double rate) {
    check->on_report({node}, wire::PeersMeasured{7, round, milliseconds(10), rate});
  }

  robustrun::test::Loop loop{};
  base::SystemClock clock;
  std::map<std::uint32_t, std::vector<wire::Message>> told;
  std::optional<NodesChecked> result;
  std::shared_ptr<PreflightCheck> check;
};

}  // namespace

TEST_CASE("all are asked at once; they call each other when all are ready; then it is over") {
  Talk talk(3);
  CHECK(talk.all<wire::CheckNode>(1)[0].address == "10.0.0.1");
  CHECK(talk.all<wire::CheckNode>(1)[0].nonce.size() == 32);
  talk.ready(0);
  talk.ready(1);
  CHECK(talk.all<wire::ReachPeers>(0).empty());
  talk.ready(2, 4002);
  const auto peers = talk.all<wire::ReachPeers>(0).at(0).peers;
  REQUIRE(peers.size() == 2);
  CHECK(peers[1].node.value == 2);
  CHECK(peers[1].address == "10.0.0.2");
  CHECK(peers[1].port == 4002);
  for (const std::uint32_t node : {2U, 0U, 1U}) {
    CHECK_FALSE(talk.result);
    talk.checked(node);
  }
  REQUIRE(talk.result);
  CHECK(talk.result->check == 7);
  CHECK(talk.result->partners == 2);
  for (std::uint32_t i = 0; i < 3; ++i) {
    CHECK(talk.result->nodes[i].node.value == i);
    CHECK(talk.result->nodes[i].answered);
    CHECK(talk.result->nodes[i].facts.software.torch == "2.5.1+cu124");
    CHECK(std::chrono::abs(talk.result->nodes[i].clock_ahead) < seconds(1));
    CHECK(talk.all<wire::EndCheck>(i).size() == 1);
  }
}

TEST_CASE("tests of GPUs are asked for when they are wanted, and have their own time") {
  const PreflightCheck::Limits limits{{}, milliseconds(1), {}, {}, milliseconds(100)};
  CHECK_FALSE(Talk(1).all<wire::CheckNode>(0)[0].gpus);
  Talk talk(1, false, limits, true);
  CHECK(talk.all<wire::CheckNode>(0)[0].gpus);
  talk.ready(0);
  REQUIRE(talk.loop.run_until([&] { return talk.result.has_value(); }));
  CHECK(talk.result->nodes[0].trouble == "it did not answer within 0.1 s");
}

TEST_CASE("what an agent says of its GPUs is cut") {
  Talk talk(1);
  talk.ready(0);
  wire::NodeChecked report{7, {}, {}, {}};
  base::GpuFacts& probe = report.facts.probe;
  const std::string text(1 << 16, '\n');
  probe.asked = true;
  probe.error = text;
  probe.models.assign(10'000, text);
  probe.figures.assign(10'000, {0, text, text, 1});
  probe.sums.assign(10'000, {0, text, 1});
  probe.faults.assign(10'000, text);
  talk.check->on_report({0}, report);
  REQUIRE(talk.result);
  const base::GpuFacts& kept = talk.result->nodes[0].facts.probe;
  const std::size_t most = 6 * kFindingBytesMax;
  CHECK(kept.error.size() < most);
  CHECK((kept.models.size() == kProbedGpusMax && kept.models.back().size() < most));
  CHECK((kept.figures.size() == kProbeItemsMax && kept.figures.back().what.size() < most));
  CHECK(kept.figures.back().unit.size() < most);
  CHECK((kept.sums.size() == kProbeItemsMax && kept.sums.back().what.size() < most));
  CHECK((kept.faults.size() == kProbeFaultsMax && kept.faults.back().size() < most));
}

TEST_CASE("one node alone needs no door") {
  Talk talk(1);
  CHECK(talk.all<wire::CheckNode>(0)[0].address.empty());
  talk.ready(0, 0);
  talk.checked(0);
  REQUIRE(talk.result);
  CHECK(talk.result->nodes[0].trouble.empty());
}

TEST_CASE("a node that cannot be called is called by none, and is reported") {
  Talk talk(3);
  talk.ready(0);
  talk.ready(1, 0);
  talk.ready(2);
  CHECK(talk.all<wire::ReachPeers>(0).at(0).peers.size() == 1);
  CHECK(talk.all<wire::ReachPeers>(1).at(0).peers.size() == 2);
  for (const std::uint32_t node : {0U, 1U, 2U}) talk.checked(node);
  CHECK(talk.result->nodes[1].trouble == "it cannot be called by others: none");
}

TEST_CASE("reports of another check, of strangers, too early or twice do not count") {
  Talk talk(2);
  talk.check->on_report({0}, wire::CheckReady{6, 1, {}, {}});
  talk.check->on_report({9}, wire::CheckReady{7, 1, {}, {}});
  talk.checked(0);
  talk.measured(0, 0, 1e9);
  talk.ready(0);
  talk.ready(0, 5);
  CHECK(talk.all<wire::ReachPeers>(1).empty());
  talk.ready(1);
  CHECK(talk.all<wire::ReachPeers>(1).at(0).peers[0].port == 4000);
  talk.ready(1);
  talk.checked(0);
  talk.checked(0, {timeout_to(1)});
  CHECK_FALSE(talk.result);
  talk.checked(1);
  REQUIRE(talk.result);
  CHECK(talk.result->nodes[0].unreached.empty());
  CHECK(talk.result->nodes[0].speeds.empty());
  talk.checked(1);  // after the end
}

TEST_CASE("what an agent says of nodes it was not told to call is dropped, and texts are cut") {
  Talk talk(2);
  talk.check->on_report({0}, wire::CheckReady{7, 4000, {}, base::Nanos::min()});
  talk.check->on_report({1}, wire::CheckReady{7, 4000, {}, base::Nanos::max()});
  wire::NodeChecked report{7, {}, {}, {}};
  report.facts.missing = std::string(1 << 20, '\n');
  report.unreached.assign(1000, timeout_to(1));
  report.unreached.push_back(timeout_to(0));
  report.unreached.push_back(timeout_to(77));
  report.unreached[0].how = std::string(1 << 20, 'x');
  report.half_heard.assign(1000, base::NodeId{1});
  talk.check->on_report({0}, report);
  talk.checked(1);
  REQUIRE(talk.result);
  const NodeCheck& node = talk.result->nodes[0];
  CHECK(node.facts.missing.size() < 6 * kFindingBytesMax);
  CHECK(node.unreached.size() == 1);
  CHECK(node.unreached[0].how.size() <= kFindingBytesMax);
  CHECK(node.half_heard.size() == 1);
  CHECK(node.clock_ahead < -seconds(1000));
  CHECK(talk.result->nodes[1].clock_ahead > seconds(1000));
}

TEST_CASE("an agent that is lost, or late, is waited for no longer and named") {
  Talk talk(3, false, {milliseconds(100), milliseconds(100), {}, {}});
  talk.ready(0);
  talk.check->on_agent_lost({1}, "killed");
  REQUIRE(talk.loop.run_until([&] { return !talk.all<wire::ReachPeers>(0).empty(); }));
  CHECK(talk.all<wire::ReachPeers>(2).empty());
  CHECK(talk.all<wire::ReachPeers>(0)[0].peers.empty());
  talk.ready(2);  // too late
  REQUIRE(talk.loop.run_until([&] { return talk.result.has_value(); }));
  CHECK(talk.result->nodes[0].trouble == "it did not answer within 0.1 s");
  CHECK(talk.result->nodes[1].trouble == "its agent was lost: killed");
  CHECK(talk.result->nodes[2].trouble == "it did not answer within 0.1 s");
  for (const NodeCheck& node : talk.result->nodes) CHECK_FALSE(node.answered);
}

TEST_CASE("a reconnected agent gets its order again, unless it has answered") {
  Talk talk(2);
  talk.check->on_connected_again({0});
  CHECK(talk.all<wire::CheckNode>(0).size() == 2);
  talk.ready(0);
  talk.check->on_connected_again({0});
  talk.check->on_connected_again({9});
  CHECK(talk.all<wire::CheckNode>(0).size() == 2);
  talk.ready(1);
  talk.check->on_connected_again({1});
  REQUIRE(talk.all<wire::ReachPeers>(1).size() == 2);
  CHECK(talk.all<wire::ReachPeers>(1)[1].peers[0].node.value == 0);
}

TEST_CASE("a full check measures all in pairs, and the slow ones again with others") {
  Talk talk(4, true);
  for (std::uint32_t node = 0; node < 4; ++node) talk.ready(node);
  for (std::uint32_t node = 0; node < 4; ++node) talk.checked(node);
  CHECK(talk.all<wire::MeasurePeers>(2).at(0).calls.at(0).node.value == 3);
  CHECK(talk.all<wire::MeasurePeers>(3).at(0).awaits == 1);
  talk.measured(0, 0, 4e9);
  talk.measured(1, 0, 4e9);
  talk.measured(2, 0, 1e9);
  talk.measured(2, 1, 4e9);  // not asked for yet
  talk.measured(3, 0, std::numeric_limits<double>::quiet_NaN());
  CHECK(talk.all<wire::MeasurePeers>(2).at(1).calls.at(0).node.value == 0);
  CHECK(talk.all<wire::MeasurePeers>(3).at(1).calls.at(0).node.value == 1);
  CHECK(talk.all<wire::MeasurePeers>(0).at(1).awaits == 1);
  for (std::uint32_t node = 0; node < 4; ++node) talk.measured(node, 1, node == 3 ? 1e9 : 4e9);
  REQUIRE(talk.result);
  const auto verdicts = verdicts_of(*talk.result);
  CHECK(verdicts[2].level == Fitness::kFit);
  CHECK(verdicts[3].level == Fitness::kSlow);
}

TEST_CASE("a full check of sound nodes measures once") {
  Talk talk(2, true);
  for (const std::uint32_t node : {0U, 1U}) talk.ready(node);
  for (const std::uint32_t node : {0U, 1U}) talk.checked(node);
  for (const std::uint32_t node : {0U, 1U}) talk.measured(node, 0, 4e9);
  CHECK(talk.result);
}

TEST_CASE("a dropped check reports nothing") {
  Talk talk(1, false, {milliseconds(20), milliseconds(20), {}, {}});
  talk.check->drop();
  talk.ready(0);
  talk.loop.run_for(milliseconds(60));
  CHECK_FALSE(talk.result);
  CHECK(talk.told.at(0).size() == 1);
}

}  // namespace robustrun::supervisor::test::preflight_check_test
