// Numbers of the training that go wrong: said everywhere, and nothing is done.
#include <doctest/doctest.h>

#include <limits>

#include "supervisor/core/report/render.h"
#include "supervisor/core/report/report.h"
#include "supervisor/core/types/metric_alarm.h"
#include "tests/supervisor/job_journal.h"

namespace robustrun::supervisor::test::job_metrics_test {
namespace {

using Kind = MetricAlarm::Kind;

FaultRow row(std::string name, std::string found) {
  FaultRow made;
  made.name = std::move(name);
  made.symptom = made.name;
  made.found = {std::move(found)};
  made.action = FirstAction::kCheck;
  return made;
}

JobSpec spec_with_rows() {
  JobSpec spec = make_spec({2});
  spec.faults = {row("NaN", "not a number"), row("jumped", "jump")};
  return spec;
}

MetricAlarm alarm(Kind kind, double value, double usual, bool over = false) {
  return {base::Attempt{0}, "loss", kind, value, usual, 7, over};
}

TEST_CASE("an alarm in words") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(in_words(alarm(Kind::kNotANumber, nan, 2.31)) ==
        "loss is not a number: nan, 7 readings in a row, usual 2.31");
  CHECK(in_words(alarm(Kind::kNotANumber, nan, 0)) ==
        "loss is not a number: nan, 7 readings in a row");
  CHECK(in_words(alarm(Kind::kJump, 13, 2)) ==
        "loss jumped to 13, 6.5 times its usual 2, 7 readings in a row");
  MetricAlarm slower = alarm(Kind::kSlower, 1.5, 3);
  slower.name = kStepsPerSecond;
  CHECK(in_words(slower) == "steps per second fell to 1.5 from 3, 7 readings in a row");
  CHECK(in_words(alarm(Kind::kNotANumber, 2.5, 2.3, true)) == "loss is a number again: 2.5");
  CHECK(in_words(alarm(Kind::kJump, 2.5, 2.3, true)) == "loss is as usual again: 2.5, usual 2.3");
}

TEST_CASE("an alarm is reported with its classification, its end without; the job goes on") {
  Harness h(spec_with_rows());
  h.run();
  h.tell(alarm(Kind::kJump, 13, 2));
  REQUIRE(h.actions.size() == 1);
  CHECK(h.text(Rule::kMetricAlarm) ==
        "loss jumped to 13, 6.5 times its usual 2, 7 readings in a row");
  REQUIRE(h.all<Decision>()[0].looks_like);
  CHECK(h.all<Decision>()[0].looks_like->name == "jumped");
  CHECK(h.all<Decision>()[0].looks_like->evidence ==
        "\"loss jumped to 13, 6.5 times its usual 2, 7 readings in a row\" (rank 0)");
  h.tell(alarm(Kind::kJump, 2, 2, true));
  CHECK_FALSE(h.all<Decision>()[0].looks_like);
  CHECK(h.job.state() == JobState::kRunning);
}

TEST_CASE("an alarm that the table does not have is reported all the same") {
  Harness h(spec_with_rows());
  h.run();
  h.tell(alarm(Kind::kSlower, 1, 2));
  REQUIRE(h.all<Decision>()[0].looks_like);
  CHECK(h.all<Decision>()[0].looks_like->name == "slower");
  CHECK(h.all<Decision>()[0].looks_like->confidence == Confidence::kLow);
}

TEST_CASE("the report lists alarms with their time") {
  Harness h(spec_with_rows());
  h.run();
  JobJournal journal(h);
  journal.tell({h.now, {}, {}, alarm(Kind::kJump, 13, 2)});
  journal.tell({h.now, {}, {}, alarm(Kind::kJump, 2, 2, true)});
  const RunReport report = build_report(journal.entries);
  REQUIRE(report.alarms.size() == 2);
  CHECK(report.alarms[0].kind == Kind::kJump);
  CHECK(report.alarms[0].metric == "loss");
  CHECK_FALSE(report.alarms[0].over);
  CHECK(report.alarms[1].over);
  CHECK(report.incidents.empty());
  CHECK(render_report(report, {false, 200, Detail::kFull}).find("13, 6.5 times its usual 2") !=
        std::string::npos);
}

}  // namespace
}  // namespace robustrun::supervisor::test::job_metrics_test
