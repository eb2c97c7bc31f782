#include "launcher/slurm/node_states.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "launcher/limits.h"
#include "tests/scratch_folder.h"

namespace robustrun::launcher::slurm_node_states_test {
namespace {

std::string told(std::string_view shown) {
  std::string text;
  for (const SlurmNodeState& state : read_node_states(shown)) {
    text += (text.empty() ? "" : "; ") + state.name + " " + state.trouble;
  }
  return text;
}

// Recorded with Slurm 22.05; unused fields are omitted.
std::string shown(const std::string& name, const std::string& state, const std::string& rest = "") {
  return "NodeName=" + name + " Arch=x86_64 CoresPerSocket=1 OS=Linux 6.1.0 State=" + state +
         " ThreadsPerCore=1 AveWatts=0 ExtSensorsTemp=n/s" + rest + "\n";
}

TEST_CASE("what Slurm plans for a node is read with its reason") {
  CHECK(told(shown("n1", "ALLOCATED")) == "n1 ");
  CHECK(told(shown("n1", "ALLOCATED+DRAIN", " Reason=bad disk [root@2026-11-27T07:00:00]")) ==
        "n1 it is draining (bad disk)");
  CHECK(told(shown("n1", "MIXED+DRAIN+REBOOT_REQUESTED", " Reason=Reboot ASAP [a@2026-1-1]")) ==
        "n1 it is to be rebooted (Reboot ASAP)");
  CHECK(told(shown("n1", "ALLOCATED+MAINTENANCE+RESERVED")) == "n1 it is under maintenance");
  CHECK(told(shown("n1", "MIXED+FAIL", " Reason=x Comment=y z Extra=q")) ==
        "n1 Slurm calls it failing (x)");
  CHECK(told(shown("n1", "ALLOCATED+DRAIN*")) == "n1 it is draining");
  CHECK(told(shown("n1", "ALLOCATED@")) == "n1 it is to be rebooted");
  CHECK(told(shown("n1", "IDLE$")) == "n1 it is under maintenance");
  // These are no plans: leases look after nodes that do not answer.
  for (const char* state : {"MIXED*", "DOWN", "IDLE+CLOUD+POWERED_DOWN", "ALLOCATED+COMPLETING"}) {
    CHECK(told(shown("n1", state, " Reason=old [a@b]")) == "n1 ");
  }
  CHECK(told(shown("n1", "MIXED") + shown("n2", "MIXED+DRAIN")) == "n1 ; n2 it is draining");
}

TEST_CASE("garbage tells nothing, and a reason is bounded and printable") {
  for (const char* garbage :
       {"", "\n\n", "slurm_load_node error: Unable to contact slurm controller", "NodeName=n1",
        "State=MIXED+DRAIN", "NodeName= State=DRAIN", "\xff\xfe State=\x01 NodeName"}) {
    CHECK(told(garbage).empty());
  }
  const auto states =
      read_node_states(shown("n1", "MIXED+DRAIN", " Reason=\x1b[2J" + std::string(5000, 'x')));
  REQUIRE(states.size() == 1);
  CHECK(states[0].trouble.size() < kSlurmReasonBytesMax + 50);
  CHECK(states[0].trouble.find('\x1b') == std::string::npos);
}

struct FakeScontrol {
  robustrun::test::ScratchFolder folder;
  explicit FakeScontrol(const std::string& script) {
    const std::string path = folder.write("scontrol", "#!/bin/sh\n" + script);
    REQUIRE(::chmod(path.c_str(), 0755) == 0);
  }
  [[nodiscard]] base::Result<std::vector<SlurmNodeState>> ask(std::size_t nodes = 2) const {
    SlurmOptions options;
    options.commands = folder.path();
    std::vector<std::string> names;
    for (std::size_t i = 1; i <= nodes; ++i) names.push_back("n" + std::to_string(i));
    return ask_node_states(options, names);
  }
};

TEST_CASE("scontrol is asked once for all nodes, in parts if there are very many") {
  const FakeScontrol slurm("echo \"$4\" | wc -c >> ${0%/*}/asked\necho 'NodeName=n1 State=IDLE'\n");
  const auto states = slurm.ask();
  REQUIRE(states);
  CHECK(states->size() == 1);
  REQUIRE(slurm.ask(kSlurmNodesAtOnce + 1));
  std::ifstream asked(slurm.folder / "asked");
  std::string line;
  int calls = 0;
  while (std::getline(asked, line)) ++calls;
  CHECK(calls == 3);
}

TEST_CASE("a tool that fails, is missing or prints garbage is an error or tells nothing") {
  const auto failed = FakeScontrol("echo 'no controller' >&2; exit 1\n").ask();
  REQUIRE_FALSE(failed);
  CHECK(failed.error().what == "scontrol ended with exit code 1: no controller");
  CHECK(FakeScontrol("head -c 3000000 /dev/urandom\n").ask());
  // A node that Slurm does not know any more does not hide the others.
  const auto partly = FakeScontrol("echo 'NodeName=n1 State=IDLE'; exit 1\n").ask();
  REQUIRE(partly);
  CHECK(partly->size() == 1);
  SlurmOptions nowhere;
  nowhere.commands = "/nonexistent";
  CHECK_FALSE(ask_node_states(nowhere, {"n1"}));
  CHECK(ask_node_states(nowhere, {})->empty());
}

}  // namespace
}  // namespace robustrun::launcher::slurm_node_states_test
