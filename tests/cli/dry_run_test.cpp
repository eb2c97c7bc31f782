#include "cli/dry_run.h"

#include <doctest/doctest.h>

#include "fakes.h"

namespace robustrun::cli::dry_run_test {

using testing::World;

TEST_CASE("a dry run shows argv, environment, processors and files of every worker") {
  World world;
  const std::vector<std::string> argv{"--nproc-per-node=2", "train.py", "--name",  "a b",
                                      "--api-key",          "hidden",   "--shard", "${local_rank}"};
  const auto plan = plan_run(world.merge(argv).value(), argv, world.around);
  REQUIRE(plan.has_value());
  NodeCpus cpus;
  cpus.bindings = {"0-3", "4-7"};
  cpus.usable = 8;
  const auto text = dry_run_text(*plan, cpus);
  REQUIRE(text.has_value());
  for (const char* part :
       {"node 0: node7 (127.0.0.1), 2 workers", "rank 0 (local rank 0)", "rank 1 (local rank 1)",
        "train.py --name 'a b' --api-key '***' --shard 1", "cpus    4-7",
        "stdout  file and console", "/logs/attempt_0/1", "WORLD_SIZE=2", "LOCAL_RANK=1",
        "MASTER_PORT=<a free port>", "MASTER_ADDR=127.0.0.1", "OMP_NUM_THREADS=4"}) {
    INFO(part, "\n", *text);
    CHECK(text->find(part) != std::string::npos);
  }
  CHECK(text->find("hidden") == std::string::npos);
  CHECK(text->find("HOME=/home/ada") == std::string::npos);
}

TEST_CASE("a dry run over hosts that count for themselves says so") {
  World world;
  const std::vector<std::string> argv{"--hosts=n[1-3]", "--nnodes=2", "--nproc-per-node=gpu",
                                      "train.py"};
  const auto plan = plan_run(world.merge(argv).value(), argv, world.around);
  REQUIRE(plan.has_value());
  const auto text = dry_run_text(*plan, {});
  REQUIRE(text.has_value());
  for (const char* part : {"node 0   n1                       workers: gpu, counted there",
                           "spare    n3                       workers: gpu, counted there",
                           "node 0: n1 (n1), workers: gpu, counted there"}) {
    INFO(part, "\n", *text);
    CHECK(text->find(part) != std::string::npos);
  }
}

}  // namespace robustrun::cli::dry_run_test
