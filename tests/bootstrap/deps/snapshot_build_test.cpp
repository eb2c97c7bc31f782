#include "bootstrap/deps/build.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "bootstrap/deps/place.h"
#include "tests/scratch_folder.h"

using namespace robustrun;
using namespace robustrun::bootstrap;

namespace snapshot_build_test {

using Words = std::vector<std::string>;

BuildPlan plan_of(DepsKind kind) {
  return {kind, "/job/deps", {}, "/tmp/place/tree", "/tmp/place/requirements.txt"};
}

bool has(const Words& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

TEST_CASE("uv installs if it is available, else the interpreter's pip") {
  const auto uv = plan_build(plan_of(DepsKind::kRequirements), {"/py", "/uv", ""}).value();
  REQUIRE(uv.size() == 1);
  CHECK(uv[0].argv.front() == "/uv");
  CHECK(has(uv[0].argv, "/tmp/place/tree"));
  CHECK_FALSE(has(uv[0].argv, "--no-cache"));
  BuildPlan local = plan_of(DepsKind::kRequirements);
  local.has_local = true;  // uv's cache would not notice changes in it
  CHECK(has(plan_build(local, {"/py", "/uv", ""})->at(0).argv, "--no-cache"));
  const auto pip = plan_build(plan_of(DepsKind::kRequirements), {"/py", "", ""}).value();
  REQUIRE(pip.size() == 1);
  CHECK(Words(pip[0].argv.begin(), pip[0].argv.begin() + 4) ==
        Words{"/py", "-m", "pip", "install"});
}

TEST_CASE("an impossible installation says what is missing") {
  const auto lock = plan_build(plan_of(DepsKind::kUvLock), {"/py", "", "/conda"});
  CHECK(lock.error().what.find("uv") != std::string::npos);
  const auto conda = plan_build(plan_of(DepsKind::kConda), {"/py", "/uv", ""});
  CHECK(conda.error().what.find("micromamba") != std::string::npos);
  const auto locked = plan_build(plan_of(DepsKind::kUvLock), {"/py", "/uv", ""}).value();
  REQUIRE(locked.size() == 2);
  CHECK(has(locked[0].argv, "--no-editable"));
  CHECK(locked[1].working_directory == "/job");  // of the lock: its paths are relative to it
  CHECK(plan_build(plan_of(DepsKind::kPyproject), {"/py", "", ""})->size() == 2);
  const auto made = plan_build(plan_of(DepsKind::kConda), {"/py", "", "/x/micromamba"}).value();
  CHECK_FALSE(has(made[0].argv, "env"));
  CHECK(has(plan_build(plan_of(DepsKind::kConda), {"/py", "", "/x/conda"})->at(0).argv, "env"));
}

TEST_CASE("the user's command gets the prefix in variables and in its words") {
  BuildPlan plan = plan_of(DepsKind::kCommand);
  plan.command = {"make", "install", "PREFIX=${ROBUSTRUN_PREFIX}", "$HOME"};
  const auto steps = plan_build(plan, {}).value();
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].argv == Words{"make", "install", "PREFIX=/tmp/place/tree", "$HOME"});
  CHECK(has(steps[0].environment, "PIP_TARGET=/tmp/place/tree"));
  CHECK(has(steps[0].environment, "ROBUSTRUN_PREFIX=/tmp/place/tree"));
}

TEST_CASE("a tree comes before what the workers had") {
  const Words before = {"PATH=/usr/bin", "PYTHONPATH=/mine"};
  TreeFacts facts;
  CHECK(tree_environment("/t", facts, "3.11", before) ==
        Words{"ROBUSTRUN_PREFIX=/t", "PYTHONPATH=/t:/mine"});
  facts = {.has_bin = true, .has_lib_packages = true, .has_path_files = true};
  CHECK(tree_environment("/t", facts, "3.11", before) ==
        Words{"ROBUSTRUN_PREFIX=/t", "PATH=/t/bin:/usr/bin",
              "PYTHONPATH=/t:/t/lib/python3.11/site-packages:/mine",
              "ROBUSTRUN_SITE=/t:/t/lib/python3.11/site-packages"});
  CHECK(tree_environment("/t", {}, "3.11", {}) == Words{"ROBUSTRUN_PREFIX=/t", "PYTHONPATH=/t"});
  const TreeFacts conda{.has_bin = true, .is_conda = true};
  CHECK(tree_environment("/t", conda, "3.11", before) ==
        Words{"ROBUSTRUN_PREFIX=/t", "PATH=/t/bin:/usr/bin", "CONDA_PREFIX=/t"});
}

TEST_CASE("a place is filled by one process, used by many, and removed once unused") {
  const test::ScratchFolder scratch;
  const Words environment = {"TMPDIR=" + scratch.path()};
  const std::string places = places_folder(environment);
  CHECK(places_folder({"TMPDIR=relative"}).starts_with("/tmp/robustrun-"));
  auto place = SnapshotPlace::open(places, "k-1").value();
  REQUIRE(place.lock_alone());
  auto other = SnapshotPlace::open(places, "k-1").value();
  CHECK_FALSE(other.lock_alone());
  CHECK_FALSE(other.lock_shared());
  REQUIRE(place.clear().has_value());
  CHECK_FALSE(place.is_whole());
  remove_unused_places(places, "");
  CHECK(std::filesystem::exists(place.tree()));
  REQUIRE(place.mark_whole().has_value());
  REQUIRE(place.lock_shared());
  CHECK(other.lock_shared());
  CHECK(other.is_whole());
  auto left = SnapshotPlace::open(places, "k-2").value();  // left unfinished
  REQUIRE(left.clear().has_value());
  remove_unused_places(places, "");
  CHECK_FALSE(std::filesystem::exists(places + "/k-2"));
  CHECK(std::filesystem::exists(place.tree()));
}

}  // namespace snapshot_build_test
