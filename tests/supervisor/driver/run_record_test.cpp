// What a run leaves of itself: in its journal, its status and its outlets.
#include "supervisor/driver/run_record.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "supervisor/outlets/outlets.h"
#include "tests/support/captured_log.h"
#include "tests/support/file_size_limit.h"
#include "tests/support/scratch.h"

namespace robustrun::supervisor::test::run_record_test {
namespace {

using namespace std::chrono_literals;

struct FakeOutlets final : Outlets {
  [[nodiscard]] std::string metrics_url() const override { return "http://n0:9100/metrics"; }
  void catch_up(const std::vector<JournalEntry>&) override {}
  void take(const JournalEntry&) override { ++entries; }
  void take(JobState state, base::Nanos) override { states.push_back(state); }
  void begin(std::function<RunStatus()> status) override { read = std::move(status); }
  void end(std::function<void()> done) override { ended = std::move(done); }

  std::size_t entries = 0;
  std::vector<JobState> states;
  std::function<RunStatus()> read;
  std::function<void()> ended;
};

JournalEntry started(const std::string& run_id = "r") {
  RunStarted run;
  run.spec.run_id = run_id;
  run.spec.nodes.resize(1);
  Event event;
  event.at = 1s;
  event.body = run;
  return {1s, event};
}

struct Recorded {
  Recorded() {
    auto journal = Journal::create(path());
    REQUIRE(journal);
    record.record_to(*std::move(journal));
  }
  [[nodiscard]] std::string path() const { return folder / "journal"; }
  [[nodiscard]] std::size_t entries() const {
    const auto read = read_run_journal(path());
    REQUIRE(read);
    return read->entries.size();
  }

  const robustrun::test::Scratch folder;
  robustrun::test::CapturedLog log;
  RunRecord record;
};

TEST_CASE("an entry is journaled, and counts for the status and the outlets") {
  Recorded run;
  FakeOutlets outlets;
  run.record.publish_to(outlets);
  run.record.write(started());
  CHECK(run.entries() == 1);
  CHECK(run.record.status().status(2s).run_id == "r");
  CHECK(outlets.entries == 1);
  CHECK(run.record.metrics_url() == "http://n0:9100/metrics");
  run.record.write_last({3s, Finish{0}});
  CHECK(run.entries() == 2);
  CHECK(run.log.text().empty());
}

TEST_CASE("a journal that cannot be written does not end the run: that is logged once a minute") {
  Recorded run;
  run.record.write(started());
  {
    const robustrun::test::FileSizeLimit full(std::filesystem::file_size(run.path()) + 1);
    run.record.write(started());
    run.record.write(started());
  }
  const std::string failure = run.log.text();
  CHECK(failure.ends_with("; the run goes on, its report will be incomplete\n"));
  CHECK(failure.find('\n') == failure.size() - 1);
  CHECK(run.record.lost().size() == 2);  // for the final report
  run.record.write(started());
  const std::string over = failure + "the journal can be written again\n";
  CHECK(run.log.text() == over);
  CHECK(run.entries() == 2);
  const auto fail_at = [&](base::Nanos at) {
    const robustrun::test::FileSizeLimit full(std::filesystem::file_size(run.path()) + 1);
    JournalEntry entry = started();
    entry.at = at;
    run.record.write(entry);
  };
  fail_at(30s);
  CHECK(run.log.text() == over);
  fail_at(1min + 2s);
  CHECK(run.log.text().starts_with(over));
  CHECK(run.log.text().size() > over.size());
}

TEST_CASE("a successor's status goes on, and the entries that were missing are written") {
  Recorded run;
  Folded folded;
  folded.status.take(started("before"));
  folded.unwritten.push_back({2s, Decision{}});
  run.record.take_over(folded);
  CHECK(run.record.status().status(3s).run_id == "before");
  CHECK(run.entries() == 1);
}

TEST_CASE("a run was up once all workers of an attempt have run, whatever follows") {
  Recorded run;
  FakeOutlets outlets;
  run.record.publish_to(outlets);
  run.record.take(JobState::kStarting, 1s);
  CHECK_FALSE(run.record.was_up());
  run.record.take(JobState::kRunning, 2s);
  run.record.take(JobState::kStopping, 3s);
  CHECK(run.record.was_up());
  CHECK(outlets.states ==
        std::vector{JobState::kStarting, JobState::kRunning, JobState::kStopping});
}

TEST_CASE("the end waits for the outlets, and for nothing without them") {
  Recorded run;
  bool done = false;
  run.record.begin_outlets([] { return RunStatus{}; });
  run.record.end_outlets([&] { done = true; });
  CHECK(done);
  done = false;
  FakeOutlets outlets;
  run.record.publish_to(outlets);
  run.record.begin_outlets([] { return RunStatus{}; });
  CHECK(outlets.read);
  run.record.end_outlets([&] { done = true; });
  CHECK_FALSE(done);
  outlets.ended();
  CHECK(done);
}

}  // namespace
}  // namespace robustrun::supervisor::test::run_record_test
