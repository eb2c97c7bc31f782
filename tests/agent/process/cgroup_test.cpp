#include "agent/process/cgroup.h"

#include <doctest/doctest.h>
#include <sys/file.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "agent/process/shim_link.h"
#include "tests/agent/process_tree.h"
#include "tests/paths.h"

namespace robustrun::agent::cgroup_test {
namespace {

namespace fs = std::filesystem;

// A folder with a procfs and a cgroup tree of plain files.
class FakeSystem {
 public:
  FakeSystem() {
    std::string pattern = (fs::temp_directory_path() / "cgroup_test.XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  ~FakeSystem() { fs::remove_all(root_); }
  FakeSystem(const FakeSystem&) = delete;
  FakeSystem& operator=(const FakeSystem&) = delete;

  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  // `path`: our cgroup; `mounted`: the part of the hierarchy that /sys/fs/cgroup shows.
  void describe(const std::string& path, const std::string& mounted = "/") const {
    write("proc/self/cgroup", "5:memory:/v1\n3:cpu,cpuacct:/cpu\n0::" + path + "\n");
    write("proc/self/mountinfo",
          "31 23 0:28 / " + at("tmp") + " rw,mode=755 - tmpfs tmpfs rw\n" + "34 31 0:31 / " +
              at("v1/cpu") + " rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n" + "35 31 0:32 / " +
              at("v1/memory\\040one") + " rw shared:10 - cgroup cgroup rw,memory\n" +
              "41 31 0:38 " + mounted + " " + at("v2") + " rw,relatime - cgroup2 cgroup2 rw\n");
  }
  [[nodiscard]] std::string at(const std::string& file) const { return (root_ / file).string(); }
  [[nodiscard]] std::string proc() const { return at("proc"); }
  [[nodiscard]] std::vector<std::string> folders(const std::string& folder) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(root_ / folder)) {
      if (entry.is_directory()) names.push_back(entry.path().filename());
    }
    return names;
  }

 private:
  fs::path root_;
};

TEST_CASE("our place is found in v2 and in each v1 hierarchy") {
  const FakeSystem system;
  system.describe("/user.slice/job");
  CHECK(own_cgroup("", system.proc())->folder == system.at("v2/user.slice/job"));
  CHECK(own_cgroup("", system.proc())->mount == system.at("v2"));
  CHECK(own_cgroup("memory", system.proc())->folder == system.at("v1/memory one/v1"));
  CHECK(own_cgroup("cpuacct", system.proc())->folder == system.at("v1/cpu/cpu"));
  CHECK_FALSE(own_cgroup("pids", system.proc()));
}

TEST_CASE("in a container the mount shows only a part of the hierarchy") {
  const FakeSystem system;
  system.describe("/docker/abc/inner", "/docker/abc");
  CHECK(own_cgroup("", system.proc())->folder == system.at("v2/inner"));
  system.describe("/elsewhere", "/docker/abc");
  CHECK_FALSE(own_cgroup("", system.proc()));
}

TEST_CASE("garbage in procfs is no cgroup") {
  const FakeSystem system;
  CHECK_FALSE(own_cgroup("", system.proc()));
  system.write("proc/self/cgroup", ":::\n0\n\n0:x\n");
  system.write("proc/self/mountinfo", " - \n1 2 3 - cgroup2\n - cgroup2 a b\n\\04");
  CHECK_FALSE(own_cgroup("", system.proc()));
  CHECK_FALSE(Cgroup::make("run", {0}, {0}, system.proc()));
}

TEST_CASE(
    "a folder per worker is created below ours, and removed with the worker's own folders in it") {
  const FakeSystem system;
  system.describe("/job");
  system.write("v2/job/cgroup.procs", "");
  {
    auto first = Cgroup::make("a/b ü", {3}, {1}, system.proc());
    auto second = Cgroup::make("a/b ü", {4}, {1}, system.proc());
    REQUIRE(first);
    REQUIRE(second);
    const std::string home = "v2/job/robustrun-a_b___." + std::to_string(::getpid());
    CHECK(first->path() == system.at(home + "/a_b___-3-1"));
    CHECK(system.folders(home).size() == 2);
    fs::create_directories(first->path() + "/nested/deeper");
    first->remove();
    CHECK(system.folders(home).size() == 1);
    *first = *std::move(second);
    CHECK(system.folders(home).size() == 1);
  }
  CHECK(system.folders("v2/job").empty());
}

TEST_CASE("cgroups of many workers share one descriptor") {
  const FakeSystem system;
  system.describe("/job");
  system.write("v2/job/cgroup.procs", "");
  const auto descriptors = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = descriptors();
  std::vector<Cgroup> cgroups;
  for (std::uint32_t rank = 0; rank < 16; ++rank) {
    auto made = Cgroup::make("run", {rank}, {0}, system.proc());
    REQUIRE(made);
    cgroups.push_back(*std::move(made));
  }
  CHECK(descriptors() == before + 1);
  cgroups.clear();
  CHECK(descriptors() == before);
}

TEST_CASE("nothing is created where processes could not be moved to") {
  const FakeSystem system;
  system.describe("/job");
  fs::create_directories(system.at("v2/job"));
  CHECK_FALSE(Cgroup::make("run", {0}, {0}, system.proc()));
  CHECK(system.folders("v2/job").empty());
}

TEST_CASE("folders of dead agents are killed and removed, those of living agents are not") {
  const FakeSystem system;
  system.describe("/job");
  system.write("v2/job/cgroup.procs", "");
  const std::string alive = system.at("v2/job/robustrun-x-0-0.1");
  fs::create_directories(alive);
  fs::create_directories(system.at("v2/job/robustrun-x-1-0.1"));
  fs::create_directories(system.at("v2/job/user-folder"));
  system.write("v2/job/robustrun-x-2-0.1/cgroup.kill", "");
  const base::Fd lock(::open(alive.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  REQUIRE(::flock(lock.get(), LOCK_EX) == 0);

  const auto made = Cgroup::make("run", {0}, {0}, system.proc());
  REQUIRE(made);
  CHECK(fs::exists(alive));
  CHECK(fs::exists(system.at("v2/job/user-folder")));
  CHECK_FALSE(fs::exists(system.at("v2/job/robustrun-x-1-0.1")));
  // On a real system the kernel's files disappear with the folder.
  CHECK(*base::read_file(system.at("v2/job/robustrun-x-2-0.1/cgroup.kill"), 9) == "1");
}

TEST_CASE("where this machine has a cgroup v2, a worker runs and dies in its own") {
  auto cgroup = Cgroup::make("test", {0}, {0});
  if (!cgroup) {
    MESSAGE("no cgroup v2 can be made here: not tested");
    return;
  }
  const SubreaperScope subreaper;
  boost::asio::io_context loop{1};
  TreePipe out;
  ShimOptions options;
  options.shim = built_program("robustrun-shim");
  options.argv = {test_helper("shim_tree"), "bomb", "50"};
  options.out_fd = out.write_fd();
  options.cgroup = cgroup->path();
  bool gone = false;
  ShimLink::Handlers handlers;
  handlers.on_notice = [](const std::string& what) { FAIL_CHECK(what); };
  handlers.on_gone = [&](unsigned, const std::string&) { gone = true; };
  auto link = ShimLink::start(loop.get_executor(), options, std::move(handlers));
  REQUIRE(link);
  out.close_write_end();
  REQUIRE(out.wait_for_bytes(50));
  CHECK(fs::exists(cgroup->path() + "/cgroup.procs"));
  SUBCASE("by kill_tree") { (*link)->kill_tree(); }
  SUBCASE("after its shim was killed") { ::kill((*link)->shim_pid(), SIGKILL); }
  REQUIRE(run_until(loop, [&] { return gone; }));
  CHECK(out.ended());
  const std::string path = cgroup->path();
  cgroup->remove();
  CHECK_FALSE(fs::exists(path));
}

}  // namespace
}  // namespace robustrun::agent::cgroup_test
