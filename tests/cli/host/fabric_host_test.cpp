#include <doctest/doctest.h>

#include <filesystem>

#include "base/io/tool.h"
#include "cli/options/surroundings.h"
#include "tests/scratch_folder.h"

namespace robustrun::cli::fabric_host_test {
namespace {

// A script with these lines in place of scontrol.
std::string program(const test::ScratchFolder& folder, const std::string& lines) {
  const std::string path = folder.write("scontrol", "#!/bin/sh\n" + lines);
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

}  // namespace

TEST_CASE("scontrol is asked for its topology") {
  const test::ScratchFolder folder;
  const auto asked = [&](const std::string& lines) {
    const auto answer = this_fabric().ask_slurm(program(folder, lines));
    return answer ? *answer : "error: " + answer.error().what;
  };
  CHECK(asked("echo \"$1 $2\"") == "show topology\n");
  CHECK(asked("echo 'slurm_load_topo error: down' >&2; echo more >&2; exit 1") ==
        "error: scontrol show topology: slurm_load_topo error: down");
  CHECK(asked("exit 3").starts_with("error: scontrol show topology: "));
  CHECK(asked("head -c " + std::to_string(base::kToolOutputBytesMax) + " /dev/zero")
            .find("prints more than 16777216 bytes") != std::string::npos);
  CHECK_FALSE(this_fabric().ask_slurm(folder / "none").has_value());
}

TEST_CASE("a description of the network is read from its file") {
  const test::ScratchFolder folder;
  const std::string file = folder.write("t.conf", "SwitchName=s Nodes=n\n");
  CHECK(this_fabric().read_file(file).value() == "SwitchName=s Nodes=n\n");
  CHECK(this_fabric().read_file(folder / "none").error().what.starts_with("cannot read "));
}

}  // namespace robustrun::cli::fabric_host_test
