#include "supervisor/core/status/metrics_text.h"

#include <doctest/doctest.h>

#include <limits>
#include <set>

#include "supervisor/core/types/rule.h"
#include "tests/supervisor/report_scenarios.h"

namespace robustrun::supervisor::metrics_text_test {
namespace {

using namespace scenarios;
using namespace std::chrono_literals;

bool contains(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

// As the driver has it after these entries.
MetricsFacts facts_of(const Story& story) {
  MetricsFacts facts;
  facts.status = status_of_journal(story.entries);
  TotalsFold totals;
  for (const JournalEntry& entry : story.entries) totals.take(entry);
  facts.totals = totals.totals();
  facts.time = build_report(story.entries).time;
  facts.steps_total = facts.totals.earlier_steps + facts.status.steps;
  facts.build = "4f2a";
  return facts;
}

TEST_CASE("the whole page of a small run") {
  MetricsFacts facts;
  facts.status.run_id = "r1";
  facts.status.program = "train.py";
  facts.status.version = "0.1.0";
  facts.status.host = "node1";
  facts.status.state = JobState::kRunning;
  facts.status.started = 1785578400s;
  facts.status.uptime = 90500ms;
  facts.totals.workers = {0, 2, 0, 0, 0};
  NodeStatus node;
  node.agent = AgentStatus::kJoined;
  node.node_rank = 0;
  facts.status.nodes.push_back(node);
  const std::string page = metrics_text(facts);
  const std::string begin =
      "# HELP robustrun_build_info The robustrun that supervises the run; always 1.\n"
      "# TYPE robustrun_build_info gauge\n"
      "robustrun_build_info{run_id=\"r1\",version=\"0.1.0\",build=\"\"} 1\n"
      "# HELP robustrun_run_info What is run, and where its supervisor is; always 1.\n"
      "# TYPE robustrun_run_info gauge\n"
      "robustrun_run_info{run_id=\"r1\",program=\"train.py\",host=\"node1\"} 1\n"
      "# HELP robustrun_run_state 1 for the state that the run is in, 0 for the others.\n"
      "# TYPE robustrun_run_state gauge\n"
      "robustrun_run_state{run_id=\"r1\",state=\"joining\"} 0\n"
      "robustrun_run_state{run_id=\"r1\",state=\"reserving\"} 0\n"
      "robustrun_run_state{run_id=\"r1\",state=\"starting\"} 0\n"
      "robustrun_run_state{run_id=\"r1\",state=\"running\"} 1\n";
  CHECK(page.substr(0, begin.size()) == begin);
  CHECK(contains(page, "robustrun_run_start_time_seconds{run_id=\"r1\"} 1785578400"));
  CHECK(contains(page, "robustrun_run_duration_seconds{run_id=\"r1\"} 90.5"));
  CHECK(contains(page, "robustrun_nodes{run_id=\"r1\",state=\"joined\"} 1"));
  CHECK(contains(page, "robustrun_nodes{run_id=\"r1\",state=\"lost\"} 0"));
  CHECK(contains(page, "robustrun_spare_nodes{run_id=\"r1\"} 0"));
  CHECK(contains(page, "robustrun_workers{run_id=\"r1\",state=\"running\"} 2"));
  // What is not known is not there.
  for (const char* unknown : {"exit_code", "robustrun_step{", "steps_per_second", "job_metric",
                              "robustrun_time_seconds{", "_ratio{"}) {
    INFO(unknown);
    CHECK(page.find(unknown) == std::string::npos);
  }
}

TEST_CASE("a restart, its cause, its cost and what was computed again") {
  const std::string page = metrics_text(facts_of(recovered()));
  const std::string run = "{run_id=\"brave-otter-4711\"";
  CHECK(contains(page, "robustrun_incidents_total" + run + ",rule=\"worker_failed\"} 1"));
  CHECK(contains(page, "robustrun_incidents_total" + run + ",rule=\"agent_lost\"} 0"));
  CHECK(contains(page, "robustrun_restarts_total" + run + ",cause=\"worker_failed\"} 1"));
  CHECK(contains(page, "robustrun_restarts_total" + run + ",cause=\"group_grew\"} 0"));
  CHECK(contains(page, "robustrun_run_exit_code" + run + "} 0"));
  CHECK(contains(page, "robustrun_attempt" + run + "} 1"));
  CHECK(contains(page, "robustrun_steps_total" + run + "} 320"));
  CHECK(contains(page, "robustrun_attempt_steps" + run + "} 199"));
  CHECK(contains(page, "robustrun_step" + run + "} 299"));
  CHECK(contains(page, "robustrun_job_metric" + run + ",name=\"loss\"} 0.0421"));
  CHECK(contains(page, "robustrun_time_seconds" + run + ",spent=\"restarting\"} 2.3946"));
  CHECK(contains(page, "robustrun_time_seconds" + run + ",spent=\"stalled\"} 0"));
  CHECK(page.find("robustrun_effective_training_time_ratio" + run + "} 0.7") != std::string::npos);
}

TEST_CASE("every family has help and a type before its samples, and counters end in _total") {
  const std::string page = metrics_text(facts_of(failed()));
  std::string family;
  std::set<std::string> seen;
  std::set<std::string> samples;
  for (std::size_t at = 0, end = 0; at < page.size(); at = end + 1) {
    end = page.find('\n', at);
    REQUIRE(end != std::string::npos);
    const std::string line = page.substr(at, end - at);
    INFO(line);
    if (line.starts_with("# HELP ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
      CHECK(seen.insert(family).second);
      CHECK(line.size() > 8 + family.size());
    } else if (line.starts_with("# TYPE ")) {
      const bool is_counter = line == "# TYPE " + family + " counter";
      CHECK((is_counter || line == "# TYPE " + family + " gauge"));
      CHECK(is_counter == family.ends_with("_total"));
    } else {
      CHECK(line.substr(0, line.find('{')) == family);
      CHECK(samples.insert(line.substr(0, line.rfind(' '))).second);
    }
  }
}

TEST_CASE("labels are escaped, whatever is in them") {
  CHECK(label_text("") == "");
  CHECK(label_text("plain caf\xc3\xa9") == "plain caf\xc3\xa9");
  CHECK(label_text("a\"b") == "a\\\"b");
  CHECK(label_text("a\\b") == "a\\\\b");
  CHECK(label_text("a\nb\n") == "a\\nb\\n");
  CHECK(label_text("\xff\x1b") == "\\\\xff\\\\x1b");
  MetricsFacts facts;
  facts.status.run_id = "x\"} 1\nevil{";
  const std::string page = metrics_text(facts);
  CHECK(contains(page, "robustrun_attempt{run_id=\"x\\\"} 1\\nevil{\"} 0"));
}

TEST_CASE("numbers that are none have the format's words") {
  CHECK(number_text(0.1) == "0.1");
  CHECK(number_text(std::numeric_limits<double>::quiet_NaN()) == "NaN");
  CHECK(number_text(std::numeric_limits<double>::infinity()) == "+Inf");
  CHECK(number_text(-std::numeric_limits<double>::infinity()) == "-Inf");
}

TEST_CASE("waits for training data are those of the rank that waited longest") {
  MetricsFacts facts;
  NodeStatus node;
  node.ranks.resize(2);
  for (RankStatus& rank : node.ranks) rank.state = WorkerStage::kRunning;
  facts.status.nodes = {node};
  CHECK(metrics_text(facts).find("robustrun_data") == std::string::npos);
  facts.status.nodes[0].ranks[0].data_waited = 1500ms;
  facts.status.nodes[0].ranks[1].data_waited = 4500ms;
  facts.status.nodes[0].ranks[1].data_waiting = 3s;
  facts.status.nodes[0].ranks[0].data_skipped = 2;
  const std::string page = metrics_text(facts);
  CHECK(contains(page, "robustrun_data_wait_seconds{run_id=\"\"} 4.5"));
  CHECK(contains(page, "robustrun_data_waiting_ranks{run_id=\"\"} 1"));
  CHECK(contains(page, "robustrun_data_skipped_records{run_id=\"\"} 2"));
}

TEST_CASE("a metric that a job names twice is there once") {
  MetricsFacts facts;
  facts.status.metrics = {{"loss", 1}, {"loss", 2}, {"lr", 3}};
  const std::string page = metrics_text(facts);
  CHECK(contains(page, "robustrun_job_metric{run_id=\"\",name=\"loss\"} 1"));
  CHECK(contains(page, "robustrun_job_metric{run_id=\"\",name=\"lr\"} 3"));
  CHECK(page.find("name=\"loss\"} 2") == std::string::npos);
}

TEST_CASE("every rule has a word of its own, and what gives up is no incident") {
  std::set<std::string_view> words;
  int incidents = 0;
  for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(Rule::kKilled); ++i) {
    const Rule rule{i};
    CHECK(words.insert(rule_word(rule)).second);
    CHECK(rule_word(rule) != "unknown");
    incidents += is_incident(rule) ? 1 : 0;
    CHECK_FALSE((is_incident(rule) && gives_up(rule)));
  }
  CHECK(incidents == 10);
  CHECK(is_incident(Rule::kWorkerFailed));
  CHECK_FALSE(is_incident(Rule::kGroupGrew));
  CHECK(gives_up(Rule::kBudgetExhausted));
  CHECK_FALSE(gives_up(Rule::kRestart));
}

}  // namespace
}  // namespace robustrun::supervisor::metrics_text_test
