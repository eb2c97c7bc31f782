#include "cli/plan/program.h"

#include <doctest/doctest.h>

#include "tests/cli/fakes.h"

namespace robustrun::cli::program_test {

using testing::World;
using wire::LaunchMode;

namespace {

base::Result<Program> find(const World& world, const std::vector<std::string>& argv) {
  return find_program(world.merge(argv).value(), world.around, CountOn::kThisMachine);
}

std::string error_of(const World& world, const std::vector<std::string>& argv) {
  const auto program = find(world, argv);
  return program ? "no error" : program.error().what;
}

}  // namespace

TEST_CASE("the launch mode follows the flags, and --run-path wins") {
  World world;
  world.machine.executables.insert("/usr/bin/true");
  CHECK(find(world, {"train.py"})->mode == LaunchMode::kScript);
  CHECK(find(world, {"-m", "pkg.train"})->mode == LaunchMode::kModule);
  CHECK(find(world, {"--no-python", "true"})->mode == LaunchMode::kExecutable);
  CHECK(find(world, {"--run-path", "--no-python", "train.py"})->mode == LaunchMode::kRunPath);
  CHECK(
      error_of(world, {"-m", "--no-python", "x"})
          .find(
              "Don't use both the '--no-python' flag and the '--module' flag at the same time.") !=
      std::string::npos);
}

TEST_CASE("the interpreter is PYTHON_EXEC, the virtual environment's, python3 or python") {
  World world;
  CHECK(*find_interpreter(world.around) == "/usr/bin/python3");
  world.machine.executables = {"/usr/bin/python"};
  CHECK(*find_interpreter(world.around) == "/usr/bin/python");
  world.machine.executables = {"/usr/bin/python3", "/venv/bin/python", "/usr/bin/python3.12",
                               "/job/tools/py"};
  world.around.environment.push_back("VIRTUAL_ENV=/venv");
  CHECK(*find_interpreter(world.around) == "/venv/bin/python");
  world.around.environment.back() = "VIRTUAL_ENV=/gone";
  CHECK(*find_interpreter(world.around) == "/usr/bin/python3");
  world.around.environment.push_back("PYTHON_EXEC=python3.12");
  CHECK(*find_interpreter(world.around) == "/usr/bin/python3.12");
  world.around.environment.back() = "PYTHON_EXEC=tools/py";
  CHECK(*find_interpreter(world.around) == "/job/tools/py");
  world.around.environment.back() = "PYTHON_EXEC=/no/python";
  CHECK(find_interpreter(world.around)
            .error()
            .what.starts_with("cannot find the interpreter PYTHON_EXEC=/no/python"));
  world.around.environment = {"PATH=/empty"};
  CHECK(find_interpreter(world.around).error().what.find("python3 nor python") !=
        std::string::npos);
}

TEST_CASE("the environment that pipx or uv made for robustrun alone gives no interpreter") {
  World world;
  const auto interpreter = [&world](const std::string& environment, const std::string& note) {
    world.machine.kinds = {{environment + note, PathKind::kFile},
                           {environment + "/pyvenv.cfg", PathKind::kFile}};
    world.machine.executables = {environment + "/bin/python3", "/usr/bin/python3"};
    world.around.executable = environment + "/bin/robustrun";
    world.around.environment = {"PATH=" + environment + "/bin:/usr/bin"};
    return find_interpreter(world.around).value_or("none");
  };
  CHECK(interpreter("/pipx/venvs/robustrun", "/pipx_metadata.json") == "/usr/bin/python3");
  CHECK(interpreter("/uv/tools/robustrun", "/uv-receipt.toml") == "/usr/bin/python3");
  CHECK(interpreter("/cache/uv/archive-v0/x1", "/pyvenv.cfg") == "/usr/bin/python3");
  CHECK(interpreter("/home/me/venv", "/pyvenv.cfg") == "/home/me/venv/bin/python3");
  world.around.environment.push_back("VIRTUAL_ENV=/pipx/venvs/robustrun");  // the user's choice
  world.around.executable = "/pipx/venvs/robustrun/bin/robustrun";
  world.machine.executables = {"/pipx/venvs/robustrun/bin/python"};
  CHECK(*find_interpreter(world.around) == "/pipx/venvs/robustrun/bin/python");
}

TEST_CASE("a script that cannot be run is refused with the reason") {
  World world;
  CHECK(error_of(world, {"nosuch.py"}) ==
        "cannot start nosuch.py: No such file or directory in /job; check the path; for a module "
        "use -m");
  world.machine.kinds["/job/dir"] = PathKind::kDirectory;
  CHECK(error_of(world, {"dir"}).find("directory without __main__.py") != std::string::npos);
  world.machine.files["/job/dir/__main__.py"] = "";
  CHECK(error_of(world, {"dir"}) == "no error");
  world.machine.kinds["/job/locked.py"] = PathKind::kUnreadableFile;
  CHECK(error_of(world, {"locked.py"}).find("permission denied") != std::string::npos);
  CHECK(error_of(world, {"${local_rank}.py"}) == "no error");
  CHECK(error_of(world, {"-m", "nosuch"}) == "no error");
}

TEST_CASE("a missing script with almost the name of a subcommand is taken for that") {
  World world;
  CHECK(error_of(world, {"statsu"}) ==
        "cannot start statsu: No such file or directory in /job; did you mean robustrun status?");
  world.around.program_name = "torchrun";
  CHECK(error_of(world, {"statsu"}).ends_with("for a module use -m"));
}

TEST_CASE("an executable is looked up on PATH or by its path") {
  World world;
  world.machine.executables.insert("/job/bin/tool");
  CHECK(error_of(world, {"--no-python", "bin/tool"}) == "no error");
  CHECK(error_of(world, {"--no-python", "nosuch"}) ==
        "cannot start nosuch: no such program on PATH; write ./nosuch for one in this directory");
  CHECK(error_of(world, {"--no-python", "/job/nosuch"}).find("No such file") != std::string::npos);
  CHECK(error_of(world, {"--no-python", "/job/train.py"}).find("chmod +x") != std::string::npos);
}

TEST_CASE("workers per node: numbers and words") {
  World world;
  const auto count = [&](const char* value) {
    const auto program = find(world, {std::string("--nproc-per-node=") + value, "train.py"});
    return program ? static_cast<int>(program->workers) : -1;
  };
  CHECK(count("1") == 1);
  CHECK(count(" 8 ") == 8);
  CHECK(count("cpu") == 12);
  CHECK(count("auto") == 12);
  for (const char* bad : {"0", "-1", "5000", "", "banana", "1.5", "GPU", "2 3"}) {
    INFO(bad);
    CHECK(count(bad) == -1);
  }
  world.machine.accelerators["auto"] = {Devices::State::kCounted, 4};
  world.machine.accelerators["gpu"] = {Devices::State::kCounted, 4};
  world.machine.accelerators["npu"] = {Devices::State::kCounted, 16};
  CHECK(count("auto") == 4);
  CHECK(count("gpu") == 4);
  CHECK(count("npu") == 16);
  world.machine.accelerators["gpu"] = {Devices::State::kCounted, 0};
  CHECK(count("gpu") == -1);
}

TEST_CASE("workers per node: errors keep torchrun's words and say what is valid") {
  World world;
  CHECK(error_of(world, {"--nproc-per-node=banana", "train.py"}) ==
        "cannot use --nproc-per-node=banana: Unsupported nproc_per_node value: banana; valid are a "
        "number of workers, auto, cpu, gpu, xpu, or the name of your PyTorch backend");
  CHECK(error_of(world, {"--nproc-per-node=atuo", "train.py"}).find("did you mean auto?") !=
        std::string::npos);
  CHECK(error_of(world, {"--nproc-per-node=gpu", "train.py"}).find("Cuda is not available.") !=
        std::string::npos);
  CHECK(error_of(world, {"--nproc-per-node=xpu", "train.py"}).find("Xpu is not available.") !=
        std::string::npos);
  world.around.environment.push_back("PET_NPROC_PER_NODE=many");
  CHECK(error_of(world, {"train.py"}).starts_with("cannot use PET_NPROC_PER_NODE=many: "));
}

TEST_CASE("devices are counted for executables as well, if there is an interpreter") {
  World world;
  world.machine.executables.insert("/usr/bin/true");
  world.machine.accelerators["gpu"] = {Devices::State::kCounted, 2};
  const std::vector<std::string> argv{"--no-python", "--nproc-per-node=gpu", "true"};
  CHECK(find(world, argv)->workers == 2);
  CHECK(find(world, argv)->interpreter.empty());
  world.machine.executables = {"/usr/bin/true"};
  CHECK(error_of(world, argv).find("no Python interpreter to ask") != std::string::npos);
}

TEST_CASE("where every host counts for itself, this machine is not asked") {
  World world;
  const auto on_hosts = [&](const char* value) {
    return find_program(world.merge({std::string("--nproc-per-node=") + value, "train.py"}).value(),
                        world.around, CountOn::kEveryHost)
        .value();
  };
  CHECK(on_hosts("3").workers == 3);
  CHECK(on_hosts("3").count.empty());
  // There is no GPU here, and no error either.
  CHECK(on_hosts(" gpu ").workers == 0);
  CHECK(on_hosts(" gpu ").count == "gpu");
  CHECK(on_hosts("gpu").count_interpreter == on_hosts("gpu").interpreter);
}

}  // namespace robustrun::cli::program_test
