#include "supervisor/core/status/bad_node.h"

#include <doctest/doctest.h>

#include "supervisor/core/types/json_writer.h"
#include "supervisor/outlets/bad_node_calls.h"
#include "tests/supervisor/story.h"

namespace robustrun::supervisor::bad_node_test {
namespace {

using namespace scenarios;
using Words = std::vector<std::string>;

Decision eviction(std::vector<base::NodeId> nodes, std::string text) {
  return {Rule::kNodeEvicted, Attempt{0}, std::move(text), {}, {}, {}, std::move(nodes)};
}

std::vector<BadNode> bad_nodes(const Story& story) {
  std::vector<BadNode> found;
  BadNodeFold fold;
  for (const JournalEntry& entry : story.entries) {
    if (auto bad = fold.take(entry)) found.push_back(*std::move(bad));
  }
  return found;
}

Story broken() {
  Story story;
  story.run({{"n1", "10.0.0.1", 2}, {"n2", "10.0.0.2", 2}});
  story.event(1000, NodeHealth{NodeHealth::Source::kGpu, "GPU 3", "Xid 79", 79, false}, 1);
  story.event(1001, NodeHealth{NodeHealth::Source::kDisk, "/data", "is full", 0, true}, 1);
  story.event(1002, NodeHealth{NodeHealth::Source::kKernel, "", "other", 0, false}, 0);
  story.decide(2000, Rule::kWorkerFailed, 0, "rank 3 on n2: exit code 1", {"rank 3: exit code 1"});
  return story;
}

TEST_CASE("an eviction comes with what is known about the node") {
  Story story = broken();
  story.entries.push_back({kStart + ms(3000), eviction({{1}}, "n2 is evicted: GPU is lost")});
  const auto found = bad_nodes(story);
  REQUIRE(found.size() == 1);
  CHECK(found[0].nodes == Words{"n2"});
  CHECK(found[0].cause == "rank 3 on n2: exit code 1");
  CHECK(found[0].evidence == Words{"rank 3: exit code 1"});
  CHECK(found[0].findings == Words{"GPU 3: Xid 79"});
  CHECK(found[0].at == std::chrono::seconds(1785578403));
  CHECK(JsonWriter::object(found[0]).starts_with(
      R"({"run":"brave-otter-4711","program":"train.py","nodes":["n2"],)"));
}

TEST_CASE("a node that is left to the scheduler is not bad, and findings are bounded") {
  Story story = broken();
  for (int i = 0; i < 100; ++i) {
    story.event(1100 + i, NodeHealth{NodeHealth::Source::kKernel, "", std::to_string(i)}, 1);
  }
  Decision left = eviction({{0}}, "n1 is left");
  left.rule = Rule::kNodeDrained;
  story.entries.push_back({kStart + ms(3000), left});
  CHECK(bad_nodes(story).empty());
  story.entries.push_back({kStart + ms(3001), eviction({{1}, {7}}, "n2 and node 7 are evicted")});
  const auto found = bad_nodes(story);
  REQUIRE(found.size() == 1);
  CHECK(found[0].nodes == Words{"n2", "node 7"});
  CHECK(found[0].findings.size() == kBadNodeFindingsMax);
  CHECK(found[0].findings.back() == "99");
}

TEST_CASE("the user's command gets JSON; scontrol drains one node, or comments on the job") {
  BadNode bad;
  bad.run = "slurm-7";
  bad.nodes = {"n2"};
  bad.why = "n2 is evicted: GPU\nis lost";
  std::string why_not;
  BadNodePlan plan;
  CHECK_FALSE(BadNodeCalls(plan).call_for(bad, why_not));
  plan.action = BadNodePlan::Action::kCommand;
  const auto told = BadNodeCalls(plan).call_for(bad, why_not);
  REQUIRE(told);
  CHECK(told->input.starts_with("{\"run\":\"slurm-7\","));
  CHECK(told->input.ends_with("}\n"));
  CHECK(told->words.empty());

  plan.action = BadNodePlan::Action::kDrain;
  const auto drain = BadNodeCalls(plan).call_for(bad, why_not);
  REQUIRE(drain);
  CHECK(drain->words ==
        Words{"NodeName=n2", "State=DRAIN", "Reason=robustrun slurm-7: GPU\\x0ais lost"});
  CHECK(drain->done == "n2 is drained in Slurm");

  plan.action = BadNodePlan::Action::kComment;
  plan.job = "7";
  BadNodeCalls comments(plan);
  static_cast<void>(comments.call_for(bad, why_not));
  bad.nodes = {"n3", "n4"};
  bad.why = "n3 and n4 are evicted, because any of them may be to blame: a hang";
  CHECK(
      comments.call_for(bad, why_not)->words ==
      Words{"JobId=7", "Comment=robustrun: bad node n2: GPU\\x0ais lost; bad node n3, n4: a hang"});
  CHECK(why_not.empty());
  plan.action = BadNodePlan::Action::kDrain;
  CHECK_FALSE(BadNodeCalls(plan).call_for(bad, why_not));
  CHECK(why_not == "n3, n4 are not drained: only one of them may be to blame");
}

}  // namespace
}  // namespace robustrun::supervisor::bad_node_test
