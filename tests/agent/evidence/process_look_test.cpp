// What the kernel reports about processes: real ones, and a /proc of the test.
#include "agent/evidence/process_look.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "agent/node/limits.h"
#include "agent/process/cgroup.h"
#include "tests/agent/evidence/subject.h"
#include "tests/paths.h"
#include "tests/scratch_folder.h"

namespace robustrun::agent::process_look_test {
namespace {

const std::string kBlocked = test_helper("blocked");

char state_of(pid_t pid) {
  const auto look = look_at_process(pid, "");
  return look ? look->state.state.front() : '-';
}

TEST_CASE("sleeping, stopped, blocked and dead processes are told apart") {
  const Subject sleeping({"sleep", "1000"});
  CHECK(wait_until([&] { return state_of(sleeping.pid()) == 'S'; }));
  CHECK_FALSE(look_at_process(sleeping.pid(), "")->state.frozen);
  sleeping.signal(SIGSTOP);
  CHECK(wait_until([&] { return state_of(sleeping.pid()) == 'T'; }));
  const Subject blocked({kBlocked});
  CHECK(wait_until([&] { return state_of(blocked.pid()) == 'D'; }));
  const Subject dead({"true"});
  CHECK(wait_until([&] { return state_of(dead.pid()) == 'Z'; }));
  const auto look = look_at_process(dead.pid(), "");
  CHECK(look->tree == std::vector<pid_t>{dead.pid()});
}

TEST_CASE("descendants are counted, blocked and dead ones among them") {
  Subject tree({"sh", "-c", "sh -c 'sleep 1000 & sleep 1000 & wait' & true & exec sleep 1000"});
  CHECK(wait_until([&] {
    const auto look = look_at_process(tree.pid(), "");
    return look && look->state.children == 4;
  }));
  CHECK(look_at_process(tree.pid(), "")->tree.size() == 5);
  Subject parent({kBlocked, "child"});
  REQUIRE(parent.says("ready"));
  CHECK(wait_until([&] { return look_at_process(parent.pid(), "")->state.children_blocked == 1; }));
  CHECK(wait_until([&] { return look_at_process(parent.pid(), "")->state.state == "S"; }));
}

TEST_CASE(
    "a busy process uses the processor, also through its ended children; a sleeping one does not") {
  const Subject busy({"sh", "-c", "while :; do sh -c ':'; done"});
  const Subject sleeping({"sleep", "1000"});
  REQUIRE(wait_until([&] { return state_of(sleeping.pid()) == 'S'; }));
  const auto quiet = look_at_process(sleeping.pid(), "");
  const auto before = look_at_process(busy.pid(), "");
  REQUIRE((quiet && before));
  CHECK(wait_until([&] {
    const auto now = look_at_process(busy.pid(), "");
    const auto state = compare_looks(*before, *now, base::Nanos(7));
    return state->cpu > base::Nanos{} && state->watched == base::Nanos(7);
  }));
  const auto after = look_at_process(sleeping.pid(), "");
  CHECK(compare_looks(*quiet, *after, base::Nanos(7))->cpu == base::Nanos{});
  CHECK(compare_looks(*quiet, *after, base::Nanos(7))->io_bytes == 0);
}

TEST_CASE("bytes read and written are those of all descendants") {
  Subject copier(
      {"sh", "-c", "echo ready; (dd if=/dev/zero of=/dev/null bs=65536 2>/dev/null) & wait"});
  REQUIRE(copier.says("ready"));
  const auto before = look_at_process(copier.pid(), "");
  REQUIRE(before);
  CHECK(wait_until([&] {
    const auto now = look_at_process(copier.pid(), "");
    return now && compare_looks(*before, *now, base::Nanos(1))->io_bytes >= 1 << 20;
  }));
}

TEST_CASE("a process that is gone, or whose pid was reused, is not compared") {
  Subject subject({"sleep", "1000"});
  const pid_t pid = subject.pid();
  auto look = look_at_process(pid, "");
  REQUIRE(look);
  ProcessLook other = *look;
  ++other.start_ticks;
  CHECK(compare_looks(*look, other, base::Nanos(1)).error().code == base::Errc::kNotFound);
  subject.end();
  const auto gone = look_at_process(pid, "");
  REQUIRE_FALSE(gone);
  CHECK(gone.error().code == base::Errc::kNotFound);
  CHECK(gone.error().what == "the worker is gone");
}

TEST_CASE("a worker that slept at one of two looks sleeps; else it is as at the last look") {
  const auto states = [](const char* first, const char* second) {
    ProcessLook before, after;
    before.state.state = first;
    before.state.wait_channel = "old";
    after.state.state = second;
    after.state.wait_channel = "new";
    const auto both = compare_looks(before, after, base::Nanos(1));
    return both->state + both->wait_channel;
  };
  CHECK(states("R", "R") == "Rnew");
  CHECK(states("S", "R") == "Sold");
  CHECK(states("T", "R") == "Rnew");
  CHECK(states("R", "S") == "Snew");
  CHECK(states("S", "D") == "Dnew");
}

TEST_CASE("a process frozen by its cgroup is reported as frozen") {
  const auto place = own_cgroup("");
  const std::string folder =
      place ? fmt::format("{}/robustrun-test-{}", place->folder, ::getpid()) : std::string();
  std::error_code refused;
  if (!place || !std::filesystem::create_directory(folder, refused)) {
    MESSAGE("skipped: no cgroup v2 may be made here");
    return;
  }
  const auto write = [&](const char* file, const std::string& text) {
    std::ofstream(folder + "/" + file) << text;
  };
  {
    const Subject subject({"sleep", "1000"});
    write("cgroup.procs", std::to_string(subject.pid()));
    CHECK_FALSE(look_at_process(subject.pid(), folder)->state.frozen);
    write("cgroup.freeze", "1");
    CHECK(wait_until([&] { return look_at_process(subject.pid(), folder)->state.frozen; }));
    // Also when its cgroup is not given.
    CHECK(look_at_process(subject.pid(), "")->state.frozen);
    write("cgroup.freeze", "0");
    CHECK(wait_until([&] { return !look_at_process(subject.pid(), folder)->state.frozen; }));
  }
  CHECK(wait_until([&] { return ::rmdir(folder.c_str()) == 0; }));
}

// A /proc with processes that cannot be made for real.
struct FakeProc {
  test::ScratchFolder root;
  void process(int pid, int parent, char state, const std::string& times, const std::string& name) {
    root.write(fmt::format("proc/{}/stat", pid),
               fmt::format("{} ({}) {} {} 1 1 0 -1 4194560 1 0 0 0 {} 20 0 1 0 77 1 1", pid, name,
                           state, parent, times));
  }
};

TEST_CASE("fields of stat are found behind any name") {
  FakeProc fake;
  fake.process(10, 1, 'S', "1 2 3 4", ") D 9 (x y");
  fake.process(11, 10, 'D', "100 0 0 0", "loader");
  fake.process(12, 99, 'D', "1000 0 0 0", "stranger");
  fake.root.write("proc/11/io", "rchar: 500\nwchar: 1\nread_bytes: 4096\nwrite_bytes: 0\n");
  fake.root.write("proc/10/io", "rchar: 10\nwchar: 20\nread_bytes: 0\nwrite_bytes: 0\n");
  fake.root.write("proc/10/wchan", "futex_wait_queue");
  fake.root.write("proc/10/schedstat", "5 700 9\n");
  fake.root.write("proc/11/schedstat", "1 30 2\n");
  const auto look = look_at_process(10, "", fake.root.path());
  REQUIRE(look);
  CHECK(look->state.state == "S");
  CHECK(look->start_ticks == 77);
  CHECK(look->cpu_ticks == 110);
  CHECK(look->cpu_delay == base::Nanos(730));
  CHECK(look->io_bytes == 4096 + 1 + 30);
  CHECK(look->state.memory_bytes == 2 * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
  CHECK(look->tree == std::vector<pid_t>{10, 11});
  CHECK(look->state.children_blocked == 1);
  CHECK(look->state.wait_channel == "futex_wait_queue");
  CHECK_FALSE(look->state.frozen);
}

TEST_CASE("blocked threads of the worker are counted beside its main one") {
  FakeProc fake;
  fake.process(10, 1, 'S', "0 0 0 0", "python");
  const auto thread = [&](int id, char state) {
    fake.process(id, 1, state, "0 0 0 0", ") S 1 (x");
    std::filesystem::create_directories(fake.root / "proc/10/task");
    std::filesystem::rename(fake.root / fmt::format("proc/{}", id),
                            fake.root / fmt::format("proc/10/task/{}", id));
  };
  CHECK(look_at_process(10, "", fake.root.path())->state.threads_blocked == 0);
  thread(11, 'D');
  thread(12, 'S');
  thread(13, 'D');
  fake.root.write("proc/10/task/10/stat",
                  "10 (python) D 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 "
                  "0 77 1 1");
  CHECK(look_at_process(10, "", fake.root.path())->state.threads_blocked == 2);
}

TEST_CASE("pressure is the worker's cgroup's, else the machine's; nonsense counts as missing") {
  FakeProc fake;
  fake.process(10, 1, 'S', "0 0 0 0", "x");
  const auto look = [&](const std::string& cgroup) {
    return look_at_process(10, cgroup, fake.root.path())->state;
  };
  CHECK(look("").io_pressure == 0);
  fake.root.write("proc/pressure/io", "some avg10=12.50 avg60=0.00 avg300=0.00 total=1\n");
  fake.root.write("proc/pressure/memory", "some avg10=nan avg60=0.00\n");
  CHECK(look("").io_pressure == 12.5);
  CHECK(look("").memory_pressure == 0);
  fake.root.write("group/io.pressure", "some avg10=99.00 avg60=0.00 avg300=0.00 total=1\n");
  fake.root.write("proc/pressure/memory", "some avg10=400 avg60=0.00\n");
  CHECK(look(fake.root / "group").io_pressure == 99);
  CHECK(look(fake.root / "group").memory_pressure == 100);
}

TEST_CASE(
    "a freezer of cgroup version 1 is seen, and the kernel function in which frozen processes "
    "wait") {
  FakeProc fake;
  fake.process(10, 1, 'D', "0 0 0 0", "x");
  fake.root.write("proc/10/cgroup", "6:freezer:/jobs\n0::/\n");
  fake.root.write(
      "proc/self/mountinfo",
      fmt::format("37 31 0:34 / {} rw - cgroup cgroup rw,freezer\n", fake.root / "freezer"));
  fake.root.write("freezer/jobs/freezer.state", "FROZEN\n");
  CHECK(look_at_process(10, "", fake.root.path())->state.frozen);
  fake.root.write("freezer/jobs/freezer.state", "THAWED\n");
  CHECK_FALSE(look_at_process(10, "", fake.root.path())->state.frozen);
  fake.root.write("proc/10/wchan", "__refrigerator");
  CHECK(look_at_process(10, "", fake.root.path())->state.frozen);
}

TEST_CASE("limits: descendants, the name of a wait channel") {
  FakeProc fake;
  fake.process(1, 0, 'S', "0 0 0 0", "x");
  fake.root.write("proc/1/wchan", std::string(500, 'w'));
  for (int pid = 2; pid < static_cast<int>(kDescendantsMax) + 10; ++pid) {
    fake.process(pid, 1, 'S', "0 0 0 0", "x");
  }
  fake.root.write("proc/99999/stat", "99999 (broken");
  fake.root.write("proc/99998/stat", "99998 (x) S 1");
  const auto look = look_at_process(1, "", fake.root.path());
  REQUIRE(look);
  CHECK(look->state.children == kDescendantsMax);
  CHECK(look->state.wait_channel.size() == kWaitChannelBytesMax);
}

TEST_CASE("ticks become time without overflow") {
  CHECK(ticks_to_time(0) == base::Nanos{});
  CHECK(ticks_to_time(static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK))) ==
        std::chrono::seconds(1));
  CHECK(ticks_to_time(~std::uint64_t{0}) > std::chrono::hours(1));
}

TEST_CASE("a handler, a pending signal, and a stopped process are seen") {
  Subject subject({"sh", "-c", "trap 'echo taken' USR1; echo ready; while :; do sleep 1; done"});
  REQUIRE(subject.says("ready"));
  CHECK(signal_state(subject.pid(), SIGUSR1).is_caught);
  CHECK_FALSE(signal_state(subject.pid(), SIGUSR2).is_caught);
  CHECK_FALSE(signal_state(subject.pid(), SIGUSR1).is_pending);
  subject.signal(SIGSTOP);
  CHECK(wait_until([&] { return signal_state(subject.pid(), SIGUSR1).is_stopped; }));
  subject.signal(SIGUSR1);
  CHECK(signal_state(subject.pid(), SIGUSR1).is_pending);
  subject.signal(SIGCONT);
  CHECK(subject.says("taken"));
  const pid_t pid = subject.pid();
  subject.end();
  CHECK_FALSE(signal_state(pid, SIGUSR1).is_caught);
}

}  // namespace
}  // namespace robustrun::agent::process_look_test
