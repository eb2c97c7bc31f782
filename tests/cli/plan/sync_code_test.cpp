#include "cli/plan/sync_code.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "tests/cli/fakes.h"
#include "tests/scratch_folder.h"

namespace robustrun::cli::sync_code_test {

using testing::World;
using Words = std::vector<std::string>;

namespace {

base::Result<RunPlan> plan_of(const World& world, const Words& options) {
  Words argv = options;
  argv.emplace_back("train.py");
  return plan_run(world.merge(argv).value(), argv, world.around);
}

std::string refusal_of(const World& world, const Words& options) {
  const auto made = plan_of(world, options);
  return made ? "no error" : made.error().what;
}

// A project in a folder, by its canonical path.
struct SomeCode {
  SomeCode() {
    here.write("job/train.py", "pass");
    here.write("job/src/lib/model.py", "pass");
    from = std::filesystem::canonical(here / "job");
  }
  bool move() { return move_code(from, "/cache/code/K", workers); }
  test::ScratchFolder here;
  std::string from;
  wire::WorkerTemplate workers;
};

}  // namespace

TEST_CASE("the folder gets its absolute path, and nodes pass blocks on") {
  World world;
  world.machine.kinds["/job/src"] = PathKind::kDirectory;
  const auto made = plan_of(world, {"--sync-code=src", "--hosts=a,b"});
  REQUIRE_MESSAGE(made.has_value(), made.error().what);
  CHECK(made->sync_code == "/job/src");
  CHECK(made->request.workers.share_blocks);
  CHECK(plan_of(world, {})->sync_code.empty());
}

TEST_CASE("a file, and code that differs between nodes, are refused") {
  World world;
  world.machine.files["/job/a.py"] = "";
  world.machine.kinds["/job/src"] = PathKind::kDirectory;
  CHECK(refusal_of(world, {"--sync-code=src", "--nnodes=2", "--rdzv-backend=c10d",
                           "--rdzv-endpoint=localhost:29400", "--insecure-rdzv"})
            .find("every node has its own command and code") != std::string::npos);
  CHECK(refusal_of(world, {"--sync-code=none"}).find("there is no such folder") !=
        std::string::npos);
  CHECK(refusal_of(world, {"--sync-code=a.py"}).find("not a folder") != std::string::npos);
}

TEST_CASE("paths into the folder are remapped to the unpacked copy, and no others") {
  SomeCode code;
  code.workers.working_directory = code.from + "/src";
  code.workers.program = code.from + "/train.py";
  code.workers.deps = code.from + "/src/requirements.txt";
  code.workers.environment = {"PWD=" + code.from + "/src", "DATA=" + code.from + "/data",
                              "PYTHONPATH=" + code.from + ":lib:/opt/lib:" + code.from + "/src"};
  CHECK(code.move());
  CHECK(code.workers.working_directory == "/cache/code/K/src");
  CHECK(code.workers.program == "/cache/code/K/train.py");
  CHECK(code.workers.deps == "/cache/code/K/src/requirements.txt");
  CHECK(code.workers.environment ==
        Words{"PWD=/cache/code/K/src", "DATA=" + code.from + "/data",
              "PYTHONPATH=/cache/code/K:lib:/opt/lib:/cache/code/K/src"});
}

TEST_CASE("a relative script moves with the working directory, or alone") {
  SomeCode code;
  code.workers.working_directory = code.from;
  code.workers.program = "src/lib/model.py";
  CHECK(code.move());
  CHECK(code.workers.working_directory == "/cache/code/K");
  CHECK(code.workers.program == "src/lib/model.py");
  SomeCode outside;
  outside.workers.working_directory = outside.here.path();
  outside.workers.program = "job/train.py";
  CHECK(outside.move());
  CHECK(outside.workers.working_directory == outside.here.path());
  CHECK(outside.workers.program == "/cache/code/K/train.py");
}

TEST_CASE("a folder with neither of them is not this run's code") {
  SomeCode code;
  code.workers.working_directory = "/";
  code.workers.program = "/usr/bin/train.py";
  CHECK_FALSE(code.move());
  CHECK(code.workers.working_directory == "/");
  // A name with the same beginning.
  code.here.write("job2/x", "");
  code.workers.working_directory = code.from + "2";
  CHECK_FALSE(code.move());
}

}  // namespace robustrun::cli::sync_code_test
