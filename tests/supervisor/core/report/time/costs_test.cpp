// What each phase of the start and of restarts has cost, over the nodes.
#include "supervisor/core/report/time/costs.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "tests/supervisor/report_scenarios.h"

namespace robustrun::supervisor::report_costs_test {
namespace {

using namespace scenarios;
using Mark = Progress::Mark;

// "start agent 4x 20.0 100.0 n3 0": of, phase, samples, median and most in ms, slowest, attempt.
std::vector<std::string> costs(const Story& story) {
  std::vector<std::string> lines;
  for (const PhaseCost& cost : build_report(story.entries).costs) {
    const auto in_ms = [](base::Nanos time) {
      return std::chrono::duration<double, std::milli>(time).count();
    };
    lines.push_back(fmt::format("{} {} {}x {} {} {} {}", to_string(cost.of), to_string(cost.phase),
                                cost.samples, in_ms(cost.median), in_ms(cost.max), cost.slowest,
                                cost.attempt));
  }
  return lines;
}

Progress by_nodes(std::uint32_t attempt, Mark mark, const std::vector<double>& reached) {
  Progress body;
  body.attempt = {attempt};
  body.mark = mark;
  for (std::uint32_t i = 0; i < reached.size(); ++i) {
    body.nodes.push_back({{i}, kStart + ms(reached[i])});
    body.reached_at = std::max(body.reached_at, body.nodes.back().at);
  }
  return body;
}

// Three nodes of one worker each; the third one is late for everything.
Story three() {
  Story story;
  story.run({{"n1", "10.0.0.1", 1}, {"n2", "10.0.0.2", 1}, {"n3", "10.0.0.3", 1}});
  for (std::uint32_t i = 0; i < 3; ++i) story.event(100 + 50 * i * i, AgentJoined{10, {}, 0}, i);
  NodesChecked checked;
  checked.took = ms(400);
  story.event(700, checked);
  story.decide(700, Rule::kStart, 0, "").event(710, PortReserved{{0}, 29500, {}});
  for (std::uint32_t i = 0; i < 3; ++i) story.event(720 + 10 * i, WorkerStarted{{0}, {i}, 10}, i);
  story.event(2000, by_nodes(0, Mark::kUserCode, {1000, 1100, 1900}));
  story.event(4000, by_nodes(0, Mark::kFirstStep, {3000, 3000, 3500}));
  return story;
}

TEST_CASE("each phase of the start: the median node, the slowest one and its name") {
  CHECK(costs(three()) == std::vector<std::string>{
                              "start agent 3x 150 300 n3 0",
                              "start check 1x 400 400  0",
                              "start processes 3x 20 30 n3 0",
                              "start interpreter 3x 370 1160 n3 0",
                              "start first step 3x 1900 2000 n1 0",
                          });
  const RunReport report = build_report(three().entries);
  CHECK(cost_words(report.costs, StartKind::kStart) ==
        "agent 150 ms, at most 300 ms (n3); check 400 ms; processes 20 ms, at most 30 ms (n3); "
        "interpreter 370 ms, at most 1.16 s (n3); first step 1.90 s, at most 2.00 s (n1)");
  CHECK(cost_words(report.costs, StartKind::kRestart).empty());
  CHECK(report_json(report).find(
            R"("costs":[{"of":"start","phase":"agent","samples":3,"median_s":0.15,"max_s":0.3,)"
            R"("slowest":"n3","attempt":0})") != std::string::npos);
}

TEST_CASE("a restart: its stop, a new agent, a check in between, and what is done again") {
  Story story = three();
  story.event(10000, AgentLost{"killed", true}, 1);
  story.decide(10000, Rule::kAgentLost, 0, "");
  story.event(10300, WorkersGone{{0}, 0, {}, {}}, 0).event(10500, WorkersGone{{0}, 0, {}, {}}, 2);
  story.decide(10500, Rule::kStopTimeCheck, 0, "").decide(10500, Rule::kRestart, 0, "");
  story.event(10900, AgentJoined{11, {}, 0}, 1);
  NodesChecked checked;
  checked.took = ms(250);
  story.event(11200, checked).event(11210, PortReserved{{1}, 29501, {}});
  for (std::uint32_t i = 0; i < 3; ++i) story.event(11220, WorkerStarted{{1}, {i}, 10}, i);
  story.event(12000, by_nodes(1, Mark::kUserCode, {11500, 11600, 11700}));
  story.event(13000, by_nodes(1, Mark::kFirstStep, {12500, 12500, 12500}));
  Progress caught;
  caught.attempt = {1};
  caught.mark = Mark::kCaughtUp;
  caught.reached_at = kStart + ms(14000);
  story.event(14010, caught);
  const auto lines = costs(story);
  REQUIRE(lines.size() == 12);
  CHECK(std::vector(lines.begin() + 5, lines.end()) == std::vector<std::string>{
                                                           "restart stop 2x 400 500 n3 0",
                                                           "restart relaunch 1x 900 900 n2 0",
                                                           "restart check 1x 250 250  1",
                                                           "restart processes 3x 10 10 n3 1",
                                                           "restart interpreter 3x 380 480 n3 1",
                                                           "restart first step 3x 900 1000 n1 1",
                                                           "restart catch up 1x 1500 1500  1",
                                                       });
}

TEST_CASE("the stop at a run's end is no restart, and phases that were not reported are left out") {
  Story story = three();
  story.event(10000, exited(0, 0, ExitStatus::Kind::kExited, 1, 10000));
  story.decide(10000, Rule::kWorkerFailed, 0, "");
  story.event(10300, WorkersGone{{0}, 0, {}, {}}, 0);
  story.decide(10300, Rule::kBudgetExhausted, 0, "").finish(10400, 1);
  CHECK(costs(story).size() == 5);
  // Of an older journal: marks of the group alone.
  CHECK(costs(Story()
                  .run({{"n1", "10.0.0.1", 1}})
                  .start(4, 0, 1)
                  .progress(900, 0, Mark::kUserCode, 900, 0)) ==
        std::vector<std::string>{"start processes 1x 2 2 n1 0"});
  CHECK(build_report({}).costs.empty());
}

}  // namespace
}  // namespace robustrun::supervisor::report_costs_test
