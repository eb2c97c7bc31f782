#include "launcher/slurm/notice.h"

#include <doctest/doctest.h>

#include <ctime>
#include <string>

namespace robustrun::launcher::slurm_notice_test {
namespace {

using namespace std::chrono_literals;
using Why = SlurmNotice::Why;

// 2026-11-21T22:52:19 in this machine's time zone.
base::Nanos the_end() {
  std::tm local{};
  local.tm_year = 126;
  local.tm_mon = 10;
  local.tm_mday = 21;
  local.tm_hour = 22;
  local.tm_min = 52;
  local.tm_sec = 19;
  local.tm_isdst = -1;
  return std::chrono::seconds(std::mktime(&local));
}

// Recorded with Slurm 22.05; unused fields are omitted.
std::string shown(const std::string& rest) {
  return "JobId=7 JobName=two words UserId=ada(1000) GroupId=ada(1000) Requeue=1 " + rest +
         " TimeLimit=00:05:00 EndTime=2026-11-21T22:52:19 NodeList=n[1-2]\n";
}

SlurmNotice read(const std::string& text, std::uint32_t restarts = 0, base::Nanos left = 4min) {
  const auto notice = read_slurm_notice(text, restarts, the_end() - left, 3min);
  REQUIRE(notice);
  return *notice;
}

TEST_CASE("the reason for a signal from Slurm is read") {
  CHECK(read(shown("JobState=RUNNING Reason=None Restarts=0 PreemptTime=None")).why ==
        Why::kNothing);
  const auto preempted =
      read(shown("JobState=RUNNING Reason=None Restarts=0 PreemptTime=2026-11-21T22:50:00"));
  CHECK(preempted.why == Why::kPreempted);
  CHECK(preempted.words == "Slurm preempts job 7");
  const auto limit =
      read(shown("JobState=COMPLETING Reason=TimeLimit Restarts=0 PreemptTime=None"), 0, 0s);
  CHECK(limit.why == Why::kTimeLimit);
  CHECK(limit.words == "Slurm ends job 7 at its time limit");
  CHECK_FALSE(limit.end);
  const auto requeued = read(shown("JobState=COMPLETING Reason=None Restarts=2"), 1);
  CHECK(requeued.why == Why::kRequeued);
  CHECK(read(shown("JobState=COMPLETING Reason=None Restarts=2 PreemptTime=None"), 2).why ==
        Why::kCancelled);
  CHECK(read(shown("JobState=NODE_FAIL Reason=NodeDown Restarts=0")).why == Why::kNodeFailed);
}

TEST_CASE("a warning is recognised by the remaining time") {
  const std::string running = shown("JobState=RUNNING Reason=None Restarts=0 PreemptTime=None");
  CHECK(read(running, 0, 3min + 1s).why == Why::kNothing);
  const auto warned = read(running, 0, 3min);
  CHECK(warned.why == Why::kTimeLimitNear);
  CHECK(warned.words == "the time limit of job 7 is near");
  CHECK(warned.end == the_end());
  for (const char* flag : {"SIGNALING", "STOPPED", "RESIZING"}) {
    CAPTURE(flag);
    const std::string text = shown(std::string("JobState=") + flag + " Reason=None Restarts=0");
    CHECK(read(text, 0, 1min).why == Why::kTimeLimitNear);
    CHECK(read(text).why == Why::kNothing);
  }
  CHECK(read("JobId=7 JobState=RUNNING EndTime=Unknown").why == Why::kNothing);
}

TEST_CASE("output that does not describe a job is an error") {
  for (const char* text : {"", "slurm_load_jobs error: Invalid job id specified", "JobId=7",
                           "JobState=RUNNING", "====", "\n"}) {
    CAPTURE(text);
    CHECK_FALSE(read_slurm_notice(text, 0, the_end(), 3min));
  }
}

TEST_CASE("from 24.05 on Slurm itself queues a preempted job again") {
  constexpr const char* kPreempted =
      "JobId=1 JobState=RUNNING PreemptTime=2026-11-29T17:40:48 Nice=0";
  constexpr const char* kQuiet = "JobId=1 JobState=RUNNING PreemptTime=None Nice=0";
  constexpr const char* kLow = "PartitionName=low PreemptMode=REQUEUE State=UP";
  CHECK(requeues_itself("slurm-wlm 24.11.5\n", kPreempted, kLow));
  CHECK(requeues_itself("slurm 24.05.0-0rc1\n", kPreempted, kLow));
  CHECK(requeues_itself("slurm 25.05.1\n", kPreempted, "PreemptMode=GANG,REQUEUE"));
  CHECK_FALSE(requeues_itself("slurm-wlm 22.05.8\n", kPreempted, kLow));
  CHECK_FALSE(requeues_itself("slurm 24.02.9\n", kPreempted, kLow));
  CHECK_FALSE(requeues_itself("slurm-wlm 24.11.5\n", kQuiet, kLow));
  CHECK_FALSE(requeues_itself("slurm-wlm 24.11.5\n", kPreempted, "PreemptMode=CANCEL"));
  CHECK_FALSE(requeues_itself("slurm 24.11.5", std::string(kPreempted) + " Requeue=0", kLow));
  for (const char* garbage : {"", "slurm", "slurm x.y", "24"}) {
    CHECK_FALSE(requeues_itself(garbage, kPreempted, kLow));
  }
  CHECK_FALSE(requeues_itself("slurm-wlm 24.11.5\n", "", ""));
}

}  // namespace
}  // namespace robustrun::launcher::slurm_notice_test
