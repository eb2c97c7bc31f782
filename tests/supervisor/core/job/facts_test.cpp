// What every part of a job reads and writes: orders, nodes, workers.
#include <doctest/doctest.h>

#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/job/facts/workers.h"

namespace robustrun::supervisor::facts_test {
namespace {

using std::chrono::seconds;
using Agent = NodeState::Agent;

JobSpec spec_of(std::size_t nodes) {
  JobSpec spec;
  for (std::size_t i = 0; i < nodes; ++i) spec.nodes.emplace_back().slots = 1;
  return spec;
}

struct TwoNodes {
  JobSpec spec = spec_of(2);
  Nodes nodes{spec};
  Group group;
  Workers workers{nodes, group};

  TwoNodes() {
    for (const NodeSpec& node : spec.nodes) nodes.add(node);
    group.form({{0}, {1}}, plan_ranks({{{0}, 1}, {{1}, 1}}));
    workers.begin_attempt();
  }
};

TEST_CASE("a phase that is entered drops the timers of the phase before, not those of the run") {
  Orders orders;
  orders.set_timer(TimerId::kState, seconds(1));
  orders.set_timer(TimerId::kTimeLimit, seconds(2));
  orders.enter(JobState::kJoining);
  CHECK(!orders.awaits({TimerId::kState, 1}));
  CHECK(orders.awaits({TimerId::kTimeLimit, 2}));
}

TEST_CASE("a timer that is set again replaces the one before") {
  Orders orders;
  orders.set_timer(TimerId::kNodes, seconds(1));
  orders.set_timer(TimerId::kNodes, seconds(2));
  CHECK(!orders.awaits({TimerId::kNodes, 1}));
  CHECK(orders.awaits({TimerId::kNodes, 2}));
}

TEST_CASE("an answer is added to the decision just made") {
  Orders orders;
  orders.decide(Rule::kRestart, "again");
  orders.note_answer(Answer::kFreeRestart);
  REQUIRE(orders.actions().size() == 1);
  CHECK(std::get<Decision>(orders.actions().front()).answer == Answer::kFreeRestart);
}

TEST_CASE("nodes are there, on the way or lost, and unfit ones are neither there nor on the way") {
  JobSpec spec = spec_of(3);
  Nodes nodes(spec);
  for (const NodeSpec& node : spec.nodes) nodes.add(node);
  nodes.set_presence(nodes[0], Agent::kJoined, false);
  nodes.set_presence(nodes[1], Agent::kLaunched, false);
  CHECK(nodes.there() == 1);
  CHECK(nodes.coming() == 1);
  CHECK(nodes.not_there() == std::set<base::NodeId>{{1}, {2}});
  nodes.set_presence(nodes[0], Agent::kJoined, true);
  nodes.set_leaving(nodes[1], true);
  CHECK(nodes.there() == 0);
  CHECK(nodes.coming() == 0);
  CHECK(nodes.not_there().size() == 3);
}

TEST_CASE("a volunteer is a node of the spec") {
  JobSpec spec = spec_of(1);
  Nodes nodes(spec);
  nodes.add(spec.nodes[0]);
  NodeSpec offered;
  offered.name = "late";
  CHECK(nodes.add_volunteer(offered) == base::NodeId{1});
  CHECK(nodes.name({1}) == "late");
  CHECK(spec.nodes[1].volunteer);
  CHECK(nodes.max_wanted() == 2);
}

TEST_CASE("a worker that ends without having started counts as seen, and each end counts once") {
  TwoNodes job;
  CHECK(job.workers.note_ended({0}));
  CHECK(!job.workers.note_ended({0}));
  CHECK(!job.workers.note_seen({0}));
  CHECK(job.workers.seen() == 1);
  CHECK(job.workers.alive() == 1);
  CHECK(!job.workers.are_left_on({0}));
  CHECK(job.workers.are_left_on({1}));
}

TEST_CASE("nothing is left once each node is gone or lost") {
  TwoNodes job;
  CHECK(job.workers.note_gone({0}, {}));
  CHECK(!job.workers.note_gone({0}, {}));
  CHECK(!job.workers.all_gone());
  job.workers.lose({1});
  job.workers.lose({1});
  CHECK(job.workers.all_gone());
  job.workers.begin_attempt();
  CHECK(job.workers.running_nodes() == 2);
}

}  // namespace
}  // namespace robustrun::supervisor::facts_test
