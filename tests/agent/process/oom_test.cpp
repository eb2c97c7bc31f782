#include "agent/process/oom.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "agent/process/cgroup.h"
#include "agent/process/shim_link.h"
#include "tests/agent/process_tree.h"
#include "tests/paths.h"

namespace robustrun::agent::oom_test {
namespace {

namespace fs = std::filesystem;
using wire::OomKiller;

constexpr pid_t kWorker = 4711;

// A procfs, cgroup trees and a kernel log of plain files. At first they hold no evidence: only what
// a test writes is readable.
class FakeSystem {
 public:
  FakeSystem() {
    std::string pattern = (fs::temp_directory_path() / "oom_test.XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    write("proc/self/cgroup", "5:memory:/job\n0::/slice/job\n");
    write("proc/self/mountinfo", "35 31 0:32 / " + at("v1") +
                                     " rw shared:10 - cgroup cgroup rw,memory\n" + "41 31 0:38 / " +
                                     at("v2") + " rw,relatime - cgroup2 cgroup2 rw\n");
  }
  ~FakeSystem() { fs::remove_all(root_); }
  FakeSystem(const FakeSystem&) = delete;
  FakeSystem& operator=(const FakeSystem&) = delete;

  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  void append(const std::string& file, const std::string& text) const {
    std::ofstream(root_ / file, std::ios::app) << text;
  }
  void in_pid_namespace(const std::string& inode) const {
    fs::create_directories(root_ / "proc/self/ns");
    fs::create_symlink("pid:[" + inode + "]", root_ / "proc/self/ns/pid");
  }
  void machine_kills(int count) const {
    write("proc/vmstat", "pgfault 12\noom_kill " + std::to_string(count) + "\n");
  }
  void v2(const std::string& folder, int oom, int oom_kill) const {
    write("v2/" + folder + "/memory.events", "low 0\nhigh 3\nmax 9\noom " + std::to_string(oom) +
                                                 "\noom_kill " + std::to_string(oom_kill) +
                                                 "\noom_group_kill 0\n");
  }
  void v1(int failures, int oom_kill) const {
    write("v1/job/memory.failcnt", std::to_string(failures) + "\n");
    write("v1/job/memory.oom_control",
          "oom_kill_disable 0\nunder_oom 0\noom_kill " + std::to_string(oom_kill) + "\n");
  }
  void process(pid_t pid, pid_t parent, pid_t process_group) const {
    write("proc/" + std::to_string(pid) + "/stat", std::to_string(pid) + " (a ) name) S " +
                                                       std::to_string(parent) + " " +
                                                       std::to_string(process_group) + " 1 0 -1\n");
  }
  // Writes our cgroup's counters.
  void members(const std::vector<pid_t>& pids) const {
    std::string text;
    for (const pid_t pid : pids) text += std::to_string(pid) + "\n";
    write("v1/job/cgroup.procs", text);
    write("v2/slice/job/cgroup.procs", text);
  }
  // Our process and our worker, started by init.
  void alone() const {
    process(::getpid(), 1, ::getpid());
    process(kWorker, ::getpid(), kWorker);
    members({::getpid(), kWorker});
  }
  [[nodiscard]] std::string at(const std::string& file) const { return (root_ / file).string(); }
  [[nodiscard]] OomWatch watch(const std::string& worker_cgroup = "") const {
    return OomWatch::begin(worker_cgroup.empty() ? "" : at(worker_cgroup),
                           {.proc = at("proc"), .kmsg = at("kmsg")});
  }

 private:
  fs::path root_;
};

std::string fixture(const std::string& name) {
  return *base::read_file(in_source("tests/fixtures/oom/") + name, 1 << 20);
}

OomKiller in_log(const std::string& name, pid_t pid) {
  const FakeSystem system;
  system.in_pid_namespace("4026531836");
  system.machine_kills(7);
  system.write("kmsg", "6,1,1,-;older\n");
  OomWatch watch = system.watch();
  system.append("kmsg", fixture(name));
  return watch.killed({pid});
}

TEST_CASE(
    "the kernel's log distinguishes its own OOM killer from a cgroup's, in old and new kernels") {
  CHECK(in_log("kmsg-6.18-cgroup.txt", 17932) == OomKiller::kCgroup);
  CHECK(in_log("kmsg-5.15-kernel.txt", 48213) == OomKiller::kKernel);
  CHECK(in_log("kmsg-4.18-both.txt", 7711) == OomKiller::kCgroup);
  CHECK(in_log("kmsg-4.18-both.txt", 8822) == OomKiller::kKernel);
}

TEST_CASE("a pid that is only part of a pid in the log does not match") {
  CHECK(in_log("kmsg-6.18-cgroup.txt", 1793) == OomKiller::kNo);
  CHECK(in_log("kmsg-6.18-cgroup.txt", 7932) == OomKiller::kNo);
  CHECK(in_log("kmsg-5.15-kernel.txt", 821) == OomKiller::kNo);
}

TEST_CASE("log lines from before the worker's start concern other processes") {
  const FakeSystem system;
  system.in_pid_namespace("4026531836");
  system.machine_kills(7);
  system.write("kmsg", fixture("kmsg-6.18-cgroup.txt"));
  OomWatch watch = system.watch();
  CHECK(watch.killed({17932}) == OomKiller::kNo);
}

TEST_CASE("within a pid namespace of our own the log's pids are not ours") {
  const FakeSystem system;
  system.in_pid_namespace("4026532200");
  system.machine_kills(7);
  system.write("kmsg", "");
  OomWatch watch = system.watch();
  system.append("kmsg", fixture("kmsg-6.18-cgroup.txt"));
  CHECK(watch.killed({17932}) == OomKiller::kNo);
}

TEST_CASE("a kill in the worker's own cgroup is attributed by the limit that was hit") {
  const FakeSystem system;
  system.machine_kills(0);
  system.v2("slice", 4, 4);
  system.v2("slice/job", 0, 0);
  system.v2("slice/job/worker", 0, 0);
  OomWatch watch = system.watch("v2/slice/job/worker");
  CHECK(watch.killed({kWorker}) == OomKiller::kNo);
  system.machine_kills(1);
  system.v2("slice/job/worker", 0, 1);
  SUBCASE("none: the machine was out of memory") {
    CHECK(watch.killed({kWorker}) == OomKiller::kKernel);
  }
  SUBCASE("its own") {
    system.v2("slice/job/worker", 1, 1);
    CHECK(watch.killed({kWorker}) == OomKiller::kCgroup);
  }
  SUBCASE("the limit of a cgroup above us") {
    system.v2("slice", 5, 5);
    CHECK(watch.killed({kWorker}) == OomKiller::kCgroup);
  }
}

TEST_CASE("the kernel's log decides: it attributes the kill to another process") {
  const FakeSystem system;
  system.in_pid_namespace("4026531836");
  system.machine_kills(7);
  system.v2("slice/job", 0, 0);
  system.v2("slice/job/worker", 0, 0);
  system.write("kmsg", "");
  OomWatch watch = system.watch("v2/slice/job/worker");
  system.append("kmsg", fixture("kmsg-6.18-cgroup.txt"));
  system.machine_kills(8);
  system.v2("slice/job", 1, 1);
  system.v2("slice/job/worker", 1, 1);
  CHECK(watch.killed({kWorker}) == OomKiller::kNo);
}

TEST_CASE("a kill outside the worker's own cgroup is another worker's, or another program's") {
  const FakeSystem system;
  system.alone();
  system.machine_kills(0);
  system.v2("slice/job", 1, 1);
  system.v2("slice/job/worker", 0, 0);
  OomWatch watch = system.watch("v2/slice/job/worker");
  system.machine_kills(1);
  system.v2("slice/job", 2, 2);
  CHECK(watch.killed({kWorker}) == OomKiller::kNo);
}

TEST_CASE("a kill in the cgroup that we share counts when no other program is in it") {
  const FakeSystem system;
  system.machine_kills(0);
  system.alone();
  SUBCASE("v2") {
    system.v2("slice/job", 1, 1);
    OomWatch watch = system.watch();
    CHECK(watch.killed({kWorker}) == OomKiller::kNo);
    system.machine_kills(1);
    system.v2("slice/job", 1, 2);
    CHECK(watch.killed({kWorker}) == OomKiller::kKernel);
    system.v2("slice/job", 2, 2);
    CHECK(watch.killed({kWorker}) == OomKiller::kCgroup);
    // It sums up the cgroups below; the local count says that the kill was in this one.
    system.write("v2/slice/job/memory.events.local", "oom 0\noom_kill 1\n");
    CHECK(watch.killed({kWorker}) == OomKiller::kNo);
  }
  SUBCASE("v1") {
    system.v1(10, 1);
    OomWatch watch = system.watch();
    CHECK(watch.killed({kWorker}) == OomKiller::kNo);
    system.machine_kills(1);
    system.v1(50, 2);
    CHECK(watch.killed({kWorker}) == OomKiller::kCgroup);
  }
}

TEST_CASE("a kill in a cgroup that other programs share, too, is no evidence") {
  const FakeSystem system;
  system.machine_kills(0);
  system.v2("slice/job", 1, 1);
  const auto kill_one = [&] {
    system.machine_kills(1);
    system.v2("slice/job", 2, 2);
  };
  SUBCASE("a program that was there when the worker began, and is gone: it may have been the one") {
    system.alone();
    system.process(900, 1, 900);
    system.members({::getpid(), kWorker, 900});
    OomWatch watch = system.watch();
    kill_one();
    system.alone();
    CHECK(watch.killed({kWorker}) == OomKiller::kUnknown);
  }
  SUBCASE("a program that has come since") {
    system.alone();
    OomWatch watch = system.watch();
    kill_one();
    system.process(900, 1, 900);
    system.members({::getpid(), kWorker, 900});
    CHECK(watch.killed({kWorker}) == OomKiller::kUnknown);
  }
  SUBCASE("but not the shell that started us, the program it pipes us to, or ended processes") {
    system.alone();
    system.process(::getpid(), 800, 800);
    system.process(800, 1, 800);
    system.process(801, 799, 800);
    system.members({::getpid(), kWorker, 800, 801, 66});
    OomWatch watch = system.watch();
    kill_one();
    CHECK(watch.killed({kWorker}) == OomKiller::kCgroup);
  }
  SUBCASE("its members cannot be read") {
    OomWatch watch = system.watch();
    kill_one();
    CHECK(watch.killed({kWorker}) == OomKiller::kUnknown);
  }
}

TEST_CASE("children named in the last output are looked for like the worker") {
  const auto pids = [](const char* words) { return killed_children(words); };
  CHECK(pids("RuntimeError: DataLoader worker (pid 4711) is killed by signal: Killed. ") ==
        std::vector<pid_t>{4711});
  CHECK(pids("x\nRuntimeError: DataLoader worker (pid(s) 12, 345) exited unexpectedly\ny") ==
        std::vector<pid_t>{12, 345});
  CHECK(pids("A process in the process pool was terminated abruptly while") ==
        std::vector<pid_t>{});
  CHECK(pids("DataLoader worker (pid") == std::vector<pid_t>{});
  CHECK_FALSE(pids("ValueError: pid 4711").has_value());
  const FakeSystem system;
  system.in_pid_namespace("4026531836");
  system.machine_kills(7);
  system.write("kmsg", "");
  OomWatch watch = system.watch();
  CHECK(watch.killed({17931, 17932}) == OomKiller::kNo);
  system.append("kmsg", fixture("kmsg-6.18-cgroup.txt"));
  CHECK(watch.killed({17931, 17932}) == OomKiller::kCgroup);
}

TEST_CASE("a child without a pid counts as a kill in the worker's own cgroup") {
  const FakeSystem system;
  system.in_pid_namespace("4026531836");
  system.machine_kills(7);
  system.v2("slice/job", 0, 0);
  system.v2("slice/job/worker", 0, 0);
  system.write("kmsg", "");
  OomWatch watch = system.watch("v2/slice/job/worker");
  CHECK(watch.killed({}) == OomKiller::kNo);
  system.v2("slice/job/worker", 1, 1);
  CHECK(watch.killed({}) == OomKiller::kCgroup);
}

TEST_CASE("a kill somewhere on the machine is not the worker's when its cgroup had none") {
  const FakeSystem system;
  system.machine_kills(0);
  system.v1(0, 0);
  OomWatch watch = system.watch();
  system.machine_kills(1);
  CHECK(watch.killed({kWorker}) == OomKiller::kNo);
}

TEST_CASE("a kill on the machine without any other evidence is not attributed") {
  const FakeSystem system;
  system.machine_kills(3);
  OomWatch watch = system.watch();
  CHECK(watch.killed({kWorker}) == OomKiller::kNo);
  system.machine_kills(4);
  CHECK(watch.killed({kWorker}) == OomKiller::kUnknown);
}

TEST_CASE("without readable sources nothing is known") {
  const FakeSystem system;
  CHECK(system.watch().killed({kWorker}) == OomKiller::kUnknown);
  system.write("proc/vmstat", "oom_kill many\n");
  CHECK(system.watch().killed({kWorker}) == OomKiller::kUnknown);
}

TEST_CASE("any bytes are a record that says nothing") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::string parts[] = {
      "oom-kill:constraint=", ",pid=", "Killed process ", "4711", "\xff", ""};
  for (int i = 0; i < 2000; ++i) {
    std::string record;
    for (int n = 0; n < 4; ++n) record += parts[random() % 6];
    CHECK(oom_killer_in_record(record, 1) == OomKiller::kNo);
  }
}

TEST_CASE("where this machine has memory cgroups v1, a real kill is attributed to the cgroup") {
  const auto place = own_cgroup("memory");
  const std::string folder = place ? place->folder + "/oom_test." + std::to_string(::getpid()) : "";
  if (!place || ::mkdir(folder.c_str(), 0755) != 0) {
    MESSAGE("no memory cgroup can be made here: not tested");
    return;
  }
  std::ofstream(folder + "/memory.limit_in_bytes") << "16M";
  const SubreaperScope subreaper;
  boost::asio::io_context loop{1};
  ShimOptions options;
  options.shim = built_program("robustrun-shim");
  options.argv = {test_helper("shim_tree"), "hog"};
  options.cgroup = folder;
  OomWatch watch = OomWatch::begin("");
  pid_t worker = 0;
  bool gone = false;
  base::ExitStatus end;
  ShimLink::Handlers handlers;
  handlers.on_started = [&](pid_t pid) { worker = pid; };
  handlers.on_exited = [&](base::ExitStatus status, base::Nanos, bool) { end = status; };
  handlers.on_gone = [&](unsigned, const std::string&) { gone = true; };
  auto link = ShimLink::start(loop.get_executor(), options, std::move(handlers));
  REQUIRE(link);
  REQUIRE(run_until(loop, [&] { return gone; }));
  const auto killer = watch.killed({worker});
  CHECK(::rmdir(folder.c_str()) == 0);
  CHECK(end == base::ExitStatus{base::ExitStatus::Kind::kSignaled, SIGKILL});
  // The worker's v1 cgroup is not ours, so only the log can tell, and only if its pids are ours.
  std::error_code error;
  const bool readable = ::access("/dev/kmsg", R_OK) == 0 &&
                        fs::read_symlink("/proc/self/ns/pid", error) == "pid:[4026531836]";
  CHECK(killer == (readable ? OomKiller::kCgroup : OomKiller::kNo));
}

}  // namespace
}  // namespace robustrun::agent::oom_test
