// The report for continuous integration.
#include "supervisor/core/report/ci.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/supervisor/report_scenarios.h"

namespace robustrun::supervisor::ci_test {
namespace {

// A run whose last attempt fails in the user's code.
RunReport failed() {
  RunReport report = build_report(scenarios::recovered().entries);
  report.outcome = RunOutcome::kFailed;
  report.exit_code = 1;
  report.reason = "giving up: 3 of 3 restarts are used";
  Incident last;
  last.attempt = 1;
  last.rank = 3;
  last.node = "n7";
  last.ended = "exit code 1";
  last.exception = "ValueError: 50% of a|b, <c>";
  last.place = "load (data,1.py:12)";
  last.stderr_tail = {
      "Traceback (most recent call last):", "  File \"/repo/src/data,1.py\", line 12, in load",
      "    raise ValueError", "ValueError: 50% of a|b, <c> \x1b[0m"};
  report.incidents.push_back(last);
  return report;
}

TEST_CASE("a run that failed is an error at the user's line; one it recovered from is a warning") {
  const std::string text = github_annotations(failed(), "/repo");
  CHECK(text.find("::warning title=robustrun%3A rank 1 on node0::rank 1 on node0: SIGKILL") !=
        std::string::npos);
  CHECK(text.find("::error file=src/data%2C1.py,line=12,title=robustrun%3A rank 3 on n7::rank 3 on "
                  "n7: exit code 1, ValueError: 50%25 of a|b, <c> in load") != std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
  CHECK(github_annotations(failed(), "/repo/").find("file=src/") != std::string::npos);
  for (const char* elsewhere : {"", "/", "/rep", "/repo/src/data"}) {
    CAPTURE(elsewhere);
    CHECK(github_annotations(failed(), elsewhere).find("file=/repo/src") != std::string::npos);
  }
  CHECK(github_annotations(build_report(scenarios::clean().entries), "").empty());
}

TEST_CASE("the summary is a heading, the run's figures and a table of incidents") {
  const std::string text = report_markdown(failed());
  CHECK(text.starts_with("## train.py: failed\n\ngiving up: 3 of 3 restarts are used\n"));
  CHECK(text.find("50% of a\\|b, &lt;c&gt;") != std::string::npos);
  CHECK(text.find("| after | attempt | failure |") != std::string::npos);
  const std::string clean = report_markdown(build_report(scenarios::clean().entries));
  CHECK(clean.find("succeeded") != std::string::npos);
  CHECK(clean.find("| after |") == std::string::npos);
}

TEST_CASE("in JUnit only the attempt that the run failed with has failed") {
  const std::string text = report_junit(failed());
  CHECK(text.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite "));
  CHECK(text.find("tests=\"2\" failures=\"1\"") != std::string::npos);
  CHECK(text.find("<system-out>rank 1 on node0: SIGKILL") != std::string::npos);
  CHECK(text.find("<failure message=\"rank 3 on n7: exit code 1, ValueError: 50% of a|b, "
                  "&lt;c&gt; in load (data,1.py:12)\"") != std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
  const std::string recovered = report_junit(build_report(scenarios::recovered().entries));
  CHECK(recovered.find("failures=\"0\"") != std::string::npos);
  CHECK(recovered.find("<failure") == std::string::npos);
}

TEST_CASE("the times of an attempt that was ended for an update and of the next one are one time") {
  RunReport report;
  report.outcome = RunOutcome::kSucceeded;
  report.program = "train.py";
  report.attempts = 3;
  report.duration = std::chrono::seconds(90);
  Incident& failure = report.incidents.emplace_back();
  failure.attempt = 1;
  failure.at = std::chrono::seconds(60);
  const std::string text = report_junit(report);
  CHECK(text.find("name=\"train.py attempt 0\"/>") != std::string::npos);
  CHECK(text.find("name=\"train.py attempt 1\" time=\"60.000\"") != std::string::npos);
  CHECK(text.find("name=\"train.py attempt 2\" time=\"30.000\"") != std::string::npos);
}

TEST_CASE("a run that could start nothing has one failed case") {
  RunReport report;
  report.outcome = RunOutcome::kFailed;
  report.reason = "no node answers";
  const std::string text = report_junit(report);
  CHECK(text.find("tests=\"1\" failures=\"1\"") != std::string::npos);
  CHECK(text.find("<failure message=\"no node answers\"") != std::string::npos);
}

}  // namespace
}  // namespace robustrun::supervisor::ci_test
