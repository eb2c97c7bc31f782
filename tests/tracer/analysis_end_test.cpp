// Rule R12: scripts that have returned, in processes that do not end.
#include <doctest/doctest.h>

#include "tests/tracer/fleet.h"
#include "tracer/analysis/limits.h"

namespace robustrun::tracer::analysis_end_test {
namespace {

using Ranks = std::vector<std::uint32_t>;

void end_well(Fleet& fleet, std::uint32_t r) {
  fleet.rank(r).life = Life::kDead;
  fleet.rank(r).ended_well = true;
}

std::vector<Frame> exit_handler() {
  return {{"finish", "/home/me/upload.py", 12},
          {"_run_exitfuncs", "/usr/lib/python3.11/atexit", 0}};
}

TEST_CASE("a rank that lingers in an exit handler is named when the others have ended") {
  Fleet fleet(3);
  fleet.world();
  end_well(fleet, 1);
  end_well(fleet, 2);
  fleet.rank(0).returned = seconds(45);
  fleet.stack(0, exit_handler());
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kNotEnded);
  CHECK(verdict.sentence ==
        "rank 0 (node0, local 0) has not ended, 45.0 s after its script returned; it is in finish "
        "(upload.py:12), ending; the other 2 ranks have ended");
  CHECK(numbers(verdict.culprits) == Ranks{0});
  CHECK(verdict.victims.empty());
  CHECK(verdict.confidence == Confidence::kExact);
  CHECK(verdict.lasting == seconds(45));
  CHECK_FALSE(verdict.is_finished);
}

TEST_CASE("after the exit handlers, too, nothing is lost with the process") {
  Fleet fleet(2);
  end_well(fleet, 1);
  fleet.rank(0).returned = seconds(45);
  fleet.rank(0).finished = seconds(44);
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.is_finished);
  CHECK(verdict.is_moving);  // there is no evidence that it does nothing
  fleet.rank(0).evidence.has_process = true;
  CHECK_FALSE(fleet.verdict().is_moving);
  CHECK(verdict.sentence ==
        "rank 0 (node0, local 0) has not ended, 45.0 s after its script returned and its exit "
        "handlers had run; the other rank has ended");
}

TEST_CASE("all ranks may linger; the one that returned last tells for how long") {
  Fleet fleet(2);
  fleet.rank(0).returned = seconds(90);
  fleet.rank(0).finished = seconds(90);
  fleet.rank(1).returned = seconds(30);
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.sentence ==
        "ranks 0 and 1 (node0) have not ended, 30.0 s after their scripts returned");
  CHECK_FALSE(verdict.is_finished);
}

TEST_CASE("a rank whose script runs on, or failed, or that returned just now, is no late one") {
  for (const char* const what : {"runs on", "failed", "just now"}) {
    CAPTURE(what);
    Fleet fleet(3);
    end_well(fleet, 1);
    end_well(fleet, 2);
    fleet.rank(0).returned = seconds(45);
    if (what == std::string("failed")) fleet.rank(2).ended_well = false;
    if (what == std::string("runs on")) fleet.rank(2) = Fleet(3).rank(2);
    if (what == std::string("just now")) fleet.rank(0).returned = kLateEnd - seconds(1);
    CHECK(fleet.verdict().finding == Finding::kNothing);
  }
}

TEST_CASE("a rank that waits for one that has ended is told as that") {
  Fleet fleet(2);
  fleet.world();
  end_well(fleet, 1);
  fleet.enter(1, 0);
  fleet.rank(0).returned = seconds(45);
  CHECK(fleet.verdict().finding == Finding::kDied);
}

TEST_CASE("a node whose ranks have all ended well is not to blame as a node") {
  Fleet fleet(4, 2);
  fleet.world();
  for (const std::uint32_t r : {2U, 3U}) end_well(fleet, r);
  for (const std::uint32_t r : {0U, 1U}) fleet.enter(1, r);
  CHECK(fleet.verdict().finding == Finding::kDied);
  CHECK(numbers(fleet.verdict().culprits) == Ranks{2, 3});
  fleet.rank(3).ended_well = false;
  CHECK(fleet.verdict().finding == Finding::kGroupFailure);
}

TEST_CASE("with ranks that were not seen the verdict is only inferred") {
  Fleet fleet(3);
  end_well(fleet, 1);
  fleet.drop(2);
  fleet.rank(0).returned = seconds(45);
  CHECK(fleet.verdict().confidence == Confidence::kInferred);
}

}  // namespace
}  // namespace robustrun::tracer::analysis_end_test
