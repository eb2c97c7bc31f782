// When the last save before the end of the scheduler's job begins.
#include "supervisor/driver/job_end.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "supervisor/limits.h"
#include "tests/supervisor/agents/fake_nodes.h"
#include "tests/support/captured_log.h"
#include "tests/support/loop.h"

namespace robustrun::supervisor::test::job_end_test {
namespace {

using namespace std::chrono_literals;
using Told = base::Result<std::optional<base::Nanos>>;

constexpr base::Nanos kBegin = 1'000'000s;
constexpr base::Nanos kEnd = kBegin + 4h;

std::string time_of_day(base::Nanos at) {
  const std::time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(at).count();
  char text[16] = {};
  std::tm local{};
  ::localtime_r(&seconds, &local);
  std::strftime(text, sizeof text, "%H:%M:%S", &local);
  return text;
}

struct Job {
  explicit Job(base::Nanos poll = 1ms, base::Nanos patience = 1h, base::Nanos now = kBegin) {
    clock.time = now;
    JobEnd::Hands hands;
    hands.ask_end = [this](std::function<void(Told)> done) {
      ++asked;
      tell = std::move(done);
    };
    hands.longest_saves = [this] { return longest; };
    hands.step_time = [this] { return step; };
    hands.is_ending = [this] { return is_ending; };
    hands.on_save = [this](const SignalReceived& one) { saves.push_back(one); };
    end.emplace(loop.executor(), clock, JobEnd::Settings{"12", poll, 120s, patience},
                std::move(hands));
    end->begin(kBegin);
  }
  // Slurm answers the question that is open, or the next one.
  void answer(const Told& told) {
    REQUIRE(loop.run_until([this] { return tell != nullptr; }));
    std::exchange(tell, nullptr)(told);
  }

  robustrun::test::CapturedLog log;
  robustrun::test::Loop loop{};
  SetClock clock;
  LongestSaves longest{41s, 0s};
  base::Nanos step{};
  bool is_ending = false;
  int asked = 0;
  std::function<void(Told)> tell;
  std::vector<SignalReceived> saves;
  std::optional<JobEnd> end;
};

TEST_CASE("the last save begins early enough for the longest one, two steps and a margin") {
  CHECK(last_save_time(kBegin, kEnd, 41s, 0s) == kEnd - 41s - kJobEndMarginMin);
  CHECK(last_save_time(kBegin, kEnd, 41s, 3s) == kEnd - 41s - 6s - kJobEndMarginMin);
  CHECK(last_save_time(kBegin, kEnd, 0s, 0s) == kEnd - kJobEndMarginMin);
  CHECK(last_save_time(kBegin, kEnd, 4min, 0s) == kEnd - 6min);
  CHECK(last_save_time(kBegin, kEnd, 1h, 0s) == kEnd - 1h - kJobEndMarginMax);
}

TEST_CASE("no figure takes more than half of the job's time") {
  for (const base::Nanos wrong : {base::Nanos(3h), base::Nanos::max()}) {
    CHECK(last_save_time(kBegin, kEnd, wrong, 0s) == kEnd - 2h);
    CHECK(last_save_time(kBegin, kEnd, 41s, wrong) == kEnd - 2h);
  }
  CHECK(last_save_time(kBegin, kEnd, base::Nanos::min(), -1s) == kEnd - kJobEndMarginMin);
  CHECK(last_save_time(kEnd, kBegin, 41s, 0s) == kBegin);
}

TEST_CASE("the save is announced once, and begins in time with what is left until the end") {
  Job job;
  const base::Nanos at = kEnd - 41s - kJobEndMarginMin;
  job.answer(kEnd);
  CHECK(job.end->timed_save(kEnd) == "saving at " + time_of_day(at));
  job.clock.time = at - kJobEndAnnounced - 1s;
  job.answer(kEnd);
  CHECK(job.log.text().empty());
  job.clock.time = at - kJobEndAnnounced;
  job.answer(kEnd);
  const std::string line = "time limit of Slurm job 12 at " + time_of_day(kEnd) +
                           "; the longest save took 41.0 s: saving at " + time_of_day(at) + "\n";
  CHECK(job.log.text() == line);
  job.clock.time = at - 1s;
  job.answer(kEnd);
  CHECK(job.saves.empty());
  job.clock.time = at;
  job.answer(kEnd);
  CHECK(job.saves.empty());  // Slurm is asked once more
  job.answer(kEnd);
  REQUIRE(job.saves.size() == 1);
  CHECK(job.saves[0].signal == SIGTERM);
  CHECK(job.saves[0].cause == SignalReceived::Cause::kTimeLimit);
  CHECK(job.saves[0].by ==
        "time limit of Slurm job 12 at " + time_of_day(kEnd) + "; the longest save took 41.0 s");
  CHECK(job.saves[0].grace == 41s + kJobEndMarginMin - kJobEndReserve);
  CHECK(job.log.text() == line);
  CHECK(job.end->timed_save(kEnd).empty());
  job.loop.run_out();
  CHECK(job.tell == nullptr);  // that was the last question
}

TEST_CASE("a save that takes longer than those before moves the time") {
  Job job;
  job.answer(kEnd);
  job.clock.time = kEnd - 5min;
  job.longest.reported = 4min;
  job.answer(kEnd);
  job.answer(kEnd);
  REQUIRE(job.saves.size() == 1);
  CHECK(job.saves[0].grace == 5min - kJobEndReserve);
}

TEST_CASE("an end that is moved before the save is announced again, and kept") {
  Job job;
  job.answer(kEnd);
  job.clock.time = kEnd - 86s;
  job.answer(kEnd);
  job.answer(kEnd + 1h);
  CHECK(job.saves.empty());
  job.clock.time = kEnd + 1h - 5min;
  job.answer(kEnd + 1h);
  CHECK(job.log.text().find("time limit of Slurm job 12 at " + time_of_day(kEnd + 1h)) !=
        std::string::npos);
  job.answer(std::nullopt);  // the limit is lifted
  job.clock.time = kEnd + 1h;
  job.answer(std::nullopt);
  CHECK(job.saves.empty());
  CHECK(job.end->timed_save(kEnd).empty());
}

TEST_CASE("the save does not depend on Slurm's last answer") {
  for (const bool answers : {true, false}) {
    CAPTURE(answers);
    Job job(1ms, answers ? base::Nanos(1h) : base::Nanos(5ms));
    job.answer(kEnd);
    job.clock.time = kEnd - 60s;
    job.answer(base::fail(base::Errc::kTimeout, "scontrol took too long"));
    if (answers) job.answer(base::fail(base::Errc::kTimeout, "scontrol took too long"));
    REQUIRE(job.loop.run_until([&] { return !job.saves.empty(); }));
  }
}

TEST_CASE("a warning brings the end that a poll has not seen yet") {
  Job job;
  job.answer(kEnd);
  // Slurm warns of a limit that was shortened by an hour.
  const base::Nanos end = kEnd - 1h;
  const base::Nanos at = end - 41s - kJobEndMarginMin;
  job.clock.time = at - 30s;
  CHECK(job.end->timed_save(end) == "saving at " + time_of_day(at));
  CHECK(job.log.text() == "time limit of Slurm job 12 at " + time_of_day(end) +
                              "; the longest save took 41.0 s: saving at " + time_of_day(at) +
                              "\n");
  job.clock.time = at;
  CHECK(job.end->timed_save(end).empty());
  CHECK(job.end->time_to_save(end) == 41s + kJobEndMarginMin - kJobEndReserve);
  CHECK(job.end->time_to_save(at) == kJobEndGraceMin);
  CHECK(job.end->timed_save(at - 1s).empty());
  CHECK(job.end->timed_save(at + kJobEndMax + 1s).empty());
  // The save does not wait for the poll.
  job.answer(base::fail(base::Errc::kTimeout, "scontrol took too long"));
  job.answer(base::fail(base::Errc::kTimeout, "scontrol took too long"));
  REQUIRE(job.saves.size() == 1);
  CHECK(job.saves[0].grace == 41s + kJobEndMarginMin - kJobEndReserve);
}

TEST_CASE("a save that is due by an end that no longer holds is put off by a warning") {
  Job job;
  job.answer(kEnd);
  job.clock.time = kEnd - 60s;
  job.answer(kEnd);
  CHECK_FALSE(job.end->timed_save(kEnd + 1h).empty());
  job.answer(kEnd + 1h);
  CHECK(job.saves.empty());
}

TEST_CASE("without a timed save the workers' time counts, and Slurm's warning is not superseded") {
  Job job;
  job.longest = {};
  job.clock.time = kEnd - 5min;
  job.answer(kEnd);
  CHECK(job.end->timed_save(kEnd).empty());
  CHECK(job.log.text() ==
        "time limit of Slurm job 12 at " + time_of_day(kEnd) +
            "; no save has been seen yet, and workers may take 120 s: saving at " +
            time_of_day(kEnd - 3min) + "\n");
  job.longest.reported = 10s;  // now one is timed, which is announced as well
  job.answer(kEnd);
  job.answer(kEnd);
  const std::string at = time_of_day(kEnd - 10s - kJobEndMarginMin);
  CHECK(job.end->timed_save(kEnd) == "saving at " + at);
  CHECK(job.log.text().ends_with("; the longest save took 10.0 s: saving at " + at + "\n"));
  CHECK(std::ranges::count(job.log.text(), '\n') == 2);
}

TEST_CASE(
    "a stop tells the least that a save takes: a short one changes nothing without a report") {
  CHECK(LongestSaves{{}, 3s}.expected(2min) == base::Nanos(2min));
  CHECK(LongestSaves{{}, 4min}.expected(2min) == base::Nanos(4min));
  CHECK(LongestSaves{41s, 3s}.expected(2min) == base::Nanos(41s));
  CHECK(LongestSaves{41s, 60s}.expected(2min) == base::Nanos(60s));
  Job job;
  job.longest = {{}, 3s};
  job.clock.time = kEnd - 5min;
  job.answer(kEnd);
  CHECK(job.end->timed_save(kEnd).empty());
  CHECK(job.log.text().ends_with(
      "; no save has been seen yet, and workers may take 120 s: saving at " +
      time_of_day(kEnd - 3min) + "\n"));
  job.longest.stop = 130s;
  job.answer(kEnd + 1min);
  CHECK(job.end->timed_save(kEnd + 1min).empty());
  CHECK(
      job.log.text().ends_with("; no save has been seen yet, and the longest stop took 2 min 10 s: "
                               "saving at " +
                               time_of_day(kEnd + 1min - 195s) + "\n"));
}

TEST_CASE("a supervisor that takes over begins the save as early as the first one would have") {
  Job job(1ms, 1h, kEnd - 2min);
  job.answer(kEnd);
  CHECK(job.log.text().ends_with("saving at " + time_of_day(kEnd - 41s - kJobEndMarginMin) + "\n"));
}

TEST_CASE("wrong answers are logged once, and ignored") {
  Job job;
  job.answer(base::fail(base::Errc::kCorrupt, "scontrol does not show a running job"));
  job.answer(kBegin - 1s);
  job.answer(kBegin + kJobEndMax + 1s);
  CHECK(job.log.text() ==
        "Slurm does not tell when the job ends: scontrol does not show a running job; the last "
        "save waits for its own warning\n");
  job.answer(kEnd);
  job.answer(kEnd - 100h);
  CHECK(job.log.text().find("an end in the past; the end that it told before counts\n") !=
        std::string::npos);
  CHECK(job.saves.empty());
  CHECK_FALSE(job.end->timed_save(kEnd).empty());
}

TEST_CASE("a run that ends already is not told to end again") {
  Job job;
  job.answer(kEnd);
  job.is_ending = true;
  job.clock.time = kEnd - 60s;
  job.answer(kEnd);
  job.answer(kEnd);
  CHECK(job.saves.empty());
}

TEST_CASE("without an interval, and after the end, Slurm is not asked") {
  Job never(0s);
  CHECK(never.asked == 0);
  CHECK(never.end->timed_save(kEnd).empty());
  Job over;
  over.end->end();
  over.answer(kBegin + 1s);
  over.loop.run_out();
  CHECK(over.asked == 1);
  CHECK(over.saves.empty());
}

}  // namespace
}  // namespace robustrun::supervisor::test::job_end_test
