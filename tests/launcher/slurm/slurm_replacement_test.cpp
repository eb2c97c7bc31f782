#include "launcher/slurm/replacement.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "base/core/text.h"
#include "tests/scratch_folder.h"

namespace robustrun::launcher::slurm_replacement_test {
namespace {

using Words = std::vector<std::string>;

SlurmOptions options_in(const std::string& commands) {
  SlurmOptions options;
  options.commands = commands;
  options.executable = "/opt/my rr/robustrun";
  options.job = "41";
  options.run_id = "slurm-41,x";
  options.folder = "/runs/it's/agents";
  options.replacement = {"--partition=gpu", "--exclude=n7,n8", "--exclusive"};
  return options;
}

bool has(const Words& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

TEST_CASE("the job is like the run's own, without bad hosts, and ends with it") {
  const Words own = {"HOME=/root", "SLURM_JOB_ID=41", "SLURM_CONF=/etc/s", "SBATCH_QOS=high",
                     "SRUN_X=1"};
  const auto argv = sbatch_argv(options_in("/usr/bin"), own, {"n3", "n4"}, 90, "n5");
  CHECK(argv[0] == "/usr/bin/env");
  const auto sbatch = std::ranges::find(argv, "/usr/bin/sbatch");
  CHECK(Words(argv.begin() + 1, sbatch) == Words{"-u", "SLURM_JOB_ID", "-u", "SRUN_X"});
  for (const char* word :
       {"--partition=gpu", "--exclusive", "--parsable", "--job-name=replace-41-slurm-41_x",
        "--nodes=1", "--no-requeue", "--time=90", "--nodelist=n5", "--exclude=n7,n8,n3,n4"}) {
    CAPTURE(word);
    CHECK(has(argv, word));
  }
  CHECK_FALSE(has(argv, "--exclude=n7,n8"));
  const auto open = sbatch_argv(options_in("/usr/bin"), {}, {}, 0, "");
  for (const std::string& word : open) {
    CHECK_FALSE(word.starts_with("--time"));
    CHECK_FALSE(word.starts_with("--nodelist"));
  }
}

TEST_CASE("the batch script is valid, and quotes what it is given") {
  const robustrun::test::ScratchFolder folder;
  const std::string path = folder.write("job.sh", replacement_script(options_in("/usr/bin")));
  CHECK(std::system(("bash -n " + path).c_str()) == 0);
  const std::string text = replacement_script(options_in("/usr/bin"));
  CHECK(text.find("folder='/runs/it'\\''s/agents'\n") != std::string::npos);
  CHECK(text.find("'/opt/my rr/robustrun' agent --stdin-credential") != std::string::npos);
}

TEST_CASE("the queue is read with what runs where and what waits for what") {
  const auto jobs = read_replacements(
      "17|PENDING||Priority\n18|RUNNING|n5|None\n19|COMPLETING|n6|None\n"
      "20|CONFIGURING|n7|None\n\n");
  REQUIRE(jobs);
  CHECK(*jobs == std::vector<ReplacementJob>{{"17", false, "", "Priority"},
                                             {"18", true, "n5", ""},
                                             {"20", true, "n7", ""}});
  CHECK(read_replacements("")->empty());
  for (const char* garbage :
       {"slurm_load_jobs error", "21|PENDING\n", "|PENDING||x", "17|PENDING||Priority\n\xff\x01"}) {
    CHECK_FALSE(read_replacements(garbage));
  }
}

TEST_CASE("hosts near the run are idle ones under its leaf switches, if there is a choice") {
  const std::string topology =
      "SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[1-4]\n"
      "SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=n[5-8]\n"
      "SwitchName=core Level=1 LinkSpeed=1 Nodes=n[1-8] Switches=leaf[1-2]\n";
  ReplacementOrder order;
  order.near = {"n1", "n2"};
  order.bad = {"n3"};
  CHECK(near_hosts(topology, "n3\nn4\nn4\nn6\n", order) == Words{"n4"});
  CHECK(near_hosts(topology, "n4\n", order).empty());   // it is the only one
  CHECK(near_hosts(topology, "n6\n", order).empty());
  CHECK(near_hosts("garbage", "n4\nn6\n", order).empty());
}

// Played tools of Slurm, which note how they are called.
struct PlayedSlurm {
  explicit PlayedSlurm(const std::string& sbatch, const std::string& squeue = "true") {
    tool("sbatch", sbatch);
    tool("squeue", squeue);
    tool("scancel", "true");
    tool("scontrol",
         "case \"$*\" in\n"
         "*topology*) echo 'SwitchName=a Level=0 LinkSpeed=1 Nodes=n[1-2]'; "
         "echo 'SwitchName=b Level=0 LinkSpeed=1 Nodes=n[3-4]' ;;\n"
         "*) echo 'JobId=41 JobState=RUNNING TimeLimit=UNLIMITED EndTime=Unknown' ;;\n"
         "esac");
    tool("sinfo", "echo n2; echo n3");
  }
  void tool(const std::string& name, const std::string& script) {
    const std::string path = folder.write(name, "#!/bin/sh\necho \"" + name + " $*\" >> " +
                                                    folder.path() + "/calls\n" + script + "\n");
    REQUIRE(::chmod(path.c_str(), 0755) == 0);
  }
  [[nodiscard]] std::string calls(const std::string& of) const {
    std::ifstream file(folder / "calls");
    std::string all, line;
    while (std::getline(file, line)) {
      if (line.starts_with(of + " ")) all += line + "\n";
    }
    return all;
  }
  [[nodiscard]] ReplacementAnswer order(const ReplacementOrder& what) const {
    return order_replacements(options_in(folder.path()), what);
  }
  robustrun::test::ScratchFolder folder;
};

ReplacementOrder of(std::uint32_t count) {
  ReplacementOrder order;
  order.count = count;
  order.near = {"n1"};
  return order;
}

TEST_CASE("a job asks for an idle host near the run, and for any if Slurm refuses that") {
  const PlayedSlurm slurm(
      "case \"$*\" in *--nodelist*) echo 'not available' >&2; exit 1;; esac; echo '17;cluster'",
      "echo '17|PENDING||Priority'");
  const auto answer = slurm.order(of(1));
  CHECK(answer.queued == Words{"17"});
  CHECK(answer.trouble.empty());
  REQUIRE(answer.jobs);
  CHECK(answer.jobs->size() == 1);
  const std::string calls = slurm.calls("sbatch");
  CHECK(std::ranges::count(calls, '\n') == 2);
  CHECK(calls.find("--nodelist=n2") != std::string::npos);
}

TEST_CASE("jobs are cancelled and given any host in one order") {
  const PlayedSlurm slurm("echo 1");
  ReplacementOrder order;
  order.cancel = {"17", "18"};
  order.widen = {"19"};
  CHECK(slurm.order(order).trouble.empty());
  CHECK(slurm.calls("scancel") == "scancel 17 18\n");
  CHECK(slurm.calls("scontrol") == "scontrol update JobId=19 ReqNodeList=\n");
  CHECK(slurm.calls("sbatch").empty());
}

TEST_CASE("tools that fail, are missing or print garbage are told, and queue nothing") {
  const auto refused = PlayedSlurm("echo 'Invalid account' >&2; exit 1", "exit 3").order(of(2));
  CHECK(refused.queued.empty());
  CHECK(refused.trouble == "sbatch ended with exit code 1: Invalid account");
  REQUIRE_FALSE(refused.jobs);
  CHECK(refused.jobs.error().what == "squeue ended with exit code 3: ");
  CHECK(PlayedSlurm("head -c 100000 /dev/urandom").order(of(1)).trouble == "sbatch names no job");
  const auto garbage = PlayedSlurm("echo 17", "head -c 3000000 /dev/urandom").order(of(1));
  REQUIRE_FALSE(garbage.jobs);
  CHECK(garbage.jobs.error().what == "squeue prints no list of jobs");
  const auto gone = order_replacements(options_in("/nonexistent"), of(1));
  CHECK_FALSE(gone.jobs);
  CHECK_FALSE(gone.trouble.empty());
}

TEST_CASE("no node is asked for in the last minutes of the job") {
  PlayedSlurm slurm("echo 17");
  slurm.tool("scontrol", "echo \"JobId=41 JobState=RUNNING TimeLimit=1:00 EndTime=$(date +%s)\"");
  const auto answer = slurm.order(of(1));
  CHECK(answer.trouble == "job 41 ends within 5 minutes");
  CHECK(slurm.calls("sbatch").empty());
}

}  // namespace
}  // namespace robustrun::launcher::slurm_replacement_test
