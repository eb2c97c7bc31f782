#include "agent/spawn/standby_match.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/io/fd.h"
#include "tests/support/scratch.h"

namespace standby_match_test {

using namespace robustrun;
using agent::become;
using agent::LaunchSpec;
using agent::Ready;
using Strings = std::vector<std::string>;

namespace {

LaunchSpec worker() {
  LaunchSpec spawn;
  spawn.argv = {"/usr/bin/python3", "-u", "/r/boot.py", "script", "train.py"};
  spawn.environment = {"HOME=/root",
                       "RANK=1",
                       "MASTER_PORT=4000",
                       "OMP_NUM_THREADS=2",
                       "ROBUSTRUN_RECORD=/run/1.0.record",
                       "TORCHELASTIC_ERROR_FILE=/log/0.json"};
  spawn.working_directory = "/job";
  spawn.cpus = "0-3";
  spawn.out = spawn.err = wire::StreamRoute::kFileAndConsole;
  return spawn;
}

LaunchSpec next_worker() {
  LaunchSpec spawn = worker();
  spawn.environment[2] = "MASTER_PORT=4001";
  spawn.environment[4] = "ROBUSTRUN_RECORD=/run/1.1.record";
  spawn.environment[5] = "TORCHELASTIC_ERROR_FILE=/log/1.json";
  return spawn;
}

Strings sorted(Strings strings) {
  std::ranges::sort(strings);
  return strings;
}

std::string why_not(const LaunchSpec& wanted, const Strings& read = {}) {
  const auto changes = become(standby_launch_spec(worker()), wanted, read);
  return changes ? "" : changes.error().what;
}

}  // namespace

TEST_CASE("a standby has its worker's environment, without the names of that worker's files") {
  const LaunchSpec standby = standby_launch_spec(worker());
  CHECK(standby.environment == Strings{"HOME=/root", "RANK=1", "MASTER_PORT=4000",
                                       "OMP_NUM_THREADS=2",
                                       "ROBUSTRUN_RECORD=", "TORCHELASTIC_ERROR_FILE="});
  CHECK(standby.argv == worker().argv);
  CHECK(standby.cpus == "0-3");
}

TEST_CASE("a standby is told what depends on the attempt, and nothing else") {
  const auto changes = become(standby_launch_spec(worker()), next_worker(), {"HOME", "PATH"});
  REQUIRE(changes);
  CHECK(sorted(*changes) == Strings{"MASTER_PORT=4001", "ROBUSTRUN_RECORD=/run/1.1.record",
                                    "TORCHELASTIC_ERROR_FILE=/log/1.json"});
}

TEST_CASE("a variable that depends on the attempt may come and go") {
  LaunchSpec wanted = next_worker();
  wanted.environment.emplace_back("NCCL_RAS_ADDR=127.0.0.1:1");
  std::erase(wanted.environment, "RANK=1");
  const auto changes = become(standby_launch_spec(worker()), wanted, {});
  REQUIRE(changes);
  CHECK(std::ranges::count(*changes, "NCCL_RAS_ADDR=127.0.0.1:1") == 1);
  CHECK(std::ranges::count(*changes, "RANK") == 1);
}

TEST_CASE("everything that a process keeps for life must be the same") {
  CHECK(why_not(next_worker()).empty());
  struct Row {
    void (*change)(LaunchSpec&);
    const char* says;
  };
  const Row rows[] = {
      {[](LaunchSpec& s) { s.argv.back() = "other.py"; }, "its command line is another one"},
      {[](LaunchSpec& s) { s.argv.front() = "/opt/python3"; }, "its command line is another one"},
      {[](LaunchSpec& s) { s.working_directory = "/"; }, "its working directory is another one"},
      {[](LaunchSpec& s) { s.cpus = "4-7"; }, "its binding is another one"},
      {[](LaunchSpec& s) { s.memory = "bind:1"; }, "its binding is another one"},
      {[](LaunchSpec& s) { s.in_fd = 0; }, "its standard input is another one"},
      {[](LaunchSpec& s) { s.err = wire::StreamRoute::kDiscard; }, "its output is another one"},
      {[](LaunchSpec& s) { s.out = wire::StreamRoute::kFile; }, "its output is another one"},
      {[](LaunchSpec& s) { s.environment[0] = "HOME=/x"; }, "the variable HOME has changed"},
      {[](LaunchSpec& s) { s.environment[3] = "OMP_NUM_THREADS=1"; },
       "the variable OMP_NUM_THREADS has changed"},
      {[](LaunchSpec& s) { s.environment.erase(s.environment.begin()); },
       "the variable HOME has changed"},
      {[](LaunchSpec& s) { s.environment.emplace_back("NEW=1"); }, "the variable NEW has changed"},
      {[](LaunchSpec& s) { s.environment.emplace_back("odd"); }, "the variable odd has changed"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.says);
    LaunchSpec wanted = next_worker();
    row.change(wanted);
    CHECK(why_not(wanted) == row.says);
  }
}

TEST_CASE("variables that imports have read must not change, even if they depend on the attempt") {
  CHECK(why_not(next_worker(), {"RANK"}).empty());
  CHECK(why_not(next_worker(), {"HOME", "MASTER_PORT"}) ==
        "a module that it imported has read MASTER_PORT");
}

TEST_CASE("workers that write to the launcher's own streams have no standbys") {
  LaunchSpec spawn = worker();
  CHECK(may_wait(spawn));
  spawn.err = wire::StreamRoute::kInherit;
  CHECK_FALSE(may_wait(spawn));
}

TEST_CASE("a standby's message when it is ready is read") {
  using std::string_literals::operator""s;
  const auto ready = agent::parse_ready(
      "ready 1\0memory_kb=2048\0read=HOME\0read=RANK\0stamp=7 -5 /a b\0later=x\0refusal=no\x1b\0"
      "differs=it\x1b"s);
  REQUIRE(ready);
  CHECK(ready->memory_kb == 2048);
  CHECK(ready->read == Strings{"HOME", "RANK"});
  REQUIRE(ready->stamps.size() == 1);
  CHECK(ready->stamps[0] == Ready::Stamp{"/a b", 7, -5});
  CHECK(ready->refusal == "no\\x1b");
  CHECK(ready->differs == "it\\x1b");
}

TEST_CASE("nonsense from a standby is told from that message") {
  using std::string_literals::operator""s;
  for (const std::string& text :
       {""s, "ready 2"s, "ready 1\0memory_kb=-1"s, "ready 1\0memory_kb"s, "ready 1\0stamp=1 2"s,
        "ready 1\0stamp=x 2 /a"s, "ready 1\0"s, "\xff\0\xff"s}) {
    CAPTURE(text);
    CHECK_FALSE(agent::parse_ready(text));
  }
}

TEST_CASE("imports are out of date once one of their files has changed") {
  test::Scratch scratch;
  const std::string path = scratch.path("module.py");
  const auto write = [&path] {
    base::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT, 0600));
    REQUIRE(base::write_all(file.get(), "x"));
  };
  write();
  struct stat status{};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  const std::int64_t modified =
      std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + std::int64_t{status.st_mtim.tv_nsec};
  const Ready::Stamp stamp{path, status.st_ino, modified};
  CHECK(agent::changed_path({stamp}).empty());
  CHECK(agent::changed_path({}).empty());
  // A container runtime reports paths of the image, and of folders that it shares with this
  // machine.
  const Ready::Stamp in_image{"/module.py", status.st_ino, modified};
  const agent::WorkerHome container{
      .prefix = {"apptainer"}, .root = path.substr(0, path.rfind('/')), .image_key = {}};
  CHECK(agent::changed_path({in_image, stamp}, container).empty());
  CHECK(agent::changed_path({in_image}) == in_image.path);
  const timespec later[2] = {{0, UTIME_OMIT}, {status.st_mtim.tv_sec + 1, 0}};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), later, 0) == 0);
  CHECK(agent::changed_path({stamp}) == path);
  CHECK(agent::changed_path({in_image}, container) == in_image.path);
  REQUIRE(::unlink(path.c_str()) == 0);
  CHECK(agent::changed_path({stamp}) == path);
}

TEST_CASE("standbys take at most a tenth of the available memory") {
  // 10 GB without the existing one.
  CHECK(agent::fits(250'000, 4, 9'750'000));
  CHECK_FALSE(agent::fits(250'001, 4, 9'750'000));
  CHECK(agent::fits(1'000'000, 1, 9'000'000));
  CHECK_FALSE(agent::fits(1'000'000, 1, 8'000'000));
  CHECK_FALSE(agent::fits(0, 1, 8'000'000));
  CHECK_FALSE(agent::fits(1'000, 1, 0));
}

TEST_CASE("available memory is found in meminfo") {
  CHECK(agent::available_kb("MemTotal:  100 kB\nMemAvailable:   8032 kB\nBuffers: 1 kB\n") == 8032);
  CHECK(agent::available_kb("MemTotal:  100 kB\n") == 0);
  CHECK(agent::available_kb("MemAvailable: many kB\n") == 0);
  CHECK(agent::available_kb("") == 0);
}

TEST_CASE("a template of one rank serves another one, unless its imports have read what differs") {
  LaunchSpec made = standby_launch_spec(worker());
  made.environment.emplace_back("LOCAL_RANK=0");
  LaunchSpec other = made;
  other.environment[1] = "RANK=0";
  other.environment.back() = "LOCAL_RANK=1";
  const auto changes = agent::fork_changes(made, other, {"HOME"});
  REQUIRE(changes);
  CHECK(sorted(*changes) == Strings{"LOCAL_RANK=1", "RANK=0"});
  CHECK_FALSE(agent::fork_changes(made, other, {"LOCAL_RANK"}));
  CHECK_FALSE(agent::fork_changes(made, other, {"RANK"}));
  CHECK_FALSE(become(made, other, {}));
  other.cpus = "4-7";
  CHECK_FALSE(agent::fork_changes(made, other, {}));
}

TEST_CASE("a template says why it cannot be forked") {
  const auto ready = agent::parse_ready(std::string("ready 1") + '\0' + "unforkable=a thread\n");
  REQUIRE(ready);
  CHECK(ready->unforkable.starts_with("a thread"));
  CHECK(ready->unforkable.find('\n') == std::string::npos);
}

}  // namespace standby_match_test
