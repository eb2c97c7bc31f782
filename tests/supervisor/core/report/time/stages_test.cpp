// The stages of a start and of restarts, over the nodes, and the stragglers.
#include "supervisor/core/report/time/stages.h"
#include "supervisor/core/report/render.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "supervisor/core/types/limits.h"
#include "tests/supervisor/report_scenarios.h"

namespace robustrun::supervisor::report_stages_test {
namespace {

using namespace scenarios;

StageTime ended(StageName stage, double from, double to, std::optional<Rank> slowest = {}) {
  return {stage, kStart + ms(from), kStart + ms(to), ms(to - from), slowest};
}

StageTime goes_on(StageName stage, double from, double took, Rank slowest) {
  return {stage, kStart + ms(from), base::Nanos{}, ms(took), slowest};
}

AgentJoined joined(double asked, double began) {
  AgentJoined body{10, {}, 0};
  body.asked = kStart + ms(asked);
  body.began = kStart + ms(began);
  return body;
}

// Three nodes of two ranks; the second one's rank 3 imports slowly, so the others wait for it.
Story three_nodes() {
  Story story;
  story.run({{"n1", "10.0.0.1", 2}, {"n2", "10.0.0.2", 2}, {"n3", "10.0.0.3", 2}});
  for (std::uint32_t i = 0; i < 3; ++i) {
    story.event(200 + 10 * i, joined(1, 100 + 50 * i), i);
  }
  for (std::uint32_t i = 0; i < 6; ++i) story.event(300, WorkerStarted{{0}, {i}, 10}, i / 2);
  const double imports[] = {2000, 5200, 2100};
  for (std::uint32_t i = 0; i < 3; ++i) {
    StartStages stages{{0}, {ended(StageName::kImports, 300, 300 + imports[i], Rank{2 * i + 1})}};
    stages.stages.push_back(ended(StageName::kProcessGroup, 300 + imports[i], 5600, Rank{2 * i}));
    story.event(9000, stages, i);
  }
  return story;
}

TEST_CASE("each stage has its median, its slowest node and rank; stragglers are named") {
  const RunReport report = build_report(three_nodes().entries);
  CHECK(stage_words(report.stages, StartKind::kStart) ==
        "allocate 149 ms, at most 199 ms (n3); connect 60 ms, at most 100 ms (n1); "
        "imports 2.10 s, at most 5.20 s (n2, rank 3); "
        "process group 3.20 s, at most 3.30 s (n1, rank 0)");
  CHECK(stage_words(report.stages, StartKind::kRestart).empty());
  CHECK(straggler_words(report.stages) ==
        std::vector<std::string>{"imports on n2, rank 3: 5.20 s, 3.10 s over the median"});
  CHECK(report_json(report).find(
            R"({"of":"start","stage":"imports","samples":3,"median_s":2.1,"max_s":5.2,)"
            R"("slowest":"n2","rank":3,"attempt":0,"stragglers":[{"node":"n2","rank":3,)"
            R"("attempt":0,"took_s":5.2,"over_s":3.1}],"unfinished":0,"unfinished_nodes":[]})") !=
        std::string::npos);
  const std::string text = render_report(report, {false, 100, Detail::kFull});
  CHECK(text.find("stages") != std::string::npos);
  CHECK(text.find("3.10 s over the median") != std::string::npos);
}

TEST_CASE("what a node says later of the same attempt replaces what it said before") {
  Story story = three_nodes();
  story.event(9100, StartStages{{0}, {ended(StageName::kImports, 300, 2400, Rank{3})}}, 1);
  const RunReport report = build_report(story.entries);
  CHECK(straggler_words(report.stages).empty());
}

TEST_CASE("a start that failed names the nodes of an unfinished stage, after a while") {
  Story story = three_nodes();
  for (std::uint32_t i = 0; i < 3; ++i) {
    story.event(9100,
                StartStages{{0}, {goes_on(StageName::kProcessGroup, 300, 90000 + i, Rank{i})}}, i);
  }
  const RunReport report = build_report(story.entries);
  CHECK(straggler_words(report.stages) ==
        std::vector<std::string>{
            "process group not finished on n3, rank 2 after 1 min 30 s, nor on 2 more"});
  CHECK(stage_words(report.stages, StartKind::kStart).find("process group") == std::string::npos);
}

TEST_CASE("restarts are told apart, and each is compared with itself alone") {
  Story story = three_nodes();
  story.event(20000, AgentLost{"killed", true}, 1);
  story.event(21000, joined(20100, 20500), 1);
  // The first restart is warm, the second one is not: slow as a whole, without stragglers.
  for (std::uint32_t attempt = 1; attempt < 3; ++attempt) {
    for (std::uint32_t i = 0; i < 3; ++i) {
      const double took = attempt == 1 ? 20 : 4000;
      story.event(30000, WorkerStarted{{attempt}, {2 * i}, 10}, i);
      story.event(
          31000,
          StartStages{{attempt}, {ended(StageName::kImports, 30000, 30000 + took, Rank{2 * i})}},
          i);
    }
  }
  const RunReport report = build_report(story.entries);
  CHECK(stage_words(report.stages, StartKind::kRestart) ==
        "allocate 400 ms; connect 500 ms; imports 2.01 s, at most 4.00 s (n3, rank 4)");
  CHECK(straggler_words(report.stages).size() == 1);  // that of the start
}

TEST_CASE("of many stragglers the worst are told, and nothing impossible is believed") {
  Story story;
  std::vector<NodeSpec> nodes(100, NodeSpec{"n", "10.0.0.1", 1});
  story.run(nodes);
  for (std::uint32_t i = 0; i < 100; ++i) {
    StartStages stages{{0}, {ended(StageName::kImports, 0, i < 60 ? 1000 : 2000 + i, Rank{i})}};
    stages.stages.push_back(goes_on(StageName::kLoad, 0, i, Rank{i}));
    stages.stages.push_back({static_cast<StageName>(wire::kStageNames), {}, ms(1), ms(1), {}});
    story.event(9000, stages, i);
  }
  const RunReport report = build_report(story.entries);
  REQUIRE(report.stages.size() == 2);
  REQUIRE(report.stages[0].stragglers.size() == kStageNodesMax);
  CHECK(report.stages[0].stragglers[0].rank == 99);
  CHECK(report.stages[1].unfinished == 100);
  CHECK(report.stages[1].unfinished_nodes.size() == kStageNodesMax);
  CHECK(report.stages[1].samples == 0);
}

TEST_CASE("journals of before say nothing of stages") {
  Story story;
  story.run({{"n1", "10.0.0.1", 1}}).event(100, AgentJoined{10, {}, 0}).start(4, 0, 1);
  CHECK(build_report(story.entries).stages.empty());
  CHECK(build_report({}).stages.empty());
}

}  // namespace
}  // namespace robustrun::supervisor::report_stages_test
