#include "cli/runs/read_journal.h"

#include <doctest/doctest.h>

#include "supervisor/core/report/report.h"
#include "tests/supervisor/story.h"

namespace robustrun::cli::read_journal_test {
namespace {

using supervisor::scenarios::kStart;
using supervisor::scenarios::ms;
using supervisor::scenarios::Story;
using namespace std::chrono_literals;

constexpr base::Nanos kBegan = std::chrono::seconds(1785578400);  // as in Story::run()

Story trained() {
  Story story;
  story.run({{"node0", "127.0.0.1", 2}}).start(4, 0, 2);
  supervisor::Progress first;
  first.mark = supervisor::Progress::Mark::kFirstStep;
  first.reached_at = kStart + ms(5000);
  first.step = 1;
  first.steps = 1;
  return story.event(5000, first);
}

TEST_CASE("the account of an active run reaches until now") {
  Story story = trained();
  CHECK(supervisor::build_report(story.entries).time.ettr == 0);
  bring_to_now(story.entries, kBegan + 20s);
  const supervisor::RunReport report = supervisor::build_report(story.entries);
  CHECK(report.duration == base::Nanos(20s));
  CHECK(report.time.ettr == doctest::Approx(0.75));
}

TEST_CASE("an ended run, an unknown start and an earlier moment change nothing") {
  Story ended = trained();
  ended.finish(6000, 0);
  Story headless = trained();
  headless.entries.erase(headless.entries.begin());
  Story early = trained();
  for (Story* const story : {&ended, &headless, &early}) {
    const std::size_t before = story->entries.size();
    bring_to_now(story->entries, story == &early ? kBegan + 4s : kBegan + 20s);
    CHECK(story->entries.size() == before);
  }
}

}  // namespace
}  // namespace robustrun::cli::read_journal_test
