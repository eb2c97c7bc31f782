#include "supervisor/core/report/evictions.h"

#include "supervisor/core/report/render.h"

#include <doctest/doctest.h>

#include "supervisor/core/report/report.h"
#include "tests/supervisor/report_scenarios.h"

namespace robustrun::supervisor::report_evictions_test {
namespace {

using namespace scenarios;

Decision about(Rule rule, std::string text, std::vector<base::NodeId> nodes) {
  return {rule, {}, std::move(text), {}, {}, {}, std::move(nodes)};
}

RunReport story_of_three() {
  Story story;
  story.run({{"a", "127.0.0.1", 1}, {"b", "127.0.0.1", 1}, {"c", "127.0.0.1", 1}});
  const auto say = [&](double at_ms, const Decision& decision) {
    story.entries.push_back({kStart + ms(at_ms), decision});
  };
  say(1000, about(Rule::kNodeEvicted, "a and b are evicted: cause unknown", {{0}, {1}}));
  say(2000, about(Rule::kNodeReturned, "b passed", {{1}}));
  say(3000, about(Rule::kNodeEvicted, "b is evicted: it is broken", {{1}}));
  say(4000, about(Rule::kNodeReturned, "an unknown node", {{9}}));
  return build_report(story.entries);
}

TEST_CASE("evictions are listed with the nodes that came back from each") {
  const RunReport report = story_of_three();
  REQUIRE(report.evictions.size() == 2);
  CHECK(report.evictions[0].at == std::chrono::seconds(1));
  CHECK(report.evictions[0].nodes == std::vector<std::string>{"a", "b"});
  CHECK(report.evictions[0].returned == std::vector<std::string>{"b"});
  CHECK(report.evictions[1].nodes == std::vector<std::string>{"b"});
  CHECK(report.evictions[1].returned.empty());
}

TEST_CASE("the report says how many of them were innocent") {
  const std::string text = render_report(story_of_three(), {false, 200, Detail::kFull});
  CHECK(text.find("a and b are evicted: cause unknown, 1.00 s after the start; 1 of them came "
                  "back") != std::string::npos);
  CHECK(text.find("b is evicted: it is broken, 3.00 s after the start\n") != std::string::npos);
  RunReport alone = story_of_three();
  alone.evictions[1].returned = {"b"};
  CHECK(render_report(alone, {false, 200, Detail::kFull})
            .find("3.00 s after the start; it came back\n") != std::string::npos);
  CHECK(report_json(story_of_three()).find("\"returned\":[\"b\"]") != std::string::npos);
}

TEST_CASE("an incident in which nothing failed bears the names of the evicted machines") {
  Story story;
  story.run({{"a", "127.0.0.1", 1}, {"b", "127.0.0.1", 1}});
  const auto title = [&] {
    const std::string text =
        render_report(build_report(story.entries), {false, 200, Detail::kFull});
    const std::size_t at = text.find("Incident 1 of 1: ");
    REQUIRE(at != std::string::npos);
    return text.substr(at, text.find(',', at) - at);
  };
  story.entries.push_back({kStart + ms(1000), about(Rule::kSlowEvicted, "b is slow", {})});
  CHECK(title() == "Incident 1 of 1: the job");
  story.entries.push_back({kStart + ms(1000), about(Rule::kNodeEvicted, "b is evicted", {{1}})});
  CHECK(title() == "Incident 1 of 1: b");
}

}  // namespace
}  // namespace robustrun::supervisor::report_evictions_test
