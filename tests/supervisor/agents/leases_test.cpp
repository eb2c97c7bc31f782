// When a silent node is suspected, asked on the second channel, and given up.
#include "supervisor/agents/leases.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "supervisor/limits.h"
#include "tests/supervisor/agents/fake_nodes.h"
#include "tests/support/loop.h"

namespace robustrun::supervisor::test::leases_test {
namespace {

using namespace std::chrono_literals;

struct Watched {
  explicit Watched(std::size_t count, bool is_remote = true) : nodes(count) {
    if (is_remote) nodes.table.keep_orders();
    nodes.table.each([&](base::NodeId, NodeLink& link) { link.heard_at = clock.time; });
    Leases::Hands hands;
    hands.lose = [this](base::NodeId node, const std::string& why, bool answers) {
      nodes.table[node].lost = true;
      lost[node.value] = why;
      answered[node.value] = answers;
    };
    hands.probe = [this](base::NodeId node, std::function<void(bool)> done) {
      probes[node.value] = std::move(done);
    };
    hands.has_probe = [this](base::NodeId node) { return !volunteers.contains(node.value); };
    hands.peers_progress = [this] { return progress; };
    hands.on_check = [this] {
      ++checks;
      most_at_once = std::max(most_at_once, std::exchange(beats_at_once, 0));
    };
    hands.beat = [this](base::NodeId node, std::uint64_t number) {
      ++beats_at_once;
      beats.insert(node.value);
      numbers[node.value].push_back(number);
    };
    leases.emplace(loop.executor(), clock, times, nodes.table, std::move(hands));
    leases->begin();
  }
  void break_connection(std::uint32_t node, base::Nanos returns_within = 3s) {
    NodeLink& link = nodes.table[{node}];
    link.broken_at = clock.time;
    link.returns_within = returns_within;
    link.broken_why = "reset";
  }
  void check() {
    const std::size_t before = checks;
    REQUIRE(loop.run_until([&] { return checks >= before + 2; }));  // one of them is whole
  }

  robustrun::test::Loop loop{};
  SetClock clock;
  LeaseTimes times{4ms, 3s, 10s, 10min};
  FakeNodes nodes;
  std::map<std::uint32_t, std::string> lost;
  std::map<std::uint32_t, bool> answered;
  std::map<std::uint32_t, std::function<void(bool)>> probes;
  std::set<std::uint32_t> volunteers, beats;
  std::size_t checks = 0, beats_at_once = 0, most_at_once = 0;
  std::map<std::uint32_t, std::vector<std::uint64_t>> numbers;
  bool progress = false;
  std::optional<Leases> leases;
};

TEST_CASE("a node that is heard keeps its lease, and gets heartbeats") {
  Watched run(2);
  run.clock.time += 2s;
  run.check();
  CHECK(run.lost.empty());
  CHECK(run.probes.empty());
  REQUIRE(run.loop.run_until([&] { return run.beats.size() == 2; }));
}

TEST_CASE("heartbeats go to a part of the nodes at each check, in order for each") {
  Watched run(10);
  REQUIRE(run.loop.run_until([&] { return run.checks >= 3 * kLeaseChecksPerBeat; }));
  CHECK(run.beats.size() == 10);
  CHECK(run.most_at_once == 3);
  for (const auto& [node, numbers] : run.numbers) {
    CHECK(numbers.size() >= 2);
    for (std::size_t i = 0; i < numbers.size(); ++i) CHECK(numbers[i] == i);
  }
}

TEST_CASE("a silent node is asked once, and lost when the silence outlasts the lease") {
  Watched run(2);
  run.clock.time += 4s;
  run.nodes.table[{0}].heard_at = run.clock.time;
  run.check();
  CHECK(run.lost.empty());
  REQUIRE(run.probes.size() == 1);
  CHECK(run.nodes.table[{1}].suspect);
  run.probes[1](false);
  CHECK(run.lost.empty());  // its connection stands
  run.clock.time += 6s;
  run.nodes.table[{0}].heard_at = run.clock.time;
  run.check();
  CHECK(run.lost.at(1) == "it was silent for 10.00 s, and its machine does not answer");
  CHECK_FALSE(run.answered.at(1));
  CHECK_FALSE(run.lost.contains(0));
}

TEST_CASE("while other ranks do steps, a silent node with ranks is not given up") {
  Watched run(2);
  run.progress = true;
  run.clock.time += 20s;
  run.nodes.table[{1}].ranks.clear();  // a spare: its silence says nothing about the steps
  run.check();
  CHECK_FALSE(run.lost.contains(0));
  CHECK(run.lost.contains(1));
  run.clock.time += 60s;
  run.check();
  CHECK(run.lost.contains(0));
}

TEST_CASE("a broken connection and a machine that does not answer are proof") {
  Watched run(1);
  run.break_connection(0);
  run.leases->suspect({0}, "its connection broke: reset");
  run.leases->suspect({0}, "once more");
  REQUIRE(run.probes.size() == 1);
  run.probes[0](false);
  CHECK(run.lost.at(0) == "its connection broke (reset) and its machine does not answer");
}

TEST_CASE("an answer about an earlier agent of the node does not count") {
  Watched run(1);
  run.break_connection(0);
  run.leases->suspect({0}, "its connection broke");
  run.nodes.table[{0}].generation = {2};
  run.probes.at(0)(false);
  CHECK(run.lost.empty());
}

TEST_CASE("a machine that answers has until the end of its lease to reconnect") {
  Watched run(1);
  run.break_connection(0);
  run.leases->suspect({0}, "its connection broke");
  run.probes.at(0)(true);
  CHECK(run.lost.empty());
  run.clock.time += 3s;
  run.check();
  CHECK(run.lost.at(0) == "its connection broke (reset) and it did not come back within 3 s");
  CHECK(run.answered.at(0));
}

TEST_CASE("an agent that was taken over may take longer to reconnect, and its loss says how long") {
  Watched run(1);
  run.break_connection(0, run.times.lost_after);
  run.clock.time += 9s;
  run.check();
  CHECK(run.lost.empty());
  run.clock.time += 1s;
  run.check();
  CHECK(run.lost.at(0) == "its connection broke (reset) and it did not come back within 10 s");
}

TEST_CASE("volunteers and agents of this machine have no second channel") {
  Watched run(1);
  run.volunteers.insert(0);
  run.leases->suspect({0}, "silent");
  CHECK(run.nodes.table[{0}].suspect);
  CHECK(run.probes.empty());
  Watched local(1, false);
  local.leases->suspect({0}, "silent");
  CHECK_FALSE(local.nodes.table[{0}].suspect);
}

TEST_CASE("after the end nothing is checked, and late answers are ignored") {
  Watched run(1);
  run.break_connection(0);
  run.leases->suspect({0}, "its connection broke");
  run.check();
  run.leases->end();
  const std::size_t before = run.checks;
  run.probes.at(0)(false);
  run.loop.run_out();
  CHECK(run.checks == before);
  CHECK(run.lost.empty());
}

}  // namespace
}  // namespace robustrun::supervisor::test::leases_test
