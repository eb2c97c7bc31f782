// Faults on purpose in the report: all are listed, and an incident says when it was one.
#include <doctest/doctest.h>

#include "supervisor/core/report/render.h"
#include "supervisor/core/report/report.h"
#include "tests/supervisor/report_scenarios.h"

namespace robustrun::supervisor::report_injected_test {
namespace {

using namespace scenarios;

FaultInjected of_rank(const char* kind, std::uint32_t attempt, std::uint32_t node,
                      std::uint32_t rank) {
  return {kind, Attempt{attempt}, base::NodeId{node}, Rank{rank}, 4240, "done"};
}

FaultInjected of_node(const char* kind, std::uint32_t attempt, std::uint32_t node) {
  return {kind, Attempt{attempt}, base::NodeId{node}, {}, 0, "done"};
}

// Rank 1, on beta, is killed after one second; `faults` are recorded when they say.
Story killed(const std::vector<std::pair<double, FaultInjected>>& faults) {
  Story story;
  story.run({{"alpha", "10.0.0.1", 1}, {"beta", "10.0.0.2", 1}}).start(4, 0, 2);
  bool dead = false;
  const auto die = [&] {
    dead = true;
    story.event(1000, exited(0, 1, ExitStatus::Kind::kSignaled, 9, 999), 1);
    story.decide(1000, Rule::kWorkerFailed, 0, "rank 1 on beta: SIGKILL");
  };
  for (const auto& [at, fault] : faults) {
    if (at > 1000 && !dead) die();
    story.event(at, fault);
  }
  if (!dead) die();
  return story;
}

std::string explanation(const std::vector<std::pair<double, FaultInjected>>& faults) {
  const RunReport report = build_report(killed(faults).entries);
  CHECK(report.injected.size() == faults.size());
  CHECK(report.attempts == 1);
  REQUIRE(report.incidents.size() == 1);
  CHECK(report.incidents[0].rank == 1U);
  return report.incidents[0].injected;
}

TEST_CASE("an incident that was made on purpose says so, and which fault it was") {
  CHECK(explanation({}).empty());
  CHECK(explanation({{998, of_rank("kill", 0, 1, 1)}}) == "kill of rank 1 on beta");
}

TEST_CASE("what was made on purpose is not of an unknown cause, too") {
  for (const bool is_injected : {false, true}) {
    for (const bool is_known : {false, true}) {
      Story story = is_injected ? killed({{998, of_rank("kill", 0, 1, 1)}}) : killed({});
      for (JournalEntry& entry : story.entries) {
        auto* decision = std::get_if<Decision>(&entry.what);
        if (decision == nullptr || decision->rule != Rule::kWorkerFailed) continue;
        decision->looks_like.emplace();
        decision->looks_like->symptom = is_known ? "oom" : std::string(kUnexplained);
      }
      const RunReport report = build_report(story.entries);
      REQUIRE(report.incidents.size() == 1);
      CHECK(report.incidents[0].looks_like.has_value() == (is_known || !is_injected));
    }
  }
}

TEST_CASE("faults on purpose of others explain nothing") {
  CHECK(explanation({{998, of_rank("kill", 0, 0, 0)}}).empty());
  CHECK(explanation({{998, of_rank("kill", 7, 1, 1)}}).empty());
  CHECK(explanation({{998, of_node("net-drop", 0, 0)}}).empty());
  CHECK(explanation({{998, FaultInjected{"supervisor-death", {}, {}, {}, 1, "SIGKILL"}}}).empty());
}

TEST_CASE("a fault of a node explains what fails there afterwards") {
  CHECK(explanation({{500, of_node("disk-full", 0, 1)}}) == "disk-full on beta");
  CHECK(explanation({{1500, of_node("agent-death", 0, 1)}}).empty());
}

TEST_CASE("a fault that its agent reported only after the rank's end explains it all the same") {
  CHECK(explanation({{1040, of_rank("exception", 0, 1, 1)}}) == "exception of rank 1 on beta");
}

TEST_CASE("of several the last one counts") {
  CHECK(explanation({{300, of_rank("stop", 0, 1, 1)},
                     {500, of_node("net-delay", 0, 1)},
                     {998, of_rank("kill", 0, 1, 1)}}) == "kill of rank 1 on beta");
}

TEST_CASE("an injected loss of an agent is told from another one") {
  Story story;
  story.run({{"alpha", "10.0.0.1", 1}, {"beta", "10.0.0.2", 1}}).start(4, 0, 2);
  story.event(500, of_node("agent-death", 0, 1)).event(501, AgentLost{"SIGKILL", true}, 1);
  story.decide(501, Rule::kAgentLost, 0, "the agent of beta was lost");
  story.decide(502, Rule::kRestart, 0, "restart").start(600, 1, 2);
  story.event(900, AgentLost{"SIGKILL", true}, 1);
  story.decide(901, Rule::kAgentLost, 1, "the agent of beta was lost");
  const RunReport report = build_report(story.entries);
  REQUIRE(report.incidents.size() == 2);
  CHECK(report.incidents[0].injected == "agent-death on beta");
  CHECK(report.incidents[1].injected.empty());
}

TEST_CASE("a fault without an incident is listed, with its time since the start") {
  Story story;
  story.run({{"alpha", "10.0.0.1", 2}}).start(4, 0, 2).event(250, of_rank("stop", 0, 0, 1));
  const RunReport report = build_report(story.entries);
  CHECK(report.incidents.empty());
  REQUIRE(report.injected.size() == 1);
  const InjectedFault& fault = report.injected[0];
  CHECK(fault.kind == "stop");
  CHECK(fault.at == ms(250));
  CHECK(fault.attempt == 0);
  CHECK(fault.node == "alpha");
  CHECK(fault.rank == 1U);
  CHECK(render_report(report, {false, 100, Detail::kFull})
            .find("injected  stop of rank 1 on alpha, 250 ms after the start") !=
        std::string::npos);
  CHECK(report_json(report).find(R"("injected":[{"kind":"stop","at_s":0.25,"attempt":0,)"
                                 R"("node":"alpha","rank":1,"done":"done"}])") !=
        std::string::npos);
}

TEST_CASE("a journal that lies about nodes and words breaks nothing") {
  Story story;
  story.run({{"alpha", "10.0.0.1", 2}});
  story.event(10, of_node("\x1b[2J", 4'000'000'000U, 4'000'000'000U));
  story.entries.back().at = base::Nanos::min();
  const RunReport report = build_report(story.entries);
  CHECK(report.injected.at(0).node == "node 4000000000");
  CHECK(render_report(report, {false, 80, Detail::kFull}).find('\x1b') == std::string::npos);
}

}  // namespace
}  // namespace robustrun::supervisor::report_injected_test
