#include "cli/nodes/slurm.h"

#include <doctest/doctest.h>

#include "cli/plan/plan.h"
#include "tests/cli/fakes.h"

namespace robustrun::cli::plan_slurm_test {

using testing::World;
using Argv = std::vector<std::string>;
using Part = SlurmPlan::Part;

namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

struct Job : World {
  Job() {
    machine.executables.insert("/usr/bin/srun");
    add({"SLURM_JOB_ID=41", "SLURM_JOB_NODELIST=n[1-3,10]", "SLURM_NODELIST=x", "SLURM_PROCID=0"});
  }
  void add(const Argv& variables) {
    around.environment.insert(around.environment.begin(), variables.begin(), variables.end());
  }
  // As in `srun -N3 --ntasks-per-node=1 robustrun`, this being the second task.
  void enter_step() {
    add({"SLURM_STEP_ID=2", "SLURM_STEP_NUM_TASKS=3", "SLURM_STEP_NUM_NODES=3", "SLURM_PROCID=1"});
  }
  [[nodiscard]] base::Result<SlurmPlan> slurm(const Argv& argv = {"s"}) const {
    return plan_slurm(merge(argv).value(), around);
  }
  [[nodiscard]] Part part(Argv argv = {}) const {
    argv.emplace_back("s");
    return slurm(argv).value().part;
  }
  [[nodiscard]] base::Result<NodesPlan> nodes(Argv argv = {}) const {
    argv.emplace_back("s");
    return plan_nodes(merge(argv).value(), around);
  }
  [[nodiscard]] std::string error(const Argv& argv) const {
    const auto made = nodes(argv);
    return made ? "no error" : made.error().what;
  }
};

}  // namespace

TEST_CASE("an allocation is used unless options name other machines") {
  const Job job;
  CHECK(job.part() == Part::kLaunch);
  for (const char* other :
       {"--hosts=a,b", "--standalone", "--launcher=local", "--launcher=processes",
        "--rdzv-endpoint=h:1", "--master-addr=h", "--node-rank=0", "--compat=torchrun"}) {
    CAPTURE(other);
    CHECK(job.part({other}) == Part::kNone);
  }
  CHECK(job.part({"--compat=torchrun", "--slurm"}) == Part::kLaunch);
  CHECK(job.part({"--launcher=slurm"}) == Part::kLaunch);
  const World elsewhere;
  CHECK(plan_slurm(elsewhere.merge({"s"}).value(), elsewhere.around).value().part == Part::kNone);
}

TEST_CASE("its nodes are the run's, in the order of their numbers, under Slurm's names") {
  const Job job;
  const auto plan = job.nodes();
  REQUIRE(plan);
  CHECK(plan->way == NodesPlan::Way::kSlurm);
  REQUIRE(plan->hosts.size() == 4);
  CHECK(plan->hosts[3].name == "n10");
  CHECK(plan->min_nodes == 4);
  CHECK(plan->max_nodes == 4);
  CHECK(plan->slurm.job == "41");
  CHECK(plan->slurm.commands == "/usr/bin");
  const auto chosen = job.nodes({"--exclude=n2", "--rank0=n3", "--spares=1"});
  REQUIRE(chosen);
  CHECK(chosen->hosts[0].name == "n3");
  CHECK(chosen->max_nodes == 2);
  CHECK(chosen->spares == 1);
  const auto elastic = job.nodes({"--nnodes=2:4"});
  REQUIRE(elastic);
  CHECK(elastic->min_nodes == 2);
}

TEST_CASE("an impossible world size is refused with both numbers") {
  const Job job;
  const std::string more = job.error({"--nnodes=5"});
  CHECK(has(more, "--nnodes=5: it takes 5 nodes"));
  CHECK(has(more, "(Slurm job 41) has 4, n[1-3,10]; ask Slurm for more"));
  CHECK(has(job.error({"--nnodes=3"}), "keep the others in reserve with --spares=1"));
  CHECK(has(job.error({"--nnodes=4", "--spares=1"}), "it takes 4 nodes and 1 spare"));
  CHECK(job.error({"--nnodes=3", "--spares=1"}) == "no error");
}

TEST_CASE("--slurm is refused without Slurm, and beside other sources of hosts") {
  const World elsewhere;
  const auto none = plan_slurm(elsewhere.merge({"--slurm", "s"}).value(), elsewhere.around);
  CHECK(has(none.error().what, "cannot use --slurm: this is no Slurm allocation"));
  Job job;
  CHECK(has(job.error({"--slurm", "--hosts=a"}), "hosts are named"));
  CHECK(has(job.error({"--launcher=slurm", "--rdzv-endpoint=a:1"}),
            "cannot use --launcher=slurm: --rdzv-endpoint=a:1 is for nodes that are started by "
            "hand"));
  job.machine.executables.erase("/usr/bin/srun");
  CHECK(has(job.error({}), "srun is not on PATH"));
  job.enter_step();
  CHECK(has(job.error({"--slurm"}), "one of several tasks of an srun"));
}

TEST_CASE("the tasks of an srun are nodes that meet, the first one leads") {
  Job job;
  job.enter_step();
  const auto guest = job.nodes();
  REQUIRE(guest);
  CHECK(guest->way == NodesPlan::Way::kRendezvous);
  CHECK(guest->meeting->part == Meeting::Part::kGuest);
  CHECK(guest->meeting->node_rank == 1U);
  CHECK(guest->max_nodes == 3);
  CHECK(guest->min_nodes == 3);
  CHECK(guest->join_token == "/job/robustrun-runs/.slurm-41.2.0");
  CHECK(guest->where() == Where::kHosts);
  CHECK(guest->trust == Trust::kSecret);
  job.add({"SLURM_PROCID=0", "SLURM_RESTART_COUNT=2"});
  const auto leader = job.nodes({"--nnodes=2:3"});
  REQUIRE(leader);
  CHECK(leader->meeting->part == Meeting::Part::kHost);
  CHECK(leader->min_nodes == 2);
  CHECK(leader->join_token == "/job/robustrun-runs/.slurm-41.2.2");
  CHECK(has(job.error({"--nnodes=4"}), "it takes 4 nodes, and this srun (step 41.2.2) has 3"));
  CHECK(has(job.error({"--spares=1"}), "every task is a working node"));
  job.add({"SLURM_STEP_NUM_NODES=2"});
  CHECK(has(job.error({}), "this step's 3 tasks as nodes: they are on 2 nodes"));
}

TEST_CASE("one task alone is this machine, a shell of srun is the allocation") {
  Job job;
  job.add({"SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=1"});
  CHECK(job.part() == Part::kNone);
  CHECK(job.part({"--slurm"}) == Part::kLaunch);
  job.add({"SLURM_STEP_ID=4294967290"});  // salloc with use_interactive_step
  CHECK(job.part() == Part::kLaunch);
  Job shell;
  shell.enter_step();
  shell.add({"SLURM_PTY_PORT=4711"});
  CHECK(shell.part() == Part::kMeet);
  shell.around.stderr_is_terminal = true;
  CHECK(shell.part() == Part::kLaunch);
}

TEST_CASE("an allocation of no nodes is this machine alone, with a warning") {
  Job job;
  job.add({"SLURM_JOB_NODELIST=", "SLURM_NODELIST="});
  const auto plan = job.nodes();
  REQUIRE(plan);
  CHECK(plan->way == NodesPlan::Way::kLocal);
  REQUIRE(plan->warnings.size() == 1);
  CHECK(has(plan->warnings[0], "SLURM_JOB_ID=41 is set, but SLURM_JOB_NODELIST names no node"));
  CHECK(job.nodes({"--standalone"})->warnings.empty());
  CHECK(has(job.error({"--slurm"}), "cannot use --slurm: this is no Slurm allocation"));
}

TEST_CASE("of a heterogeneous job the first component is used, with a warning") {
  Job job;
  CHECK(job.nodes().value().warnings.empty());
  job.add({"SLURM_HET_SIZE=2", "SLURM_JOB_NODELIST_HET_GROUP_1=m[1-9]"});
  const auto plan = job.nodes();
  REQUIRE(plan);
  CHECK(plan->hosts.size() == 4);
  REQUIRE(plan->warnings.size() == 1);
  CHECK(plan->warnings[0] ==
        "Slurm job 41 is heterogeneous: of its 2 components, only the nodes of the first one "
        "(n[1-3,10]) are used");
}

TEST_CASE("--replace asks Slurm for nodes, and is refused without it") {
  Job job;
  const auto plan = job.nodes({"--nnodes=2:4", "--replace=2", "--replace-with=-p spot --nodes=4"});
  REQUIRE(plan);
  CHECK(plan->replace == 2);
  CHECK(plan->slurm.replacement == Argv{"-p", "spot"});
  CHECK(job.nodes()->replace == 0);
  CHECK(job.error({"--replace=1", "--slurm-poll=0"}) ==
        "cannot use --replace=1: Slurm must be asked what becomes of the jobs; leave "
        "--slurm-poll=0 out");
  CHECK(job.error({"--replace=1", "--standalone"}) ==
        "cannot use --replace=1: only Slurm gives nodes to a run, and this is no Slurm allocation");
  CHECK(has(job.error({"--replace=1", "--replace-with='"}), "cannot use --replace-with="));
}

TEST_CASE("an unreadable list of nodes is an error") {
  Job job;
  job.add({"SLURM_JOB_NODELIST=n[1-"});
  CHECK(has(job.error({}), "cannot use SLURM_JOB_NODELIST=n[1-: "));
}

TEST_CASE("one worker per GPU, unless --nproc-per-node is given") {
  CHECK(count_gpus("4") == 4);
  CHECK(count_gpus("a100:4") == 4);
  CHECK(count_gpus("gpu:a100:2,gpu:v100:2") == 4);
  for (const char* text : {"", "a100", "4,", "-1", "99999999999"}) {
    CAPTURE(text);
    CHECK(count_gpus(text) == 0);
  }
  Job job;
  const auto slots = [&](Argv argv) {
    argv.emplace_back("train.py");
    return plan_run(job.merge(argv).value(), argv, job.around).value().request.spec.nodes[1].slots;
  };
  CHECK(slots({}) == 1);
  job.add({"SLURM_GPUS_PER_NODE=a100:8"});
  CHECK(slots({}) == 8);
  job.add({"SLURM_GPUS_ON_NODE=4"});
  CHECK(slots({}) == 4);
  CHECK(slots({"--nproc-per-node=2"}) == 2);
}

}  // namespace robustrun::cli::plan_slurm_test
