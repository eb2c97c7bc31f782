#include "cli/placement/places.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/cli/fakes.h"
#include "tests/scratch_folder.h"

namespace robustrun::cli::places_test {

using testing::World;
namespace fs = std::filesystem;

namespace {

base::Result<Places> plan(const World& world, const std::vector<std::string>& argv,
                          const std::string& id = "", bool standalone = true) {
  base::Rng rng(world.around.seed);
  return plan_places(world.merge(argv).value(), world.around, id, standalone, rng);
}

unsigned mode_of(const std::string& path) {
  struct stat status{};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 0777;
}

}  // namespace

TEST_CASE("native: everything below ./robustrun-runs, named by date and a random number") {
  World world;
  const auto places = plan(world, {"s"});
  REQUIRE(places.has_value());
  CHECK(places->run_name.starts_with("20260801-101500-"));
  CHECK(places->run_name.size() == std::string("20260801-101500-ab12").size());
  CHECK(places->run_directory == "/job/robustrun-runs/" + places->run_name);
  CHECK(places->log_directory == places->run_directory + "/logs");
  CHECK(places->elastic_id == places->run_name);
  CHECK(places->private_root.empty());
}

TEST_CASE("the user's id names the run, and a second run of it gets a name of its own") {
  World world;
  auto places = plan(world, {"s"}, "exp/1");
  CHECK(places->run_directory == "/job/robustrun-runs/exp_1");
  CHECK(places->elastic_id == "exp/1");
  world.machine.kinds["/job/robustrun-runs/exp_1"] = PathKind::kDirectory;
  places = plan(world, {"s"}, "exp/1");
  CHECK(places->run_directory.starts_with("/job/robustrun-runs/exp_1-20260801-101500-"));
  CHECK(places->run_name ==
        places->run_directory.substr(std::string("/job/robustrun-runs/").size()));
  CHECK(plan(world, {"s"}, "../up")->run_name == "_._up");
  CHECK(plan(world, {"s"}, std::string(500, 'x'))->run_name.size() <= 200);
}

TEST_CASE("--run-dir must be new or empty") {
  World world;
  CHECK(plan(world, {"--run-dir=r", "s"})->run_directory == "/job/r");
  CHECK(plan(world, {"--run-dir=/abs", "s"})->run_directory == "/abs");
  world.machine.kinds["/job/r"] = PathKind::kEmptyDirectory;
  CHECK(plan(world, {"--run-dir=r", "s"}).has_value());
  world.machine.kinds["/job/r"] = PathKind::kDirectory;
  CHECK(plan(world, {"--run-dir=r", "s"})
            .error()
            .what.starts_with("cannot use --run-dir=r: it is not empty"));
  CHECK_FALSE(plan(world, {"--run-dir=train.py", "s"}).has_value());
}

TEST_CASE("--log-dir: a folder of the run below it, with the node's name") {
  World world;
  const auto places = plan(world, {"--log-dir=logs", "s"}, "exp1");
  CHECK(places->log_base == "/job/logs");
  CHECK(places->log_directory.starts_with("/job/logs/exp1_node7_"));
  CHECK(places->log_directory.size() == std::string("/job/logs/exp1_node7_12345678").size());
  CHECK(plan(world, {"--log-dir=/dev/null", "s"})->log_directory.empty());
  CHECK(plan(world, {"--log-dir=train.py", "s"}).error().what ==
        "cannot use --log-dir=train.py: NotADirectoryError: log_dir: train.py is a file; name a "
        "directory");
}

TEST_CASE("compat: torchrun's places, and nothing in the working directory") {
  World world;
  world.around.environment.push_back("TMPDIR=/scratch");
  auto places = plan(world, {"--compat=torchrun", "s"});
  CHECK(places->private_root == "/scratch/robustrun-1000");
  CHECK(places->run_directory.starts_with("/scratch/robustrun-1000/runs/20260801-101500-"));
  CHECK(places->log_directory.starts_with("/scratch/torchelastic_"));
  CHECK(places->elastic_id.size() == 36);
  CHECK(places->elastic_id[14] == '4');
  CHECK(places->log_directory.find("/" + places->elastic_id + "_") != std::string::npos);
  places = plan(world, {"--compat=torchrun", "--rdzv-id=exp1", "--log-dir=/l", "s"}, "exp1", false);
  CHECK(places->elastic_id == "exp1");
  CHECK(places->log_directory.starts_with("/l/exp1_"));
  CHECK(places->log_directory.size() == std::string("/l/exp1_12345678").size());
  places = plan(world, {"--compat=torchrun", "--master-port=1", "s"}, "", false);
  CHECK(places->elastic_id == "none");
}

TEST_CASE("the same seed gives the same names") {
  World world;
  CHECK(plan(world, {"s"})->run_name == plan(world, {"s"})->run_name);
  const std::string before = plan(world, {"s"})->run_name;
  world.around.seed = 43;
  CHECK(plan(world, {"s"})->run_name != before);
}

TEST_CASE("folders are made for us alone, --log-dir as the umask says") {
  const test::ScratchFolder scratch;
  Places places;
  places.run_directory = scratch.path() + "/robustrun-runs/r1";
  places.log_base = scratch.path() + "/logs";
  places.log_directory = places.log_base + "/x_1";
  REQUIRE(make_places(places).has_value());
  CHECK(mode_of(scratch.path() + "/robustrun-runs") == 0700);
  CHECK(mode_of(places.run_directory) == 0700);
  CHECK(mode_of(places.log_directory) == 0700);
  CHECK(mode_of(places.log_base) != 0);
}

TEST_CASE("a private folder that other users can write to is refused") {
  const test::ScratchFolder scratch;
  Places places;
  places.private_root = scratch.path() + "/robustrun-1000";
  places.run_directory = places.private_root + "/runs/r1";
  REQUIRE(make_places(places).has_value());
  REQUIRE(make_places(places).has_value());
  REQUIRE(::chmod(places.private_root.c_str(), 0777) == 0);
  CHECK(make_places(places).error().code == base::Errc::kPermission);
  fs::remove_all(places.private_root);
  fs::create_directory(scratch.path() + "/elsewhere");
  fs::create_symlink(scratch.path() + "/elsewhere", places.private_root);
  CHECK(make_places(places).error().code == base::Errc::kPermission);
}

}  // namespace robustrun::cli::places_test
