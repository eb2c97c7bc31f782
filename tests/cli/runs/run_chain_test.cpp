#include "cli/runs/run_chain.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "supervisor/run_dir/journal.h"
#include "tests/scratch_folder.h"
#include "tests/supervisor/story.h"

namespace robustrun::cli::run_chain_test {
namespace {

using Names = std::vector<std::string>;

Names ids(const RunChain& chain) {
  Names found;
  for (const KnownRun& run : chain.starts) found.push_back(run.id);
  return found;
}

TEST_CASE("starts of a Slurm job have one id, other names have their own") {
  CHECK(chain_id("slurm-4711") == "slurm-4711");
  CHECK(chain_id("slurm-4711-12") == "slurm-4711");
  for (const char* other : {"slurm-", "slurm-a-1", "slurm-4711-", "slurm-4711-x", "slurm-4711-1-2",
                            "20260801-101500-ab12", "slurm--1", ""}) {
    CHECK(chain_id(other) == other);
  }
}

TEST_CASE("runs of one job and folder are one chain, in order of their starts") {
  const std::vector<KnownRun> runs = {
      {"slurm-7-10", "/a/slurm-7-10", {}}, {"owl", "/a/owl", {}},
      {"slurm-7-9", "/a/slurm-7-9", {}},   {"slurm-7", "/b/slurm-7", {}},
      {"slurm-8-1", "/a/slurm-8-1", {}},   {"slurm-7", "/a/slurm-7", {}}};
  const auto chains = chains_of(runs);
  REQUIRE(chains.size() == 4);
  CHECK(chains[0].id == "slurm-7");
  CHECK(ids(chains[0]) == Names{"slurm-7", "slurm-7-9", "slurm-7-10"});
  CHECK(chains[1].id == "owl");
  CHECK(chains[2].starts.front().directory == "/b/slurm-7");
  CHECK(chains[3].id == "slurm-8-1");  // its first start was removed
}

TEST_CASE("a run finds the other starts beside it") {
  const test::ScratchFolder folder;
  for (const char* name : {"slurm-7", "slurm-7-2", "slurm-7-10", "slurm-71", "owl", "slurm-7-3"}) {
    std::filesystem::create_directory(folder.path() + "/" + name);
    if (std::string(name) != "slurm-7-3") std::ofstream(folder.path() + "/" + name + "/journal");
  }
  CHECK(ids(chain_of(folder.path() + "/slurm-7-2")) == Names{"slurm-7", "slurm-7-2", "slurm-7-10"});
  CHECK(ids(chain_of(folder.path() + "/owl")) == Names{"owl"});
  // Journals without a record are left out.
  CHECK(earlier_starts(folder.path() + "/slurm-7-10").size() <= 2);
  CHECK(earlier_starts(folder.path() + "/slurm-7").empty());
}

TEST_CASE("starts in a row without a worker are counted, unless they were stopped") {
  using supervisor::Rule;
  using supervisor::scenarios::Story;
  const test::ScratchFolder folder;
  const auto write = [&](const std::string& name, const Story& story) {
    std::string directory = folder.path() + "/" + name;
    std::filesystem::create_directory(directory);
    auto journal = supervisor::Journal::create(directory + "/journal");
    REQUIRE(journal);
    for (const auto& entry : story.entries) REQUIRE(journal->append(entry));
    return directory;
  };
  const auto in_vain = [](Rule rule) {
    Story story;
    story.run({{"n1", "", 1}});
    return story.decide(9, rule, 0, "no agent starts").finish(9, 94);
  };
  Story with_worker;
  with_worker.run({{"n1", "", 1}}).start(4, 0, 1);
  with_worker.decide(8, Rule::kInfrastructureGivenUp, 0, "lost").finish(9, 94);
  CHECK(vain_starts(write("slurm-7", in_vain(Rule::kInfrastructureGivenUp))).count == 1);
  CHECK(vain_starts(write("slurm-7-1", with_worker)).count == 0);
  CHECK(vain_starts(write("slurm-7-2", in_vain(Rule::kPreempted))).count == 0);
  for (std::uint32_t start = 3; start < 7; ++start) {
    const VainStarts vain = vain_starts(
        write("slurm-7-" + std::to_string(start), in_vain(Rule::kInfrastructureGivenUp)));
    CHECK(vain.count == std::min(start - 2, 3U));
    CHECK(vain.reason == "no agent starts");
  }
  CHECK(vain_starts(folder.path() + "/slurm-7-4").count == 2);
}

}  // namespace
}  // namespace robustrun::cli::run_chain_test
