// A restart that begins at step 0 again although steps had been done.
#include "supervisor/core/fault/step_trail.h"
#include "supervisor/core/report/render.h"

#include <doctest/doctest.h>

#include "supervisor/core/report/report.h"
#include "tests/supervisor/job_journal.h"
#include "tests/supervisor/story.h"

namespace robustrun::supervisor::test::step_trail_test {
namespace {

using Mark = Progress::Mark;

StepTrail after(std::uint64_t steps, std::int64_t first, std::int64_t last) {
  StepTrail trail;
  trail.take(1, first);
  trail.take(steps, last);
  trail.begin_attempt();
  return trail;
}

TEST_CASE("a first step that was done before, whether the script counts from 0 or from 1") {
  for (const std::int64_t from : {0, 1}) {
    StepTrail trail = after(120, from, from + 119);
    CHECK(trail.take(1, from) == from + 119);
    CHECK_FALSE(trail.take(2, from + 1));  // said once
  }
}

TEST_CASE("a script that continues from a save, however old, has resumed") {
  StepTrail trail = after(120, 1, 120);
  CHECK_FALSE(trail.take(1, 101));
  StepTrail far = after(120, 1, 120);
  CHECK_FALSE(far.take(30, 130));  // many steps in when it is first seen
}

TEST_CASE("the beginning is found behind a first reading that is many steps in") {
  StepTrail trail = after(120, 1, 120);
  CHECK(trail.take(30, 30) == 120);
  StepTrail tenth = after(12, 10, 120);  // says every tenth number
  CHECK(tenth.take(3, 30) == 120);
}

TEST_CASE("a script that had done no step loses none") {
  StepTrail trail;
  CHECK_FALSE(trail.take(1, 1));
  trail = after(1, 0, 0);
  CHECK_FALSE(trail.take(1, 0));
}

TEST_CASE("an attempt without steps does not hide what the one before it had done") {
  StepTrail trail = after(120, 1, 120);
  trail.begin_attempt();
  CHECK(trail.take(1, 1) == 120);
}

TEST_CASE("any numbers are steps") {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  StepTrail trail;
  trail.take(1, kLeast);
  trail.take(std::numeric_limits<std::uint64_t>::max(), kMost);
  trail.begin_attempt();
  CHECK_FALSE(trail.take(std::numeric_limits<std::uint64_t>::max(), kLeast));
}

struct Numbered : Harness {
  Numbered() {
    run();
    step(Mark::kFirstStep, 1, 1);
    step(Mark::kSummary, 120, 120);
    tell_exit(exited(0, 0, 1));
    recover();
  }
  void step(Mark mark, std::uint64_t steps, std::int64_t number) {
    tell(Progress{job.attempt(), mark, now, steps, number, {}, {}});
  }
};

TEST_CASE("it is reported at the first step, and only for an attempt that began anew") {
  Numbered h;
  h.step(Mark::kFirstStep, 1, 1);
  CHECK(h.text(Rule::kNotResumed) == "the script did not resume: step 0 after 120");
  h.step(Mark::kSummary, 2, 2);
  CHECK_FALSE(h.decided(Rule::kNotResumed));
  Numbered resumed;
  resumed.step(Mark::kFirstStep, 1, 101);
  CHECK_FALSE(resumed.decided(Rule::kNotResumed));
}

TEST_CASE("the report says it before everything else, with the steps that it cost") {
  using scenarios::Story;
  Story story;
  story.run({{"node0", "127.0.0.1", 1}}).start(4, 0, 1);
  story.progress(1000, 0, Mark::kFirstStep, 1000, 1, 1);
  story.progress(9000, 0, Mark::kSummary, 9000, 120, 120);
  story.event(10000, exited(0, 0, 1));
  story.decide(10000, Rule::kWorkerFailed, 0, "").decide(10001, Rule::kRestart, 0, "again");
  story.start(10002, 1, 1).progress(12000, 1, Mark::kFirstStep, 12000, 1, 1);
  story.decide(12000, Rule::kNotResumed, 1, "the script did not resume: step 0 after 120");
  story.progress(13000, 1, Mark::kSummary, 13000, 50, 50).finish(14000, 0);
  const RunReport report = build_report(story.entries);
  REQUIRE(report.incidents.size() == 1);
  CHECK(report.incidents[0].steps_lost == 120);
  const std::string page = render_report(report, {false, 100, Detail::kFull});
  const auto lost = page.find(
      "lost      the script did not resume: step 0 after 120 (attempt 1; 120 steps done again)");
  REQUIRE(lost != std::string::npos);
  CHECK(lost < page.find("workers"));
  CHECK(time_words(report.time).starts_with("64.3 % productive"));  // 9 of 14 s
}

}  // namespace
}  // namespace robustrun::supervisor::test::step_trail_test
