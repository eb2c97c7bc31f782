#include "cli/nodes/batch_hosts.h"

#include <doctest/doctest.h>

#include "cli/nodes/nodes.h"
#include "tests/cli/fakes.h"

namespace robustrun::cli::plan_batch_hosts_test {

using testing::World;
using Words = std::vector<std::string>;

namespace {

struct BatchWorld : World {
  explicit BatchWorld(const Words& variables) {
    machine.executables.insert({"/usr/bin/qstat", "/usr/bin/bjobs"});
    machine.files["/nodes"] = "n10\nn10\nn2\n\nn2\nn10\n";
    machine.files["/pe"] =
        "n1.example.org 4 all.q@n1.example.org UNDEFINED\r\nn2 4 all.q@n2 <NULL>\n";
    add(variables);
  }
  void add(const Words& variables) {
    around.environment.insert(around.environment.begin(), variables.begin(), variables.end());
  }
  [[nodiscard]] base::Result<BatchHosts> job(Words argv = {}) const {
    argv.emplace_back("s");
    return plan_batch_hosts(merge(argv).value(), around);
  }
  [[nodiscard]] Words names(const Words& argv = {}) const {
    Words found;
    const BatchHosts made = job(argv).value();
    for (const launcher::Host& host : made.hosts) found.push_back(host.name);
    return found;
  }
  [[nodiscard]] base::Result<NodesPlan> nodes(Words argv = {}) const {
    argv.emplace_back("s");
    return plan_nodes(merge(argv).value(), around);
  }
};

const Words kPbs = {"PBS_JOBID=7.pbs", "PBS_NODEFILE=/nodes"};
const Words kGridEngine = {"JOB_ID=7", "PE_HOSTFILE=/pe"};
const Words kLsf = {"LSB_JOBID=7", "LSB_MCPU_HOSTS=a 4 b 2 "};

}  // namespace

TEST_CASE("the hosts of a batch job, each once") {
  CHECK(BatchWorld(kPbs).names() == Words{"n10", "n2"});
  CHECK(BatchWorld(kGridEngine).names() == Words{"n1.example.org", "n2"});
  CHECK(BatchWorld(kLsf).names() == Words{"a", "b"});
  CHECK(BatchWorld({"LSB_JOBID=7", "LSB_DJOB_HOSTFILE=/nodes", "LSB_MCPU_HOSTS=a 1 b 1"}).names() ==
        Words{"n10", "n2"});
  CHECK(to_string(BatchWorld(kPbs).job().value().job.system) == "PBS");
  CHECK(to_string(BatchWorld(kGridEngine).job().value().job.system) == "Grid Engine");
  CHECK(to_string(BatchWorld(kLsf).job().value().job.system) == "LSF");
}

TEST_CASE("a task of an array is not its whole job") {
  const auto id = [](Words variables, const std::string& task) {
    variables.push_back(task);
    return BatchWorld(variables).job().value().job.id;
  };
  CHECK(id(kGridEngine, "SGE_TASK_ID=3") == "7.3");
  CHECK(id(kGridEngine, "SGE_TASK_ID=undefined") == "7");
  CHECK(id(kLsf, "LSB_JOBINDEX=3") == "7[3]");
  CHECK(id(kLsf, "LSB_JOBINDEX=0") == "7");
}

TEST_CASE("a job of a batch system runs on its hosts over SSH, in natural order") {
  const auto plan = BatchWorld(kPbs).nodes();
  REQUIRE(plan);
  CHECK(plan->way == NodesPlan::Way::kSsh);
  REQUIRE(plan->hosts.size() == 2);
  CHECK(plan->hosts[0].name == "n2");
  CHECK(plan->hosts[0].slots == 0);  // --nproc-per-node counts
  CHECK(plan->max_nodes == 2);
  CHECK(plan->warnings.empty());
  const auto spare = BatchWorld(kPbs).nodes({"--spares=1", "--rank0=n10"});
  REQUIRE(spare);
  CHECK(spare->hosts[0].name == "n10");
  CHECK(spare->max_nodes == 1);
}

TEST_CASE("options that name other machines, and tasks of a parallel start, have no batch job") {
  for (const char* other : {"--hosts=a,b", "--standalone", "--launcher=local",
                            "--launcher=processes", "--launcher=join", "--rdzv-endpoint=h:1",
                            "--master-addr=h", "--node-rank=0", "--compat=torchrun"}) {
    CAPTURE(other);
    CHECK(BatchWorld(kPbs).job({other}).value().job.id.empty());
  }
  CHECK(BatchWorld(kPbs).job({"--launcher=ssh"}).value().job.id == "7.pbs");
  for (const char* task : {"OMPI_COMM_WORLD_SIZE=2", "PMI_SIZE=4", "PBS_TASKNUM=3"}) {
    CAPTURE(task);
    BatchWorld job(kPbs);
    job.add({task});
    CHECK(job.job().value().job.id.empty());
  }
  BatchWorld alone(kPbs);
  alone.add({"PBS_TASKNUM=1"});
  CHECK(alone.job().value().job.id == "7.pbs");
  CHECK(BatchWorld({"PBS_NODEFILE=/nodes"}).job().value().job.id.empty());
  CHECK(BatchWorld({"JOB_ID=7"}).job().value().job.id.empty());  // without a parallel environment
}

TEST_CASE("a batch job of one host is this machine, under any name") {
  const BatchWorld job({"LSB_JOBID=7", "LSB_MCPU_HOSTS=some.other.name 8"});
  const auto plan = job.nodes();
  REQUIRE(plan);
  CHECK(plan->way == NodesPlan::Way::kLocal);
  CHECK(plan->hosts.empty());
}

TEST_CASE("of several systems the first counts, and a warning says so") {
  BatchWorld job(kPbs);
  job.add(kLsf);
  const auto plan = job.nodes();
  REQUIRE(plan);
  CHECK(plan->hosts[0].name == "n2");
  CHECK(plan->warnings == Words{"the variables of PBS and of LSF are set; PBS names the hosts; "
                                "--allocation=NAME chooses"});
  BatchWorld slurm(kPbs);
  slurm.machine.executables.insert("/usr/bin/srun");
  slurm.add({"SLURM_JOB_ID=41", "SLURM_JOB_NODELIST=s[1-2]"});
  CHECK(slurm.nodes().value().way == NodesPlan::Way::kSlurm);
  CHECK(slurm.nodes().value().warnings ==
        Words{"the variables of Slurm and of PBS are set; Slurm names the hosts; --allocation=NAME "
              "chooses"});
}

TEST_CASE("--allocation chooses the system, and is refused outside of its jobs") {
  BatchWorld both(kPbs);
  both.add(kLsf);
  both.machine.executables.insert("/usr/bin/srun");
  both.add({"SLURM_JOB_ID=41", "SLURM_JOB_NODELIST=s[1-2]"});
  const auto lsf = both.nodes({"--allocation=lsf"});
  REQUIRE(lsf);
  CHECK(lsf->hosts[0].name == "a");
  CHECK(lsf->warnings.empty());
  CHECK(lsf->batch.system == launcher::BatchSystem::kLsf);
  CHECK(lsf->batch.id == "7");
  CHECK(both.nodes({"--allocation=slurm"}).value().way == NodesPlan::Way::kSlurm);
  CHECK(both.nodes({"--allocation=none"}).value().way == NodesPlan::Way::kLocal);
  CHECK(
      both.nodes({"--allocation=sge"}).error().what ==
      "cannot use --allocation=sge: this is no job of Grid Engine with a list of hosts (JOB_ID and "
      "PE_HOSTFILE are not set)");
  CHECK(BatchWorld(kPbs)
            .nodes({"--allocation=slurm"})
            .error()
            .what.starts_with("cannot use --allocation=slurm: this is no Slurm allocation"));
}

TEST_CASE("agents start by the system's own program, unless options name another way") {
  const auto shell = [](const Words& variables, const Words& argv = {}) {
    BatchWorld job(variables);
    job.machine.executables.insert({"/usr/bin/qrsh", "/usr/bin/blaunch"});
    return job.nodes(argv).value().ssh.ssh_command;
  };
  CHECK(shell(kGridEngine) == Words{"/usr/bin/qrsh", "-inherit"});
  CHECK(shell(kLsf) == Words{"/usr/bin/blaunch"});
  CHECK(shell(kPbs).empty());
  CHECK(shell(kLsf, {"--ssh-transport=libssh2"}).empty());
  CHECK(shell(kLsf, {"--ssh-command=ssh -q"}) == Words{"ssh", "-q"});
  CHECK(BatchWorld(kLsf).nodes().value().ssh.ssh_command.empty());  // it is not on PATH
}

TEST_CASE("without the system's programs the job's end is unknown, and a warning says so") {
  BatchWorld job(kPbs);
  CHECK(job.nodes().value().batch.commands == "/usr/bin");
  job.machine.executables.erase("/usr/bin/qstat");
  CHECK(
      job.nodes().value().warnings ==
      Words{"qstat is not on PATH, so the end of PBS job 7.pbs is not known, and no save precedes "
            "it; add its folder to PATH"});
}

TEST_CASE("a list of hosts that cannot be used is an error that says what to do") {
  const auto error = [](Words variables, const std::string& text) {
    BatchWorld job(variables);
    job.machine.files["/nodes"] = text;
    return job.job().error().what;
  };
  const std::string advice =
      "; name the hosts with --hosts, or use this machine alone with --standalone";
  CHECK(error(kPbs, " \n") ==
        "cannot use PBS_NODEFILE=/nodes of this PBS job: no host is named in it" + advice);
  CHECK(error({"PBS_JOBID=1", "PBS_NODEFILE=/gone"}, "") ==
        "cannot use PBS_NODEFILE=/gone of this PBS job: no such file" + advice);
  CHECK(error(kPbs, "a\n-oProxyCommand=x\n").ends_with(advice));
  CHECK(error(kPbs, std::string("a\0b\n", 4)).ends_with(advice));
}

}  // namespace robustrun::cli::plan_batch_hosts_test
