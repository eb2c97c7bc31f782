#include "supervisor/watch/pace_looks.h"

#include <doctest/doctest.h>

#include <vector>

#include "supervisor/limits.h"

namespace robustrun::supervisor::pace_looks_test {
namespace {

using namespace std::chrono_literals;

tracer::Verdict slow(std::uint32_t rank) {
  tracer::Verdict verdict;
  verdict.finding = tracer::Finding::kSlowRank;
  verdict.culprits = {{rank}};
  return verdict;
}

const tracer::Verdict kFirst = slow(1), kSecond = slow(2);
const tracer::Verdict* const kOne = &kFirst;
const tracer::Verdict* const kTwo = &kSecond;

// Steps from 100 s on.
struct Job {
  PaceLooks looks;
  base::Nanos now = 100s;

  explicit Job(std::uint32_t world = 3) {
    looks.begin_attempt(world);
    looks.note_steps(0, 50s);
    CHECK_FALSE(looks.is_due(1000s));
    looks.note_steps(1, now);
  }
  // Until the next look.
  base::Nanos wait() {
    const base::Nanos since = now;
    while (!looks.is_due(now)) now += 500ms;
    looks.begin(now);
    CHECK_FALSE(looks.is_due(now + 1h));  // one at a time
    return now - since;
  }
};

TEST_CASE("looks come ten seconds after the first step, and later less and less often") {
  Job job;
  std::vector<base::Nanos> waits;
  for (int i = 0; i < 6; ++i) {
    waits.push_back(job.wait());
    CHECK_FALSE(job.looks.take(nullptr, job.now));
  }
  CHECK(waits == std::vector<base::Nanos>{10s, 10s, 20s, 40s, 60s, 60s});
}

TEST_CASE("what one look names is confirmed soon by another") {
  Job job;
  job.wait();
  CHECK_FALSE(job.looks.take(kOne, job.now));
  CHECK(job.wait() == kPaceLookAgain);
  CHECK(job.looks.take(kOne, job.now));
  job.wait();
  CHECK_FALSE(job.looks.take(kTwo, job.now));
}

TEST_CASE("a look that names no rank, or finds a hang, begins anew") {
  Job job;
  tracer::Verdict hang;
  hang.finding = tracer::Finding::kNeverEntered;
  hang.culprits = {{1}};
  for (const tracer::Verdict& between : {tracer::Verdict(), hang}) {
    job.wait();
    CHECK_FALSE(job.looks.take(kOne, job.now));
    job.wait();
    CHECK_FALSE(job.looks.take(&between, job.now));
  }
}

TEST_CASE("large jobs are looked at less often") {
  Job job(10'000);
  CHECK(job.wait() == 10'000 * kPaceLookPerRank);
  CHECK_FALSE(job.looks.take(kOne, job.now));
  CHECK(job.wait() == 10'000 * kPaceLookPerRank);
}

TEST_CASE(
    "when collectives become slower, looks follow soon, in large jobs, too, but not for long") {
  for (const std::uint32_t world : {3U, 4000U}) {
    Job job(world);
    const base::Nanos first = job.wait();
    job.looks.take(nullptr, job.now);
    job.now += 5s;
    job.looks.hasten(job.now);
    CHECK(job.looks.is_due(job.now));
    CHECK(job.wait() == 0s);
    CHECK_FALSE(job.looks.take(kOne, job.now));
    CHECK(job.wait() <= kPaceLookAgain);
    CHECK(job.looks.take(kOne, job.now));
    for (int i = 0; i < 40; ++i) {  // nothing is found any more
      job.now += 1s;
      job.looks.hasten(job.now);
      if (!job.looks.is_due(job.now)) continue;
      job.looks.begin(job.now);
      job.looks.take(nullptr, job.now);
    }
    CHECK_FALSE(job.looks.is_due(job.now));
    CHECK(first > 0s);
  }
}

}  // namespace
}  // namespace robustrun::supervisor::pace_looks_test
