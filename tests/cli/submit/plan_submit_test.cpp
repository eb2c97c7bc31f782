#include "cli/submit/submit.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/cli/fakes.h"

namespace robustrun::cli::plan_submit_test {
namespace {

using Words = std::vector<std::string>;

base::Result<BatchJob> plan(const Words& words, const Words& environment = {}) {
  testing::World world;
  world.around.environment.insert(world.around.environment.end(), environment.begin(),
                                  environment.end());
  const auto line = parse_run_line(words);
  if (!line) return std::unexpected(line.error());
  const auto settings = merge_settings(*line, world.around);
  if (!settings) return std::unexpected(settings.error());
  return plan_submit(*line, *settings, world.around);
}

std::string refusal(const Words& words) {
  const auto made = plan(words);
  return made ? "no error" : made.error().what;
}

bool has(const Words& words, const std::string& word) {
  CAPTURE(word);
  return std::ranges::find(words, word) != words.end();
}

TEST_CASE("a job requests nodes, one task on each, and the options that keep it alive") {
  const auto job = plan({"--nodes=16", "train.py", "--lr", "0.1"});
  REQUIRE(job);
  CHECK(job->sbatch == Words{"--job-name=train.py", "--nodes=16", "--ntasks-per-node=1",
                             "--output=slurm-%j.out", "--exclusive", "--mem=0", "--no-kill",
                             "--requeue", "--open-mode=append", "--signal=B:USR1@180"});
  CHECK(job->robustrun == "/opt/rr/bin/robustrun");
  CHECK(job->words == Words{"--shutdown-timeout=120", "--", "train.py", "--lr", "0.1"});
  CHECK(job->requeue_codes == std::vector<int>{94});
}

TEST_CASE("options for Slurm go to Slurm and those of the run to the run") {
  const auto job = plan({"--max-restarts", "7", "--nodes", "2", "--partition=a b", "--account=x",
                         "--qos=high", "--time=4:00:00", "--gpus-per-node=8", "--spares=1",
                         "--save-within=90s", "--job-name", "big", "--fold-lines", "--dry-run",
                         "--sbatch=--mem=0 '--comment=two words'", "-m", "package.train"});
  REQUIRE(job);
  for (const char* option :
       {"--partition=a b", "--account=x", "--qos=high", "--time=4:00:00", "--gpus-per-node=8",
        "--job-name=big", "--signal=B:USR1@150", "--mem=0", "--comment=two words"}) {
    CHECK(has(job->sbatch, option));
  }
  for (const char* option : {"--max-restarts=7", "--spares=1", "--fold-lines", "--module",
                             "--shutdown-timeout=90", "--nproc-per-node=8"}) {
    CHECK(has(job->words, option));
  }
  CHECK_FALSE(has(job->words, "--dry-run"));
  CHECK_FALSE(has(job->words, "--nodes=2"));
  CHECK(job->words.back() == "package.train");
}

TEST_CASE("with --replace the run knows the options of a job for one more node") {
  const auto job = plan({"--nodes=2", "--replace=1", "--partition=a b", "--account=x",
                         "--sbatch=-C a100 --comment=no", "train.py"});
  REQUIRE(job);
  CHECK(has(job->words, "--replace=1"));
  CHECK(
      has(job->words, "--replace-with='--partition=a b' --account=x --exclusive --mem=0 -C a100"));
  const auto own = plan({"--nodes=2", "--replace=1", "--replace-with=-p spot", "train.py"});
  REQUIRE(own);
  CHECK(has(own->words, "--replace-with=-p spot"));
}

TEST_CASE("whole nodes are requested unless processors are, and their memory unless memory is") {
  const auto sbatch = [](Words more) {
    more.insert(more.begin(), "--nodes=1");
    more.emplace_back("train.py");
    return plan(more)->sbatch;
  };
  const Words some = sbatch({"--cpus-per-task=16", "--mem=64G", "--output=logs/%x.out"});
  for (const char* option : {"--cpus-per-task=16", "--mem=64G", "--output=logs/%x.out"}) {
    CHECK(has(some, option));
  }
  CHECK_FALSE(has(some, "--exclusive"));
  CHECK_FALSE(has(some, "--mem=0"));
  CHECK_FALSE(has(sbatch({"--cpus-per-task=16"}), "--mem=0"));
  CHECK_FALSE(has(sbatch({"--mem=64G"}), "--mem=0"));
  CHECK(has(sbatch({"--mem=64G"}), "--exclusive"));
  CHECK_FALSE(has(sbatch({"--sbatch=-c 8"}), "--exclusive"));
  CHECK_FALSE(has(sbatch({"--sbatch=--mem-per-cpu=4G"}), "--mem=0"));
}

TEST_CASE("options of the run stay as they were given") {
  const auto job = plan(
      {"--nodes=1", "--gpus-per-node=8", "--nproc-per-node=2", "--shutdown-timeout=5", "train.py"});
  REQUIRE(job);
  CHECK(has(job->words, "--nproc-per-node=2"));
  CHECK_FALSE(has(job->words, "--nproc-per-node=8"));
  CHECK(has(job->words, "--shutdown-timeout=5"));
  CHECK_FALSE(has(job->words, "--shutdown-timeout=120"));
  const auto typed = plan({"--nodes=1", "--gpus-per-node=a100:8", "train.py"});
  REQUIRE(typed);   // what Slurm names is not a number of workers
  CHECK(std::ranges::none_of(
      typed->words, [](const std::string& word) { return word.starts_with("--nproc-per-node"); }));
}

TEST_CASE("the job inherits the environment, which may hold options of submit") {
  const auto job = plan({"train.py"}, {"ROBUSTRUN_NODES=3", "PET_MAX_RESTARTS=9"});
  REQUIRE(job);
  CHECK(has(job->sbatch, "--nodes=3"));
  CHECK_FALSE(has(job->words, "--max-restarts=9"));
}

TEST_CASE("when the job is queued again") {
  const auto codes = [](const char* text) {
    return plan({"--nodes=1", "--requeue-on", text, "train.py"})->requeue_codes;
  };
  CHECK(codes("time-limit") == std::vector<int>{124});
  CHECK(codes("infrastructure,time-limit") == std::vector<int>{94, 124});
  CHECK(codes("never").empty());
  CHECK(has(plan({"--nodes=1", "--requeue-on=never", "train.py"})->sbatch, "--no-requeue"));
  CHECK(refusal({"--nodes=1", "--requeue-on=always", "train.py"}).find("'always': expected") !=
        std::string::npos);
  CHECK(refusal({"--nodes=1", "--requeue-on=never,time-limit", "train.py"}).find("excludes") !=
        std::string::npos);
}

TEST_CASE("impossible jobs are refused in one line") {
  const std::pair<Words, const char*> cases[] = {
      {{"train.py"}, "--nodes=N"},
      {{"--nodes=2", "missing.py"}, "no such file in /job"},
      {{"--nodes=2", "--detach", "train.py"}, "--detach"},
      {{"--nodes=2", "--hosts=a,b", "train.py"}, "Slurm chooses the hosts"},
      {{"--nodes=2", "--run-dir=x", "train.py"}, "directory named after it"},
      {{"--nodes=2", "--sbatch='--mem", "train.py"}, "quote is not closed"},
      {{"--nodes=2", "--job-name=a\nb", "train.py"}, "line end"},
      {{"--nodes=0", "train.py"}, "--nodes"},
      {{"--nodes=1", "--time=5", "train.py"}, "warns 180 s before the end"},
      {{"--nodes=1", "--time=1x", "train.py"}, "'1x': expected sbatch's notation"},
      {{"--nodes=1", "--time=-5", "train.py"}, "'-5': expected sbatch's notation"},
      {{"--nodes=1", "--cpus-per-task=0", "train.py"}, "--cpus-per-task"},
      {{"--nodes=1", "--mem=much", "train.py"}, "cannot use --mem=much: 'much': expected sbatch's"},
      {{"--nodes=1", "--mem=200 GB", "train.py"}, "expected sbatch's notation: 200G, or 0"},
      {{"--nodes=1", "--mem=-5G", "train.py"}, "expected sbatch's notation: 200G, or 0"},
      {{"--nodes=1", "--parallel=xp=8", "train.py"}, "cannot use --parallel=xp=8: 'xp=8': a size"},
      {{"--nodes=2", "--gpus-per-node=8", "--parallel=tp=3", "train.py"},
       "cannot use --parallel=tp=3"},
      {{"--nodes=2", "--rank-order=x", "train.py"}, "--rank-order"},
  };
  for (const auto& [words, part] : cases) {
    const std::string text = refusal(words);
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
    CHECK(text.find('\n') == std::string::npos);
  }
}

TEST_CASE("sizes of memory as sbatch has them, and ranks that may fit, are taken") {
  for (const char* const option :
       {"--mem=0", "--mem=200000", "--mem=200G", "--mem=200gb", "--mem=4T"}) {
    CAPTURE(option);
    const auto job = plan({"--nodes=1", option, "train.py"});
    REQUIRE(job);
    CHECK(has(job->sbatch, option));
  }
  CHECK(plan({"--nodes=2", "--gpus-per-node=8", "--parallel=tp=8", "train.py"}));
  CHECK(plan({"--nodes=2", "--parallel=tp=3", "train.py"}));  // the nodes decide
}

TEST_CASE("a run refuses options of submit") {
  const auto line = parse_run_line(Words{"--partition=gpu", "train.py"});
  REQUIRE(line);
  const auto status = check_subcommand(*line, Group::kWhat);
  REQUIRE_FALSE(status);
  CHECK(status.error().what.find("--partition: only for robustrun submit") != std::string::npos);
  CHECK(check_subcommand(*parse_run_line(Words{"train.py"}), Group::kWhat));
}

TEST_CASE("options of plan are refused by others, and vice versa") {
  const auto plan = parse_run_line(Words{"--svg=a.svg", "train.py"});
  REQUIRE(plan);
  CHECK(check_subcommand(*plan, Group::kPlan));
  CHECK(check_subcommand(*plan, Group::kWhat).error().what ==
        "argument --svg: only for robustrun plan");
  CHECK_FALSE(check_subcommand(*plan, Group::kSubmit));
  CHECK_FALSE(check_subcommand(*parse_run_line(Words{"--nodes=2"}), Group::kPlan));
}

TEST_CASE("options of check are refused by others") {
  const auto check = parse_run_line(Words{"--gpu", "train.py"});
  REQUIRE(check);
  CHECK(check_subcommand(*check, Group::kCheck));
  CHECK(check_subcommand(*check, Group::kWhat).error().what ==
        "argument --gpu: only for robustrun check");
  CHECK_FALSE(check_subcommand(*check, Group::kSubmit));
}

TEST_CASE("the script quotes what the user wrote") {
  BatchJob job;
  job.sbatch = {"--partition=a b"};
  job.robustrun = "/opt/my robustrun";
  job.words = {"--", "train.py", "$HOME; rm x", "it's"};
  job.requeue_codes = {94, 124};
  const std::string text = batch_script(job);
  CHECK(text.starts_with("#!/bin/bash\n#SBATCH '--partition=a b'\n"));
  CHECK(text.find("robustrun='/opt/my robustrun'\n") != std::string::npos);
  CHECK(text.find(R"(-- train.py '$HOME; rm x' 'it'\''s'))") != std::string::npos);
  CHECK(text.find("  94|124)\n") != std::string::npos);
  CHECK(text.find("\"$robustrun\" requeue \"$run\" || [ $? -eq 93 ] ||") != std::string::npos);
  CHECK(text.find("ROBUSTRUN_NODE_HISTORY") == std::string::npos);
  job.node_history = "/shared/my history";
  CHECK(batch_script(job).find("export ROBUSTRUN_NODE_HISTORY='/shared/my history'\n") !=
        std::string::npos);
  job.requeue_codes.clear();
  CHECK(batch_script(job).find("scontrol requeue") == std::string::npos);
  CHECK(batch_script(job).find("queue_copy") == std::string::npos);
}

TEST_CASE("the script queues a copy of itself where Slurm refuses to requeue") {
  BatchJob job;
  job.requeue_codes = {94};
  const std::string text = batch_script(job);
  CHECK(text.find("requeue \"$run\" || [ $? -eq 93 ] ||\n"
                  "      scontrol requeue \"$job\" || queue_copy ||\n"
                  "      echo \"robustrun: the job could not be queued again\" >&2\n") !=
        std::string::npos);
  CHECK(text.find("queue_copy() {\n  local script next copies=0\n") != std::string::npos);
  CHECK(text.find("env -u SLURM_RESTART_COUNT sbatch --parsable "
                  "--dependency=\"afterany:$job\" \\\n") != std::string::npos);
  CHECK(text.find(
            "${SLURM_ARRAY_TASK_ID:+--array=\"$SLURM_ARRAY_TASK_ID\"} \\\n    <<<\"$script\")") !=
        std::string::npos);
  CHECK(text.find("job ${next%%;*} goes on with it\" >&2\n}\n") != std::string::npos);
  CHECK(text.find("\nrobustrun_copies=0 ") < text.find("robustrun_copies="));
}

}  // namespace
}  // namespace robustrun::cli::plan_submit_test
