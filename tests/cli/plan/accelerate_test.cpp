// --accelerate-config: the helper's answer becomes defaults and variables.
#include "cli/plan/accelerate.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "cli/plan/plan.h"
#include "tests/cli/fakes.h"

namespace robustrun::cli::accelerate_test {
namespace {

using testing::World;

struct Site : World {
  explicit Site(std::vector<std::string> records = {}) {
    machine.files["/opt/rr/share/robustrun/python/robustrun/_boot/accelerate.py"] = "";
    for (const std::string& record : records) machine.python.out += record + '\0';
  }

  [[nodiscard]] base::Result<RunPlan> plan(std::vector<std::string> argv = {}) const {
    argv.insert(argv.begin(), "--accelerate-config=acc.yaml");
    argv.emplace_back("train.py");
    return plan_run(merge(argv).value(), argv, around);
  }
};

bool has(const RunPlan& plan, const std::string& variable) {
  const auto& all = plan.request.workers.environment;
  return std::ranges::count(all, variable) == 1;
}

TEST_CASE("variables replace the caller's, and a line break stays in a value") {
  Site site({"set A=1\n2", "set HOME=/x", "warning w"});
  const auto plan = site.plan();
  REQUIRE(plan);
  CHECK(has(*plan, "A=1\n2"));
  CHECK(has(*plan, "HOME=/x"));
  CHECK_FALSE(has(*plan, "HOME=/home/ada"));
  CHECK(has(*plan, "PATH=/usr/bin"));
  REQUIRE(plan->warnings.size() == 1);
  CHECK(plan->warnings[0] == "w");
  CHECK(site.machine.asked ==
        std::vector<std::string>{"/usr/bin/python3",
                                 "/opt/rr/share/robustrun/python/robustrun/_boot/accelerate.py",
                                 "acc.yaml", "0"});
}

TEST_CASE("a pipe in place of the file is refused before it is read") {
  Site site;
  site.machine.kinds["acc.yaml"] = PathKind::kOther;
  const auto plan = site.plan();
  REQUIRE_FALSE(plan);
  CHECK(plan.error().what == "cannot use --accelerate-config=acc.yaml: it is not a regular file");
  CHECK(site.machine.asked.empty());
}

TEST_CASE("the file's number of processes is a default, divided by its machines") {
  const Site site({"num_processes 16", "num_machines 2"});
  CHECK(site.plan({"--nnodes=1"})->request.spec.nodes[0].slots == 8);
  CHECK(site.plan({"--nnodes=1", "--nproc-per-node=3"})->request.spec.nodes[0].slots == 3);
  CHECK(site.machine.asked.back() == "3");
}

TEST_CASE("the file's machines are a default, unless others are named") {
  Site site({"num_processes 4", "num_machines 2", "machine_rank 0", "main_process_ip 10.0.0.7",
             "main_process_port 29501"});
  site.around.environment.emplace_back("USER=ada");
  const auto plan = site.plan({"--insecure-rdzv"});
  REQUIRE(plan);
  CHECK(plan->nodes.max_nodes == 2);
  REQUIRE(plan->nodes.meeting);
  CHECK(plan->nodes.meeting->control.host == "10.0.0.7");
  CHECK(plan->request.spec.master_port == 29501);
  CHECK(site.plan({"--standalone"})->nodes.max_nodes == 1);
  CHECK(site.plan({"--hosts=a,b,c"})->nodes.max_nodes == 3);
}

TEST_CASE("--omp wins over accelerate's number of threads") {
  const Site site({"set OMP_NUM_THREADS=1", "set B=2"});
  CHECK(has(*site.plan(), "OMP_NUM_THREADS=1"));
  const auto plan = site.plan({"--omp=4"});
  CHECK_FALSE(has(*plan, "OMP_NUM_THREADS=1"));
  CHECK(has(*plan, "B=2"));
}

TEST_CASE("an error of the helper is one sentence") {
  CHECK(Site({"error acc.yaml:3: bad"}).plan().error().what == "acc.yaml:3: bad");

  Site failed;
  failed.machine.python.status.code = 1;
  failed.machine.python.err = "Traceback\nKeyError: 'x'\n";
  CHECK(failed.plan().error().what ==
        "cannot use --accelerate-config=acc.yaml: /usr/bin/python3 cannot ask accelerate: "
        "KeyError: 'x'");

  Site incomplete;
  incomplete.machine.files.erase("/opt/rr/share/robustrun/python/robustrun/_boot/accelerate.py");
  CHECK(incomplete.plan().error().what.find("install robustrun again") != std::string::npos);
}

TEST_CASE("records that are no records are skipped") {
  Site site;
  site.machine.python.out = std::string("noise\0\0set A=1", 14);
  CHECK(has(*site.plan(), "A=1"));
}

}  // namespace
}  // namespace robustrun::cli::accelerate_test
