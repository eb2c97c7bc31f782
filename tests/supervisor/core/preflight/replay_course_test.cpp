// Which groups are replayed when, and which machines are found: machines that fail, or name each
// other, in waves of groups.
#include "supervisor/core/preflight/replay.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

namespace robustrun::supervisor::replay_course_test {
namespace {

using Outcome = GroupReplayed::Outcome;
using Nodes = std::vector<base::NodeId>;

Nodes nodes_of(std::size_t count) {
  Nodes nodes;
  // Not the numbers that the algorithm counts with.
  for (std::size_t i = 0; i < count; ++i) nodes.push_back({static_cast<std::uint32_t>(100 + i)});
  return nodes;
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (int i = 0; i < 200; ++i) all.push_back("n" + std::to_string(i - 100));
  return all;
}

struct Played {
  ReplayFinding finding;
  std::vector<std::vector<Nodes>> waves;
};

// A group's fate by its members.
Played play(ReplayCourse course, const std::function<GroupReplayed(const Nodes&)>& fate) {
  Played played;
  bool goes_on = true;
  while (goes_on) {
    played.waves.push_back(course.wave());
    std::vector<GroupReplayed> groups;
    for (const Nodes& group : played.waves.back()) groups.push_back(fate(group));
    goes_on = course.take(groups);
    REQUIRE(played.waves.size() < 100);
  }
  played.finding = course.finding(names());
  return played;
}

Played play_faulty(std::size_t count, std::uint32_t unit, const std::set<std::uint32_t>& faulty) {
  ReplayCourse course;
  course.begin(nodes_of(count), unit, true);
  return play(course, [&](const Nodes& group) -> GroupReplayed {
    for (const base::NodeId node : group) {
      if (faulty.contains(node.value - 100)) return {Outcome::kFailed, {}, "exit code 3"};
    }
    return {Outcome::kPassed, {}, {}};
  });
}

TEST_CASE("one faulty machine is found, whichever of however many it is") {
  for (std::size_t count = 2; count <= 30; ++count) {
    for (std::uint32_t bad = 0; bad < count; ++bad) {
      CAPTURE(count);
      CAPTURE(bad);
      const Played played = play_faulty(count, 1, {bad});
      REQUIRE(played.finding.culprits.size() == 1);
      CHECK(played.finding.culprits[0].value == 100 + bad);
    }
  }
}

TEST_CASE("the paper's example: 13 of 24 is what two groups of four share") {
  const Played played = play_faulty(24, 4, {13});
  REQUIRE(played.waves.size() == 2);
  CHECK(played.waves[0].size() == 6);
  CHECK(played.waves[0][3] == Nodes{{112}, {113}, {114}, {115}});
  CHECK(played.waves[1][1] == Nodes{{101}, {107}, {113}, {119}});
  CHECK(played.finding.text == "n13 is in the groups that failed in both phases");
  CHECK(played.finding.evidence ==
        std::vector<std::string>{"group H3: exit code 3", "group V1: exit code 3"});
}

TEST_CASE("in no wave a machine runs twice") {
  for (std::size_t count = 2; count <= 30; ++count) {
    for (const auto& wave : play_faulty(count, 1, {1}).waves) {
      std::set<base::NodeId> seen;
      for (const Nodes& group : wave) {
        for (const base::NodeId node : group) CHECK(seen.insert(node).second);
      }
    }
  }
}

TEST_CASE("a second phase that would add nothing is left out") {
  const Played healthy = play_faulty(9, 1, {});
  CHECK(healthy.waves.size() == 1);
  CHECK(healthy.finding.culprits.empty());
  CHECK(healthy.finding.text ==
        "no group failed: the fault does not show in it, or comes and goes");
  const Played broken = play_faulty(4, 1, {0, 1, 2, 3});
  CHECK(broken.waves.size() == 1);
  CHECK(broken.finding.culprits.empty());
  CHECK(broken.finding.text == "it fails everywhere: no machine can be told from the others");
}

TEST_CASE("a group that lacks a machine runs after the others, filled up by those that passed") {
  const Played played = play_faulty(5, 1, {4});  // H {0 1} {2 3} {4}, V {0 3} {1 4} {2}
  REQUIRE(played.waves.size() == 4);
  CHECK(played.waves[1] == std::vector<Nodes>{{{104}, {100}}});
  CHECK(played.waves[3] == std::vector<Nodes>{{{102}, {100}}});
  CHECK(played.finding.text == "n4 is in the groups that failed in both phases");
}

TEST_CASE("a failure in one phase alone names no machine") {
  ReplayCourse course;
  course.begin(nodes_of(4), 1, true);
  int calls = 0;
  const Played played = play(course, [&](const Nodes&) -> GroupReplayed {
    return {++calls == 1 ? Outcome::kFailed : Outcome::kPassed, {}, "exit code 3"};
  });
  CHECK(played.finding.culprits.empty());
  CHECK(played.finding.text ==
        "the groups that failed share no machine, or one phase alone did: it comes and goes among "
        "n0 and n1");
}

TEST_CASE("an untested group names no machine, and neither does a replay without an answer") {
  ReplayCourse course;
  course.begin(nodes_of(4), 1, true);
  const Played played = play(course, [](const Nodes&) -> GroupReplayed {
    return {Outcome::kUntested, {}, "no free port"};
  });
  CHECK(played.finding.text == "no group could be tested");
  course.begin(nodes_of(4), 1, true);
  CHECK_FALSE(course.take({}));
  CHECK(course.finding(names()).text == "no group could be tested");
}

TEST_CASE("a machine that the alignment test names is found at once, if it takes part") {
  ReplayCourse course;
  course.begin(nodes_of(9), 1, false);
  const Played played = play(course, [](const Nodes& group) -> GroupReplayed {
    if (std::ranges::find(group, base::NodeId{105}) == group.end()) {
      return {Outcome::kPassed, {}, {}};
    }
    return {Outcome::kFailed, {{105}, {3}, {105}}, "exit code 10"};
  });
  CHECK(played.waves.size() == 1);
  CHECK(played.finding.culprits == Nodes{{105}});
  CHECK(played.finding.text == "n5 computes other bits than the others");
}

TEST_CASE("the alignment test of fewer than four machines is one vote of all") {
  for (const std::size_t count : {2U, 3U}) {
    ReplayCourse course;
    course.begin(nodes_of(count), 1, false);
    CHECK(course.wave() == std::vector<Nodes>{nodes_of(count)});
    const GroupReplayed failed{Outcome::kFailed, {}, "exit code 11"};
    CHECK_FALSE(course.take({&failed, 1}));
    CHECK(course.finding(names()).culprits.empty());
    CHECK(course.finding(names()).text == "the nodes differ, and which one is wrong is not clear");
  }
}

TEST_CASE("machines that cannot be told apart are an obstacle, in words") {
  CHECK(in_words(ReplayCourse::obstacle(1, 1, false)) ==
        "there is no other machine to compare with");
  CHECK_FALSE(ReplayCourse::obstacle(2, 1, false));
  CHECK_FALSE(ReplayCourse::obstacle(3, 8, false));  // one vote
  CHECK(in_words(ReplayCourse::obstacle(8, 4, true)).starts_with("8 machines are too few"));
  CHECK_FALSE(ReplayCourse::obstacle(16, 4, true));
  CHECK_FALSE(ReplayCourse::obstacle(2, 0, true));
}

}  // namespace
}  // namespace robustrun::supervisor::replay_course_test
