#include "launcher/slurm/job_end.h"

#include <doctest/doctest.h>

#include <string>

#include "launcher/slurm/fields.h"

namespace robustrun::launcher::slurm_job_end_test {
namespace {

using namespace std::chrono_literals;

// Recorded with Slurm 22.05, called with SLURM_TIME_FORMAT=%s; unused fields are omitted.
std::string shown(const std::string& state, const std::string& end,
                  const std::string& limit = "00:05:00") {
  return "JobId=7 JobName=two words UserId=ada(1000) JobState=" + state +
         " Reason=None Restarts=0 TimeLimit=" + limit + " StartTime=1795300000 EndTime=" + end +
         " NodeList=n[1-2]\n";
}

TEST_CASE("the end of a running job's time is read") {
  for (const char* state : {"RUNNING", "SIGNALING", "SUSPENDED"}) {
    CAPTURE(state);
    const auto end = read_job_end(shown(state, "1795300300"));
    REQUIRE(end);
    CHECK(*end == base::Nanos(1795300300s));
  }
}

TEST_CASE("of an array's tasks the job's own counts") {
  const std::string others = "JobId=71 ArrayJobId=7 JobState=PENDING EndTime=Unknown\n";
  const std::string own = shown("RUNNING", "1795300300");
  CHECK(record_of(others + own, "7") == own.substr(0, own.size() - 1));
  CHECK(record_of(own, "8") == own);
  CHECK(read_job_end(record_of(others + own, "7")).value() == base::Nanos(1795300300s));
}

TEST_CASE("a job without a time limit has no end, whatever date Slurm shows") {
  const auto end = read_job_end(shown("RUNNING", "1826836000", "UNLIMITED"));
  REQUIRE(end);
  CHECK_FALSE(end->has_value());
}

TEST_CASE("an answer without a readable end of a running job is an error") {
  for (const std::string& text :
       {std::string(), std::string("slurm_load_jobs error: Invalid job id specified"),
        shown("COMPLETING", "1795300300"), shown("PENDING", "1795300300"),
        shown("RUNNING", "Unknown"), shown("RUNNING", ""), shown("RUNNING", "-5"),
        shown("RUNNING", "99999999999999"), shown("RUNNING", "2026-11-21T22:52:1"),
        shown("RUNNING", "22:52:19"), std::string("JobId=7 JobState=RUNNING")}) {
    CAPTURE(text);
    CHECK_FALSE(read_job_end(text));
  }
  CHECK(read_job_end(shown("RUNNING", "Unknown")).error().what ==
        "scontrol shows 'EndTime=Unknown', which is no time");
}

TEST_CASE("a Slurm that ignores the format shows local times, which are read as well") {
  const std::string text = "A=2026-11-21T22:52:19 B=2026-11-21T22:53:20 C=2026-13-40T99:00:00";
  const SlurmFields fields(text);
  REQUIRE(fields.time("A"));
  REQUIRE(fields.time("B"));
  CHECK(*fields.time("B") - *fields.time("A") == base::Nanos(61s));
  CHECK_FALSE(fields.time("C"));
  CHECK_FALSE(fields.time("D"));
}

}  // namespace
}  // namespace robustrun::launcher::slurm_job_end_test
