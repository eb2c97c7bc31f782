#include "launcher/slurm/words.h"

#include <doctest/doctest.h>

namespace robustrun::launcher::slurm_words_test {
namespace {

using Names = std::vector<std::string>;

TEST_CASE("srun's errors about tasks name their nodes") {
  const auto one = read_srun_line("srun: error: n2: task 1: Killed");
  REQUIRE(one);
  CHECK(one->nodes == Names{"n2"});
  CHECK(one->what == "n2: task 1: Killed");
  CHECK(one->started);
  CHECK(one->node_answers);
  const auto many = read_srun_line("srun: error: n[1,3]: tasks 0,2: Exited with exit code 1");
  REQUIRE(many);
  CHECK(many->nodes == Names{"n1", "n3"});
}

TEST_CASE("after a failed launch or a node failure, the nodes do not answer") {
  const auto launch = read_srun_line(
      "srun: error: Task launch for StepId=3.0 failed on node n8: Communication connection "
      "failure");
  REQUIRE(launch);
  CHECK(launch->nodes == Names{"n8"});
  CHECK_FALSE(launch->started);
  CHECK_FALSE(launch->node_answers);
  const auto failure = read_srun_line("srun: error: Node failure on n[2-3]");
  REQUIRE(failure);
  CHECK(failure->nodes == Names{"n2", "n3"});
  CHECK(failure->started);
  CHECK_FALSE(failure->node_answers);
}

TEST_CASE("other lines name no node, whatever they contain") {
  for (const char* line :
       {"", "srun: error: ", "srun: ", "error: n1: task 0: Killed", "srun: error: n1: a task: x",
        "srun: error: Application launch failed: Communication connection failure",
        "srun: error: n[1-: task 0: Killed", "srun: error: Node failure on ",
        "srun: error: Task launch for StepId=3.0 failed", "n2: task 1: Killed",
        "slurmstepd: error: *** STEP 3.0 ON n1 CANCELLED AT 2026-01-01T00:00:00 ***",
        "srun: Job step aborted: Waiting up to 32 seconds for job step to finish."}) {
    CAPTURE(line);
    CHECK_FALSE(read_srun_line(line));
  }
}

TEST_CASE("only refusals of the whole step count") {
  CHECK(
      is_refusal("srun: error: Unable to create step for job 7: Requested node configuration is "
                 "not available"));
  CHECK(is_refusal("srun: error: Only allocated 3 nodes asked for 4"));
  CHECK(
      is_refusal("srun: error: Unable to confirm allocation for job 9: Invalid job id specified"));
  CHECK_FALSE(is_refusal("srun: error: n1: task 0: Killed"));
  CHECK_FALSE(is_refusal("Unable to create step"));
}

TEST_CASE("the last errors of a log that concern no single agent are shown, safely") {
  CHECK(srun_errors({}).empty());
  CHECK(srun_errors({"srun: error: a", "srun: error: n2: task 1: Killed", "words",
                     "slurmstepd: error: b\x1b[2J", "srun: error: c", "srun: error: d"}) ==
        "b\\x1b[2J; c; d");
}

}  // namespace
}  // namespace robustrun::launcher::slurm_words_test
