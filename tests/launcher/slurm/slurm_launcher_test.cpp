// The launcher with fakes of Slurm's programs: shell scripts that record their arguments and answer
// as the test says. The real ones: tests/e2e/slurm/test_allocation.py.

#include "launcher/slurm/launcher.h"

#include <doctest/doctest.h>

#include <csignal>
#include <fstream>
#include <map>
#include <sstream>

#include "base/io/blocking_pool.h"
#include "tests/scratch_folder.h"
#include "tests/support/loop.h"
#include "wire/tls/credential.h"

namespace robustrun::test::slurm_launcher_test {
namespace {

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

struct Rig {
  explicit Rig(const std::string& answer) {
    const std::string here = "here=" + folder.path() + "\n";
    // The n-th srun records its arguments and input, then follows its script.
    script("srun",
           here +
               "n=1; while ! mkdir $here/srun$n 2>/dev/null; do n=$((n+1)); done\n"
               "echo \"$@\" > $here/srun$n/words\n"
               "cat > $here/srun$n/input.new; mv $here/srun$n/input.new $here/srun$n/input\n" +
               answer);
    script("squeue", here +
                         "case \"$*\" in\n"
                         "  *--steps*) echo '7.0 robustrun-owl'; echo '7.1 other' ;;\n"
                         "  *) cat $here/nodes || echo 'n[1-3]' ;;\nesac\n");
    script("scancel", here +
                          "echo \"$@\" > $here/cancelled.new\n"
                          "mv $here/cancelled.new $here/cancelled\n");
    script("sinfo", "echo 'n1 mixed'; echo 'n2 down*'; echo 'n3 mixed'\n");
    launcher = launcher::make_slurm_launcher(loop.executor(), pool,
                                             {{"n1", "", 0, 0}, {"n2", "", 0, 0}, {"n3", "", 0, 0}},
                                             {.executable = "/rr",
                                              .commands = folder.path(),
                                              .job = "7",
                                              .run_id = "owl",
                                              .folder = folder / "agents"});
  }

  void script(const std::string& name, const std::string& text) {
    const std::string path = folder.write(name, "#!/bin/sh\n" + text);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }

  void launch(std::uint32_t node, std::uint32_t generation) {
    wire::Credential credential;
    credential.run_id = "owl";
    credential.node = base::NodeId{node};
    credential.generation = {generation};
    credential.endpoints = {"10.0.0.1:1"};
    launcher->launch({{node}, {generation}, wire::to_line(credential)},
                     {{}, [this, node](const launcher::AgentEnd& end) { ends[node] = end; }});
  }

  std::string words(int srun) {
    return read_text(folder / ("srun" + std::to_string(srun) + "/words"));
  }
  wire::Credential input(int srun) {
    const std::string path = folder / ("srun" + std::to_string(srun) + "/input");
    REQUIRE(loop.run_until([&] { return std::filesystem::exists(path); }));
    return wire::parse_credential(read_text(path)).value();
  }

  ScratchFolder folder;
  Loop loop;
  base::BlockingPool pool{loop.executor(), 2, 64};
  std::unique_ptr<launcher::AgentLauncher> launcher;
  std::map<std::uint32_t, launcher::AgentEnd> ends;
};

TEST_CASE("orders within one turn of the loop share one srun, with one credential for all") {
  Rig rig("exec sleep 60\n");
  rig.launch(0, 3);
  rig.launch(2, 4);
  CHECK_FALSE(rig.launcher->idle());
  auto credential = rig.input(1);
  CHECK(has(rig.words(1), "--nodelist=n1,n3"));
  CHECK(has(rig.words(1), "--ntasks=2"));
  CHECK_FALSE(credential.node);
  REQUIRE(wire::take_place(credential, "n3"));
  CHECK(credential.node == base::NodeId{2});
  CHECK(credential.generation.value == 4);
  // A later order gets its own srun, and the first one continues.
  rig.launch(0, 4);
  credential = rig.input(2);
  CHECK(has(rig.words(2), "--nodelist=n1 "));
  CHECK(rig.ends.empty());
}

TEST_CASE("an agent's end is reported at once; other agents of its srun are not affected") {
  Rig rig("echo 'srun: error: n2: task 1: Killed' >&2; exec sleep 60\n");
  for (const std::uint32_t node : {0U, 1U, 2U}) rig.launch(node, 1);
  REQUIRE(rig.loop.run_until([&] { return rig.ends.contains(1); }));
  CHECK(rig.ends.size() == 1);
  CHECK(has(rig.ends[1].why, "n2: task 1: Killed"));
  CHECK(rig.ends[1].node_answers);
  CHECK_FALSE(rig.launcher->idle());
}

TEST_CASE("an agent that ends with an exit code is explained by the last line of its log") {
  Rig rig(
      "mkdir -p $here/agents; echo 'robustrun agent: cannot use it' >$here/agents/agent.1.1.log\n"
      "echo 'srun: error: n[1-2]: tasks 0-1: Exited with exit code 66' >&2; exec sleep 60\n");
  rig.launch(0, 1);
  rig.launch(1, 1);
  REQUIRE(rig.loop.run_until([&] { return rig.ends.size() == 2; }));
  const std::string logs = rig.folder / "agents/agent.1.";
  CHECK(rig.ends[1].why == "cannot use it (exit code 66; its log: " + logs + "1.log)");
  CHECK(rig.ends[1].is_bad_input);
  CHECK(rig.ends[1].lasting == "cannot use it");
  // Without a log it is only named.
  CHECK(has(rig.ends[0].why, "Exited with exit code 66; its log: " + logs + "0.log"));
  CHECK_FALSE(rig.ends[0].is_bad_input);
}

TEST_CASE("when srun ends, so do all agents that it started") {
  Rig rig("echo 'srun: error: something' >&2; exit 3\n");
  rig.launch(0, 1);
  rig.launch(1, 1);
  REQUIRE(rig.loop.run_until([&] { return rig.ends.size() == 2; }));
  CHECK(has(rig.ends[0].why, "ended: exit code 3: something"));
  CHECK(rig.launcher->idle());
}

TEST_CASE("an agent that cannot be started ends the others of its srun, whose nodes answer") {
  Rig rig(
      "echo 'srun: error: Task launch for StepId=7.0 failed on node n2: No route' >&2; exit 1\n");
  rig.launch(0, 1);
  rig.launch(1, 1);
  REQUIRE(rig.loop.run_until([&] { return rig.ends.size() == 2; }));
  CHECK_FALSE(rig.ends[1].node_answers);
  CHECK(has(rig.ends[1].why, "failed on node n2: No route"));
  CHECK(rig.ends[0].node_answers);
  CHECK(has(rig.ends[0].why, "because another could not be started"));
}

TEST_CASE("a step that Slurm refuses is requested again without the nodes that are down") {
  Rig rig(
      "[ $n = 1 ] || exec sleep 60\n"
      "echo 'srun: error: Only allocated 2 nodes asked for 3' >&2; exit 1\n");
  for (const std::uint32_t node : {0U, 1U, 2U}) rig.launch(node, 1);
  static_cast<void>(rig.input(2));
  CHECK(has(rig.words(2), "--nodelist=n1,n3"));
  REQUIRE(rig.ends.size() == 1);
  CHECK(has(rig.ends[1].why, "for Slurm it is down* ("));
  CHECK_FALSE(rig.ends[1].node_answers);
}

TEST_CASE("a node that Slurm has taken out of the job is gone for good") {
  Rig rig(
      "[ $n = 1 ] || exec sleep 60\n"
      "echo 'srun: error: Unable to create step for job 7: node not available' >&2; exit 1\n");
  rig.folder.write("nodes", "n1,n3\n");
  for (const std::uint32_t node : {0U, 1U, 2U}) rig.launch(node, 1);
  static_cast<void>(rig.input(2));
  CHECK(has(rig.words(2), "--nodelist=n1,n3"));
  REQUIRE(rig.ends.size() == 1);
  CHECK(rig.ends[1].why == "Slurm has taken it out of job 7");
  CHECK(rig.ends[1].is_gone);
}

TEST_CASE("a step refused for an unknown reason is given up") {
  Rig rig("echo 'srun: error: Unable to create step for job 7: odd' >&2; exit 1\n");
  rig.launch(0, 1);
  rig.launch(2, 1);
  REQUIRE(rig.loop.run_until([&] { return rig.ends.size() == 2; }));
  CHECK(has(rig.ends[0].why, "Unable to create step for job 7: odd"));
  CHECK(rig.launcher->idle());
}

TEST_CASE("at the end the run's steps are cancelled, and no others") {
  Rig rig("exec sleep 60\n");
  rig.launch(0, 1);
  static_cast<void>(rig.input(1));
  rig.launcher->kill_all();
  const std::string path = rig.folder / "cancelled";
  REQUIRE(rig.loop.run_until([&] { return std::filesystem::exists(path); }));
  CHECK(read_text(path) == "--signal=KILL 7.0\n");
}

TEST_CASE("a missing srun is reported as the end of its agents") {
  Rig rig("");
  std::filesystem::remove(rig.folder / "srun");
  rig.launch(1, 1);
  REQUIRE(rig.loop.run_until([&] { return rig.ends.contains(1); }));
  CHECK(has(rig.ends[1].why, "cannot start " + rig.folder.path() + "/srun"));
}

}  // namespace
}  // namespace robustrun::test::slurm_launcher_test
