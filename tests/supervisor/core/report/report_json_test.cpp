#include <doctest/doctest.h>

#include <limits>

#include "supervisor/core/report/report.h"
#include "tests/supervisor/report_scenarios.h"

namespace robustrun::supervisor::report_json_test {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("the JSON names fields as the field list does, times in seconds") {
  const std::string json = report_json(build_report(scenarios::recovered().entries));
  CAPTURE(json);
  CHECK(has(json, R"("outcome":"succeeded")"));
  CHECK(has(json, R"("exit_code":0)"));
  CHECK(has(json, R"("started_s":1785578400,)"));
  CHECK(has(json, R"("duration_s":24.1,)"));
  CHECK(has(json, R"("metrics":[{"name":"loss","value":0.0421}])"));
  CHECK(has(json, R"("phases":[{"name":"detect","duration_s":0.0004},)"));
  CHECK(has(json, R"("steps_lost":20)"));
  CHECK(json.find('\n') == std::string::npos);
}

TEST_CASE("what is absent is null, what is empty is a list") {
  const std::string json = report_json(build_report(scenarios::unfinished().entries));
  CHECK(has(json, R"("exit_code":null)"));
  CHECK(has(report_json(RunReport{}), R"("incidents":[])"));
}

TEST_CASE("numbers that JSON does not know are null") {
  RunReport report;
  report.metrics = {{"loss", std::numeric_limits<double>::quiet_NaN()},
                    {"scale", std::numeric_limits<double>::infinity()}};
  CHECK(
      has(report_json(report), R"([{"name":"loss","value":null},{"name":"scale","value":null}])"));
}

TEST_CASE("bytes that are not UTF-8 are escaped") {
  RunReport report;
  report.program = "caf\xe9\n\"\x01";
  CHECK(has(report_json(report), R"("program":"caf\\xe9\n\"\u0001")"));
}

}  // namespace
}  // namespace robustrun::supervisor::report_json_test
