#include "agent/image/container_command.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "agent/image/tree.h"
#include "tests/scratch_folder.h"

namespace robustrun::agent::container_command_test {

namespace {

using Kind = ImageEntry::Kind;
using Tree = std::map<std::string, std::vector<ImageEntry>>;

// A small system: a Debian's root, and an empty /home.
const Tree kSystem = {
    {"/",
     {{"bin", Kind::kLink, "usr/bin"},
      {"etc", Kind::kFolder, {}},
      {"home", Kind::kFolder, {}},
      {"opt", Kind::kFolder, {}},
      {"tmp", Kind::kFolder, {}},
      {"usr", Kind::kFolder, {}}}},
    {"/etc", {{"passwd", Kind::kOther, {}}, {"ssl", Kind::kFolder, {}}}},
    {"/home", {}},
    {"/opt", {{"venv", Kind::kFolder, {}}}},
    {"/opt/venv", {{"bin", Kind::kFolder, {}}}},
    {"/opt/venv/bin", {{"python3", Kind::kLink, "/usr/bin/python3"}}},
    {"/tmp", {}},
    {"/usr", {{"bin", Kind::kFolder, {}}, {"lib", Kind::kFolder, {}}}},
    {"/usr/bin", {{"python3", Kind::kOther, {}}}},
    {"/usr/lib", {}},
};

ListImage list_of(const Tree& tree) {
  return [&tree](const std::string& folder) {
    const auto found = tree.find(folder);
    return found == tree.end() ? std::vector<ImageEntry>{} : found->second;
  };
}

wire::WorkerTemplate workers_at(const std::string& folder) {
  wire::WorkerTemplate workers;
  workers.program = "train.py";
  workers.working_directory = folder;
  workers.python_path = "/opt/rr/share/robustrun/python";
  workers.environment = {"HOME=/home/ada", "PATH=/home/ada/bin:/usr/bin"};
  return workers;
}

ContainerNeeds needs() {
  ContainerNeeds needs;
  needs.runtime_directory = "/run/user/7/robustrun/x";
  needs.mounts_directory = "/run/user/7/robustrun/mounts";
  needs.shim = "/opt/rr/bin/robustrun-shim";
  return needs;
}

// Where `words` occur in sequence.
bool has_words(const std::vector<std::string>& argv, const std::vector<std::string>& words) {
  return !std::ranges::search(argv, words).empty();
}

std::size_t place(const std::vector<std::string>& argv, const std::string& target) {
  return static_cast<std::size_t>(std::ranges::find(argv, target) - argv.begin());
}

bool has_target(const std::vector<ContainerBind>& binds, const std::string& target) {
  return std::ranges::any_of(binds, [&](const auto& bind) { return bind.target == target; });
}

std::vector<std::string> bwrap_of(std::vector<ContainerBind> binds) {
  const auto argv =
      bwrap_argv({"/usr/bin/bwrap", "/m/root", std::move(binds)}, list_of(kSystem), {"/shim"});
  REQUIRE(argv);
  return *argv;
}

}  // namespace

TEST_CASE("workers in a container see what they need of their machine under the same name") {
  auto workers = workers_at("/home/ada/job");
  workers.container_mounts = {"/data:/mnt/data:ro"};
  const auto binds = container_binds(workers, needs());
  REQUIRE(binds);
  for (const char* path :
       {"/dev", "/proc", "/sys", "/tmp", "/home/ada", "/home/ada/job", "/opt/rr/share/robustrun",
        "/opt/rr/bin/robustrun-shim", "/run/user/7/robustrun/x", "/mnt/data"}) {
    CAPTURE(path);
    CHECK(has_target(*binds, path));
  }
  const auto data = std::ranges::find(*binds, std::string("/mnt/data"), &ContainerBind::target);
  CHECK(*data == ContainerBind{"/data", "/mnt/data", true, false});
}

TEST_CASE("files beside a list of dependencies are visible, and replace no other mount") {
  auto workers = workers_at("/srv/ada/job");
  const auto binds_with = [&](const char* deps) {
    workers.deps = deps;
    return container_binds(workers, needs()).value();
  };
  CHECK(has_target(binds_with("/srv/lists/a/uv.lock"), "/srv/lists/a"));
  CHECK(has_target(binds_with("/data/requirements.txt"), "/data"));
  CHECK_FALSE(has_target(binds_with("/etc/requirements.txt"), "/etc"));
  CHECK_FALSE(has_target(binds_with("/usr/local/requirements.txt"), "/usr/local"));
  CHECK_FALSE(has_target(binds_with("/opt/conda/environment.yml"), "/opt/conda"));
  const auto binds = binds_with("/srv/ada/job/uv.lock");
  const auto job = std::ranges::find(binds, std::string("/srv/ada/job"), &ContainerBind::target);
  REQUIRE(job != binds.end());
  CHECK(*job == ContainerBind{"/srv/ada/job", "/srv/ada/job", false, false});
}

TEST_CASE("outer folders come first, and folders that they already show are not mounted again") {
  auto workers = workers_at("/tmp/job/deep");
  const auto binds = container_binds(workers, needs());
  REQUIRE(binds);
  CHECK_FALSE(has_target(*binds, "/tmp/job/deep"));
  const auto by_length = [](const auto& a, const auto& b) {
    return a.target.size() < b.target.size();
  };
  CHECK(std::ranges::is_sorted(*binds, by_length));
}

TEST_CASE("the root as working directory, or an invalid home, hides nothing of the image") {
  auto workers = workers_at("/");
  workers.environment = {"HOME=/"};
  const auto binds = container_binds(workers, needs());
  REQUIRE(binds);
  CHECK_FALSE(has_target(*binds, "/"));
  CHECK_FALSE(has_target(*binds, ""));
}

TEST_CASE("a mount is SOURCE:TARGET[:ro]") {
  CHECK(*parse_container_mount("/a/") == ContainerBind{"/a", "/a", false, false});
  CHECK(*parse_container_mount("/a:/b") == ContainerBind{"/a", "/b", false, false});
  CHECK(parse_container_mount("/a:/b:ro")->read_only);
  CHECK_FALSE(parse_container_mount("/a:/b:rw")->read_only);
  for (const char* text : {"", "a", "/a:b", "/a:/", "/a:/b:no", "/a:/b:ro:x", ":/b"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_container_mount(text));
  }
}

TEST_CASE("folders that the image lacks are created beside the existing ones") {
  const auto argv = bwrap_of({{"/tmp", "/tmp"}, {"/home/ada", "/home/ada"}, {"/job", "/job"}});
  CHECK(has_words(argv, {"--ro-bind", "/m/root/usr", "/usr"}));
  CHECK(has_words(argv, {"--symlink", "usr/bin", "/bin"}));
  CHECK(has_words(argv, {"--dir", "/home"}));  // nothing can be created in the image's own
  CHECK_FALSE(has_words(argv, {"/m/root/home", "/home"}));
  CHECK_FALSE(has_words(argv, {"/m/root/tmp", "/tmp"}));  // covered anyway
  CHECK(has_words(argv, {"--dev-bind", "/home/ada", "/home/ada"}));
  CHECK(place(argv, "/m/root/usr") < place(argv, "--dev-bind"));
  CHECK(argv.back() == "/shim");
  CHECK(argv[argv.size() - 2] == "--");
}

TEST_CASE("a target that exists in the image is covered without laying out its folder") {
  const auto argv = bwrap_of({{"/etc/passwd", "/etc/passwd", true, true}});
  CHECK(has_words(argv, {"--ro-bind", "/m/root/etc", "/etc"}));
  CHECK(has_words(argv, {"--ro-bind-try", "/etc/passwd", "/etc/passwd"}));
}

TEST_CASE("a folder is laid out down to the one that lacks the target, and no further") {
  const auto argv = bwrap_of({{"/x", "/usr/lib/robustrun"}});
  CHECK(has_words(argv, {"--dir", "/usr"}));
  CHECK(has_words(argv, {"--ro-bind", "/m/root/usr/bin", "/usr/bin"}));
  CHECK(has_words(argv, {"--dir", "/usr/lib"}));
  CHECK(has_words(argv, {"--ro-bind", "/m/root/opt", "/opt"}));
}

TEST_CASE("a link in the path of a target is replaced by a folder") {
  const auto argv = bwrap_of({{"/x", "/bin/tool"}});
  CHECK_FALSE(has_words(argv, {"--symlink", "usr/bin", "/bin"}));
  CHECK(has_words(argv, {"--dev-bind", "/x", "/bin/tool"}));
}

TEST_CASE("an image with more entries than a command line takes is refused") {
  Tree wide = {{"/", {{"big", Kind::kFolder, {}}}}, {"/big", {}}};
  for (int i = 0; i < 5000; ++i) wide["/big"].push_back({std::to_string(i), Kind::kOther, {}});
  const auto argv =
      bwrap_argv({"/usr/bin/bwrap", "/m/root", {{"/x", "/big/x"}}}, list_of(wide), {"/shim"});
  REQUIRE_FALSE(argv);
  CHECK(argv.error().code == base::Errc::kLimit);
}

TEST_CASE("Apptainer gets the mounts, the folder and the image before the worker's command") {
  const ContainerCommand container{
      "/usr/bin/apptainer", "/m/root", {{"/job", "/job"}, {"/sys", "/sys", true}}};
  CHECK(apptainer_prefix(container, "/job", true) ==
        std::vector<std::string>{"/usr/bin/apptainer", "exec", "--no-home", "--pwd", "/job", "--nv",
                                 "--bind", "/job:/job:rw", "--bind", "/sys:/sys:ro", "/m/root"});
}

TEST_CASE("enroot gets the mounted image as one of its containers, and changes to the folder") {
  const ContainerCommand container{"/usr/bin/enroot", "/m/root", {{"/job", "/job"}}};
  CHECK(enroot_prefix(container, "/job", {"RANK"}) ==
        std::vector<std::string>{"/usr/bin/env", "ENROOT_DATA_PATH=/m", "/usr/bin/enroot", "start",
                                 "--mount", "/job:/job:none:rbind,x-create=auto,rw", "--env",
                                 "RANK", "root", "/bin/sh", "-c", "cd \"$0\" && exec \"$@\"",
                                 "/job"});
}

TEST_CASE("a system's image is recognised by files that only systems have") {
  CHECK(is_system_root(list_of(kSystem)));
  const Tree packages = {{"/", {{"bin", Kind::kFolder, {}}}},
                         {"/bin", {{"python3", Kind::kLink, "python3.11"}}}};
  CHECK_FALSE(is_system_root(list_of(packages)));
}

TEST_CASE("the interpreter of an environment in the image precedes the system's") {
  wire::WorkerTemplate workers = workers_at("/job");
  workers.image = "/images/a.sqsh";
  CHECK(*find_interpreter_in(list_of(kSystem), workers, true) == "/opt/venv/bin/python3");
  const Tree packages = {{"/", {{"bin", Kind::kFolder, {}}}},
                         {"/bin", {{"python", Kind::kOther, {}}}}};
  CHECK(*find_interpreter_in(list_of(packages), workers, false) == "/bin/python");
  workers.environment = {"PYTHON_EXEC=/usr/bin/python3"};
  CHECK(*find_interpreter_in(list_of(kSystem), workers, true) == "/usr/bin/python3");
  workers.environment = {"PYTHON_EXEC=/usr/bin/python9"};
  const auto none = find_interpreter_in(list_of(kSystem), workers, true);
  REQUIRE_FALSE(none);
  CHECK(none.error().what.starts_with(
      "cannot find the interpreter PYTHON_EXEC=/usr/bin/python9 in the image /images/a.sqsh"));
}

TEST_CASE("a tree of packages comes first on PATH, and a container has its own") {
  const auto workers = workers_at("/job");
  const auto tree = with_image(workers, "/m/root", "/bin/python3", false);
  CHECK(tree.interpreter == "/m/root/bin/python3");
  CHECK(std::ranges::find(tree.environment, "PATH=/m/root/bin:/home/ada/bin:/usr/bin") !=
        tree.environment.end());
  const auto inside = with_image(workers, "/m/root", "/opt/venv/bin/python3", true);
  CHECK(inside.interpreter == "/opt/venv/bin/python3");
  const auto path = std::ranges::find_if(inside.environment, [](const std::string& entry) {
    return entry.starts_with("PATH=/opt/venv/bin:/usr/local/sbin:");
  });
  CHECK(path != inside.environment.end());
  wire::WorkerTemplate program = workers;
  program.mode = wire::LaunchMode::kExecutable;
  CHECK(with_image(program, "/m/root", "", false).interpreter.empty());
}

TEST_CASE("a container's absolute links lead to folders of the image, a tree's out of it") {
  const test::ScratchFolder here;
  here.write("outside/bin/python3", "");
  here.write("root/etc/passwd", "");
  here.write("root/srv/venv/bin/python3", "");
  std::filesystem::create_directories(here / "root/opt");
  std::filesystem::create_directory_symlink("/srv/venv", here / "root/opt/venv");
  std::filesystem::create_directory_symlink(here / "outside/bin", here / "root/bin");
  const std::string root = here / "root";
  const ListImage inside = list_image(root, ImageLinks::kInside);
  CHECK(is_system_root(inside));
  CHECK(find_interpreter_in(inside, {}, true).value() == "/opt/venv/bin/python3");
  CHECK(inside("/bin").empty());
  CHECK(inside("/none").empty());
  std::vector<std::string> names;
  for (const ImageEntry& entry : inside("/")) names.push_back(entry.name);
  CHECK(names == std::vector<std::string>{"bin", "etc", "opt", "srv"});
  CHECK(inside("/")[0].kind == ImageEntry::Kind::kLink);
  CHECK(inside("/")[0].link == here / "outside/bin");

  const ListImage as_is = list_image(root, ImageLinks::kAsHere);
  CHECK(find_interpreter_in(as_is, {}, false).value() == "/bin/python3");
}

}  // namespace robustrun::agent::container_command_test
