#include "cli/text/dry_run.h"

#include <doctest/doctest.h>

#include <map>
#include <tuple>

#include "base/core/text.h"
#include "tests/cli/fakes.h"

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

namespace {

// Lines of the environment of the first worker that is shown, by name.
std::map<std::string, std::string> first_environment(World& world,
                                                     const std::vector<std::string>& argv) {
  const auto plan = plan_run(world.merge(argv).value(), argv, world.around);
  REQUIRE_MESSAGE(plan.has_value(), plan.error().what);
  const auto text = dry_run_text(*plan, {});
  REQUIRE_MESSAGE(text.has_value(), text.error().what);
  std::map<std::string, std::string> variables;
  for (const std::string_view line : base::split(*text, '\n')) {
    const auto equals = line.find('=');
    if (!line.starts_with("      ") || equals == line.npos) continue;
    variables.try_emplace(std::string(base::trim(line.substr(0, equals))), line.substr(equals + 1));
  }
  return variables;
}

}  // namespace

TEST_CASE("a dry run shows the sizes that the workers will see") {
  for (const auto& [argv, world_size, group_size] :
       {std::tuple{std::vector<std::string>{"train.py"}, "1", "1"},
        {{"--nproc-per-node=2", "train.py"}, "2", "1"},
        {{"--hosts=n[1-3]", "--nproc-per-node=4", "train.py"}, "12", "3"},
        {{"--hosts=n[1-3]", "--spares=1", "--nproc-per-node=4", "train.py"}, "8", "2"}}) {
    World world;
    auto variables = first_environment(world, argv);
    INFO(base::join(argv, " "));
    CHECK(variables["WORLD_SIZE"] == world_size);
    CHECK(variables["ROLE_WORLD_SIZE"] == world_size);
    CHECK(variables["GROUP_WORLD_SIZE"] == group_size);
    CHECK(variables["RANK"] == "0");
  }
}

TEST_CASE("a dry run shows the files where the agents will put them") {
  for (const auto& [argv, folder] : {std::pair{std::vector<std::string>{"train.py"}, ""},
                                     {{"--hosts=n[1-2]", "train.py"}, "/node0_n1"},
                                     {{"--compat=torchrun", "--nnodes=2", "--rdzv-backend=c10d",
                                       "--rdzv-endpoint=node1:29400", "train.py"},
                                      ""}}) {
    World world;
    INFO(base::join(argv, " "));
    const auto plan = plan_run(world.merge(argv).value(), argv, world.around);
    REQUIRE_MESSAGE(plan.has_value(), plan.error().what);
    const std::string& logs = plan->request.workers.log_directory;
    const std::string text = dry_run_text(*plan, {}).value();
    CHECK(text.find("  logs          " + logs + "\n") != std::string::npos);
    const std::string files = logs.empty() ? "" : logs + folder + "/attempt_0/0";
    INFO(text);
    CHECK_FALSE(logs.empty());
    CHECK(text.find("    files   " + files + "\n") != std::string::npos);
    CHECK(text.find("TORCHELASTIC_ERROR_FILE=" + files + "/error.json\n") != std::string::npos);
  }
}

TEST_CASE("a dry run leaves open what joining nodes decide") {
  World world;
  const std::vector<std::string> common{"--compat=torchrun", "--nnodes=2", "--nproc-per-node=2"};
  auto argv = common;
  argv.insert(argv.end(), {"--rdzv-backend=c10d", "--rdzv-endpoint=node1:29400", "train.py"});
  auto c10d = first_environment(world, argv);
  for (const char* name : {"WORLD_SIZE", "ROLE_WORLD_SIZE", "RANK", "GROUP_RANK", "MASTER_ADDR"}) {
    CHECK_MESSAGE(c10d[name] == "<known at the start>", name);
  }
  CHECK(c10d["GROUP_WORLD_SIZE"] == "2");
  CHECK(c10d["LOCAL_WORLD_SIZE"] == "2");
  argv = common;
  argv.insert(argv.end(), {"--node-rank=1", "--master-addr=node1", "train.py"});
  auto by_rank = first_environment(world, argv);
  CHECK(by_rank["GROUP_RANK"] == "1");
  CHECK(by_rank["MASTER_ADDR"] == "node1");
  CHECK(by_rank["RANK"] == "<known at the start>");
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
  World fixed;
  const std::vector<std::string> known{"--hosts=n[1-2]", "--spares=1", "train.py"};
  const auto one = plan_run(fixed.merge(known).value(), known, fixed.around);
  REQUIRE(one.has_value());
  const std::string table = dry_run_text(*one, {}).value();
  CHECK(table.find("n1                       rank 0\n") != std::string::npos);
  CHECK(table.find("n2                       1 worker\n") != std::string::npos);
}

}  // namespace robustrun::cli::dry_run_test
