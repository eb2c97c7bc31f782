#include "launcher/slurm/command.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "launcher/slurm/probe.h"

namespace robustrun::launcher::slurm_command_test {
namespace {

using Words = std::vector<std::string>;

const SlurmOptions kOptions{.executable = "/opt/rr/bin/robustrun",
                            .commands = "/usr/bin",
                            .job = "41",
                            .run_id = "quiet-owl",
                            .folder = "/runs/50%/agents"};

bool has(const Words& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

TEST_CASE("a job is shown with times that need no time zone") {
  CHECK(show_job_argv(kOptions) == Words{"/usr/bin/env", "SLURM_TIME_FORMAT=%s",
                                         "/usr/bin/scontrol", "show", "job", "--oneliner", "41"});
}

TEST_CASE("one srun has one task on each of its nodes, and no secrets in its arguments") {
  const Words argv = srun_argv(kOptions, {"n1", "n3"}, 4);
  for (const char* word : {"--jobid=41", "--nodes=2", "--ntasks=2", "--nodelist=n1,n3", "--overlap",
                           "--wait=0", "--kill-on-bad-exit=0", "--export=ALL"}) {
    CAPTURE(word);
    CHECK(has(argv, word));
  }
  CHECK(has(argv, "--output=/runs/50%%/agents/agent.4.%n.log"));
  CHECK(srun_log(kOptions, 4) == "/runs/50%/agents/srun.4.log");
  CHECK(Words(argv.end() - 3, argv.end()) ==
        Words{"/opt/rr/bin/robustrun", "agent", "--stdin-credential"});
}

TEST_CASE("variables that srun would read are removed, except those that locate Slurm") {
  const Words out = srun_environment(
      kOptions, {"PATH=/bin", "SLURM_CONF=/etc/s", "SLURM_NTASKS=3", "SLURM_MEM_PER_CPU=1",
                 "SRUN_CPUS_PER_TASK=2", "SLURMD_NODENAME=n1", "SALLOC_X=1", "SBATCH_X=1",
                 "ROBUSTRUN_AGENT_OF=another", "CUDA_VISIBLE_DEVICES=0", "odd"});
  CHECK(out == Words{"PATH=/bin", "SLURM_CONF=/etc/s", "CUDA_VISIBLE_DEVICES=0", "odd",
                     "ROBUSTRUN_AGENT_OF=quiet-owl"});
}

TEST_CASE("only the run's steps of a job are cancelled") {
  const Words steps = own_steps(kOptions,
                                "41.0 robustrun-quiet-owl\n41.1 robustrun-quiet-owl-2\n"
                                "41.batch batch\n41.3   robustrun-quiet-owl \nodd\n");
  CHECK(steps == Words{"41.0", "41.3"});
  CHECK(cancel_argv(kOptions, steps) == Words{"/usr/bin/scancel", "--signal=KILL", "41.0", "41.3"});
}

TEST_CASE("nodes that are down or silent are unusable, draining ones are not") {
  CHECK(unusable_nodes("n1 mixed\nn2 down\nn2 down\nn3 idle*\nn4 draining\nn5 down*\nn6 allocated\n"
                       "odd\n") == Words{"n2 down", "n3 idle*", "n5 down*"});
  CHECK(unusable_nodes("").empty());
}

TEST_CASE("the address of a node's slurmd is read") {
  CHECK(read_slurmd_address("NodeName=n1 Arch=x86_64\n   NodeAddr=10.0.0.1 NodeHostName=a "
                            "Version=22.05.8\n   Port=7001 OS=Linux\n") ==
        SlurmdAddress{"10.0.0.1", 7001});
  CHECK(read_slurmd_address("NodeName=n1\n   NodeAddr=gpu-a NodeHostName=a Version=22.05.8\n") ==
        SlurmdAddress{"gpu-a", 6818});
  CHECK(read_slurmd_address("Node n9 not found").host.empty());
}

}  // namespace
}  // namespace robustrun::launcher::slurm_command_test
