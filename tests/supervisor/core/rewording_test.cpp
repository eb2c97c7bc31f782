// Sentences are for people: with all of them reworded, nothing is decided or counted differently.
#include <doctest/doctest.h>

#include "supervisor/core/report/report.h"
#include "supervisor/core/status/event_lines.h"
#include "supervisor/core/status/run_totals.h"
#include "supervisor/core/status/status.h"
#include "tests/supervisor/job_journal.h"
#include "tests/supervisor/policy_words.h"
#include "tests/supervisor/report_scenarios.h"

namespace robustrun::supervisor::rewording_test {
namespace {

using namespace test;

void reword(std::vector<std::string>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) lines[i] = "line " + std::to_string(i);
}

// Other words for everything that the core says, and for what agents say of causes.
JournalEntry reworded(JournalEntry entry) {
  if (auto* decision = std::get_if<Decision>(&entry.what)) {
    decision->text = "a sentence";
    reword(decision->evidence);
    reword(decision->alternatives);
  }
  if (auto* event = std::get_if<Event>(&entry.what)) {
    if (auto* lost = std::get_if<AgentLost>(&event->body)) lost->why = "a cause";
    if (auto* failed = std::get_if<WorkerStartFailed>(&event->body)) failed->what = "a cause";
    if (auto* ending = std::get_if<NodeEnding>(&event->body)) ending->why = "a cause";
    if (auto* found = std::get_if<Diagnosed>(&event->body)) found->verdict.sentence = "a finding";
  }
  return entry;
}

std::vector<JournalEntry> reworded(const std::vector<JournalEntry>& entries) {
  std::vector<JournalEntry> all;
  for (const JournalEntry& entry : entries) all.push_back(reworded(entry));
  return all;
}

TEST_CASE("a report of reworded decisions has the same facts") {
  for (const auto& [name, story] : scenarios::all()) {
    CAPTURE(name);
    const RunReport one = build_report(story.entries);
    const RunReport other = build_report(reworded(story.entries));
    CHECK(one.outcome == other.outcome);
    CHECK(one.exit_code == other.exit_code);
    CHECK(one.time.ettr == other.time.ettr);
    CHECK(one.time.timeline.size() == other.time.timeline.size());
    CHECK(one.costs.size() == other.costs.size());
    REQUIRE(one.incidents.size() == other.incidents.size());
    for (std::size_t i = 0; i < one.incidents.size(); ++i) {
      CHECK(one.incidents[i].rank == other.incidents[i].rank);
      CHECK(one.incidents[i].recovery == other.incidents[i].recovery);
      CHECK(one.incidents[i].phases.size() == other.incidents[i].phases.size());
      CHECK(one.incidents[i].steps_lost == other.incidents[i].steps_lost);
    }
  }
}

TEST_CASE("a status, the totals and the events of reworded decisions have the same facts") {
  for (const auto& [name, story] : scenarios::all()) {
    CAPTURE(name);
    const RunStatus one = status_of_journal(story.entries);
    const RunStatus other = status_of_journal(reworded(story.entries));
    CHECK(one.state == other.state);
    CHECK(one.supervisor == other.supervisor);
    CHECK(one.restarts == other.restarts);
    for (std::size_t i = 0; i < one.nodes.size(); ++i) {
      CHECK(one.nodes[i].agent == other.nodes[i].agent);
    }
    TotalsFold totals, other_totals;
    EventLines lines, other_lines;
    for (const JournalEntry& entry : story.entries) {
      const JournalEntry changed = reworded(entry);
      totals.take(entry);
      other_totals.take(changed);
      const auto event = lines.take(entry), other_event = other_lines.take(changed);
      REQUIRE(event.has_value() == other_event.has_value());
      if (!event) continue;
      CHECK(event->rule == other_event->rule);
      CHECK(event->incident == other_event->incident);
      CHECK(event->gave_up == other_event->gave_up);
    }
    CHECK(totals.totals().incidents == other_totals.totals().incidents);
    CHECK(totals.totals().restarts == other_totals.totals().restarts);
  }
}

// What an action does, without its words.
std::string gist(const Action& action) {
  std::string text = std::to_string(action.index());
  if (const auto* decision = std::get_if<Decision>(&action)) {
    text += " rule " + std::to_string(static_cast<int>(decision->rule)) + " answer " +
            std::to_string(static_cast<int>(decision->answer));
    for (const PassedStep& passed : decision->passed) {
      text += " passed " + std::to_string(static_cast<int>(passed.step)) + " for " +
              std::to_string(static_cast<int>(passed.obstacle.kind));
    }
  }
  if (const auto* finish = std::get_if<Finish>(&action)) {
    text += " exit code " + std::to_string(finish->exit_code);
  }
  return text;
}

std::vector<std::string> gists(Job& job, const Event& event) {
  std::vector<std::string> all;
  for (const Action& action : job.handle(event)) all.push_back(gist(action));
  return all;
}

TEST_CASE("a job whose agents put causes in other words decides the same") {
  Harness h(policy_spec({1, 1, 1}, 2, 2));
  h.run();
  h.first_step();
  h.lose(1, "its machine does not answer");
  Job job, other;
  for (const Event& event : h.journal) {
    const JournalEntry changed = reworded(JournalEntry{event.at, event});
    CHECK(gists(job, event) == gists(other, std::get<Event>(changed.what)));
    CHECK(job.state() == other.state());
  }
}

}  // namespace
}  // namespace robustrun::supervisor::rewording_test
