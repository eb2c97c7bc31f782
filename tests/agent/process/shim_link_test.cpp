#include "agent/process/shim_link.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "tests/agent/process_tree.h"
#include "tests/paths.h"

namespace robustrun::agent::shim_link_test {
namespace {

const std::string kShim = built_program("robustrun-shim");
const std::string kTree = test_helper("shim_tree");
const std::string kReport = test_helper("shim_report");

// One worker under a ShimLink, with everything that was called back.
struct Run {
  SubreaperScope subreaper;
  boost::asio::io_context loop{1};
  TreePipe out;
  ShimOptions options;
  std::unique_ptr<ShimLink> link;
  std::string calls;  // "s" started, "f" start failed, "e" exited, "g" gone, "n" notice
  pid_t worker = 0;
  int os_errno = 0;
  std::string what;
  std::string notice;
  base::ExitStatus status;
  bool shim_lost = false;
  unsigned killed = 0;
  std::string unkillable;
  std::vector<int> signals;  // to the shim

  explicit Run(std::vector<std::string> argv) {
    options.shim = kShim;
    options.argv = std::move(argv);
    options.environment = {"PATH=/usr/bin:/bin"};
    options.out_fd = out.write_fd();
  }
  Run& start() {
    ShimLink::Handlers handlers;
    handlers.on_started = [this](pid_t pid) { calls += "s", worker = pid; };
    handlers.on_start_failed = [this](int error, const std::string& text) {
      calls += "f", os_errno = error, what = text;
    };
    handlers.on_exited = [this](base::ExitStatus end, base::Nanos, bool lost) {
      calls += "e", status = end, shim_lost = lost;
    };
    handlers.on_gone = [this](unsigned count, const std::string& left) {
      calls += "g", killed = count, unkillable = left;
    };
    handlers.on_notice = [this](const std::string& text) { calls += "n", notice = text; };
    handlers.on_signalled = [this](int signal) { signals.push_back(signal); };
    auto started = ShimLink::start(loop.get_executor(), options, std::move(handlers));
    REQUIRE_MESSAGE(started.has_value(), started.error().what);
    link = *std::move(started);
    out.close_write_end();
    return *this;
  }
  bool gone() {
    return run_until(loop, [&] { return calls.ends_with('g'); });
  }
};

std::string value_of(const std::string& text, const std::string& name) {
  std::string values;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    if (line.starts_with(name + " ")) {
      values += (values.empty() ? "" : " ") + line.substr(name.size() + 1);
    }
    at = end + 1;
  }
  return values;
}

TEST_CASE("a worker's start, exit code and end are reported in this order") {
  Run run({"sh", "-c", "exit 3"});
  REQUIRE(run.start().gone());
  CHECK(run.calls == "seg");
  CHECK(run.worker > 0);
  CHECK(run.status == base::ExitStatus{base::ExitStatus::Kind::kExited, 3});
  CHECK_FALSE(run.shim_lost);
  CHECK(run.killed == 0);
  CHECK(run.unkillable.empty());
}

TEST_CASE("a shim that is stopped is continued, and reports its worker's end") {
  Run run({"sleep", "300"});
  run.start();
  REQUIRE(run_until(run.loop, [&] { return run.worker > 0; }));
  REQUIRE(::kill(run.link->shim_pid(), SIGSTOP) == 0);
  REQUIRE(::kill(run.worker, SIGKILL) == 0);
  REQUIRE(run_until(run.loop, [&] {
    run.link->keep_going();
    return run.calls.ends_with('g');
  }));
  CHECK(run.calls == "seg");
  CHECK(run.status == base::ExitStatus{base::ExitStatus::Kind::kSignaled, SIGKILL});
  CHECK_FALSE(run.shim_lost);
}

TEST_CASE("a shim that is stopped again and again is killed, and its worker with it") {
  Run run({"sleep", "300"});
  run.start();
  REQUIRE(run_until(run.loop, [&] { return run.worker > 0; }));
  REQUIRE(run_until(run.loop, [&] {
    ::kill(run.link->shim_pid(), SIGSTOP);
    run.link->keep_going();
    return run.calls.ends_with('g');
  }));
  CHECK(run.calls == "seg");
  CHECK(run.shim_lost);
}

TEST_CASE("exit(9) and SIGKILL are told apart") {
  Run by_code({"sh", "-c", "exit 9"});
  REQUIRE(by_code.start().gone());
  CHECK(by_code.status == base::ExitStatus{base::ExitStatus::Kind::kExited, 9});
  Run by_signal({"sh", "-c", "kill -9 $$"});
  REQUIRE(by_signal.start().gone());
  CHECK(by_signal.status == base::ExitStatus{base::ExitStatus::Kind::kSignaled, SIGKILL});
  CHECK_FALSE(by_signal.shim_lost);
  CHECK(by_signal.killed == 0);
}

TEST_CASE("a missing program is a start failure that names it") {
  Run run({"no-such-program"});
  REQUIRE(run.start().gone());
  CHECK(run.calls == "fg");
  CHECK(run.os_errno == ENOENT);
  CHECK(run.what == "cannot start 'no-such-program': No such file or directory");
}

TEST_CASE("a program that is not executable is a start failure") {
  for (const char* program : {"/etc/passwd", "/etc"}) {
    Run run({program});
    REQUIRE(run.start().gone());
    CHECK(run.calls == "fg");
    CHECK(run.os_errno == EACCES);
  }
}

TEST_CASE("a file without a known format is not given to a shell") {
  const std::string path = "/tmp/shim_link_test." + std::to_string(::getpid());
  const base::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700));
  REQUIRE(base::write_all(file.get(), "exit 0\n"));
  REQUIRE(::close(base::Fd(::dup(file.get())).release()) == 0);
  const_cast<base::Fd&>(file).reset();
  Run run({path});
  CHECK(run.start().gone());
  ::unlink(path.c_str());
  CHECK(run.calls == "fg");
  CHECK(run.os_errno == ENOEXEC);
}

TEST_CASE("a missing working directory is a start failure that names it") {
  Run run({"true"});
  run.options.working_directory = "/no/such/folder";
  REQUIRE(run.start().gone());
  CHECK(run.calls == "fg");
  CHECK(run.what == "cannot start 'true' in '/no/such/folder': No such file or directory");
}

TEST_CASE("a missing shim is an error of start()") {
  boost::asio::io_context loop{1};
  ShimOptions options;
  options.shim = "/no/such/shim";
  options.argv = {"true"};
  const auto started = ShimLink::start(loop.get_executor(), options, {});
  REQUIRE_FALSE(started);
  CHECK(started.error().os_errno == ENOENT);
}

TEST_CASE("the worker starts clean: its descriptors, signals, session, folder and environment") {
  Run run({kReport});
  run.options.working_directory = "/usr/bin";
  run.options.environment = {"SHIM_REPORT=for you"};
  REQUIRE(run.start().gone());
  REQUIRE(run.out.wait_for_end());
  const std::string& text = run.out.text();
  CHECK(value_of(text, "fd") == "0 1 2");
  CHECK(value_of(text, "SigBlk") == "0000000000000000");
  CHECK(value_of(text, "SigIgn") == "0000000000000000");
  CHECK(value_of(text, "leads_session") == "1");
  CHECK(value_of(text, "parent") == std::to_string(run.link->shim_pid()));
  CHECK(value_of(text, "folder") == "/usr/bin");
  CHECK(value_of(text, "variable") == "for you");
}

TEST_CASE("1 MB of arguments, empty ones and bytes that are not UTF-8 arrive unchanged") {
  std::vector<std::string> argv = {kReport, "", "\xff\xfe\x80 \n'\"$(x)"};
  for (int i = 0; i < 1024; ++i) argv.push_back(std::string(1023, static_cast<char>('a' + i % 26)));
  std::size_t bytes = 0;
  unsigned long long sum = 0;
  for (std::size_t i = 1; i < argv.size(); ++i) {
    for (const char c : argv[i]) sum = sum * 31 + static_cast<unsigned char>(c), ++bytes;
  }
  Run run(argv);
  REQUIRE(run.start().gone());
  REQUIRE(run.out.wait_for_end());
  CHECK(value_of(run.out.text(), "arguments") ==
        std::to_string(argv.size() - 1) + " " + std::to_string(bytes) + " " + std::to_string(sum));
}

TEST_CASE("the worker is bound to its processors, and runs unbound where that is impossible") {
  cpu_set_t allowed;
  REQUIRE(::sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  int last = CPU_SETSIZE - 1;
  while (!CPU_ISSET(last, &allowed)) --last;
  Run bound({kReport});
  bound.options.cpus = std::to_string(last);
  REQUIRE(bound.start().gone());
  REQUIRE(bound.out.wait_for_end());
  CHECK(bound.calls == "seg");
  CHECK(value_of(bound.out.text(), "Cpus_allowed_list") == std::to_string(last));

  for (const char* cpus : {"8191", "9000", "3-1", "1,,2", "x"}) {
    Run unbound({"true"});
    unbound.options.cpus = cpus;
    REQUIRE(unbound.start().gone());
    CHECK(unbound.calls == "nseg");
    CHECK(unbound.notice ==
          std::string("'true' is not bound to processors ") + cpus + ": Invalid argument");
    CHECK(unbound.status.success());
  }
}

// On this machine's real kernel. Node 0 has memory on every machine with NUMA.
TEST_CASE("the worker's memory has the requested policy, and none where that is impossible") {
  if (!std::filesystem::exists("/sys/devices/system/node/node0")) return;
  struct Row {
    const char* memory;
    std::string policy;
  };
  for (const Row& row : {Row{"bind:0", std::to_string(MPOL_BIND) + " 1"},
                         Row{"prefer:0", std::to_string(MPOL_PREFERRED_MANY) + " 1"},
                         Row{"", std::to_string(MPOL_DEFAULT) + " 0"}}) {
    CAPTURE(row.memory);
    Run run({kReport});
    run.options.memory = row.memory;
    REQUIRE(run.start().gone());
    REQUIRE(run.out.wait_for_end());
    CHECK(run.calls == "seg");
    const std::string policy = value_of(run.out.text(), "memory");
    const bool is_old = row.memory == std::string("prefer:0") && policy == "1 1";
    CHECK((is_old || policy == row.policy));
  }
  for (const char* memory : {"bind:1023", "bind:", "bind:1024", "prefer", "prefer:x"}) {
    CAPTURE(memory);
    Run run({"true"});
    run.options.memory = memory;
    REQUIRE(run.start().gone());
    CHECK(run.calls == "nseg");
    CHECK(run.notice ==
          std::string("'true' has no memory policy ") + memory + ": Invalid argument");
    CHECK(run.status.success());
  }
}

TEST_CASE("a worker whose cgroup is missing runs without") {
  Run run({"true"});
  run.options.cgroup = "/no/such/cgroup";
  REQUIRE(run.start().gone());
  CHECK(run.calls == "nseg");
  CHECK(run.notice == "'true' runs without a cgroup of its own: No such file or directory");
}

TEST_CASE("a signal goes to the worker's whole group") {
  Run run({"sh", "-c", "sleep 60 & echo; wait"});
  run.start();
  REQUIRE(run.out.wait_for_bytes(1));
  run.link->signal_group(SIGTERM);
  REQUIRE(run.gone());
  CHECK(run.status == base::ExitStatus{base::ExitStatus::Kind::kSignaled, SIGTERM});
  CHECK(run.out.wait_for_end());
}

TEST_CASE("kill_tree ends a worker that ignores every other signal") {
  Run run({kTree, "stubborn"});
  run.start();
  REQUIRE(run.out.wait_for_bytes(1));
  run.link->signal_group(SIGTERM);
  run.link->kill_tree();
  REQUIRE(run.gone());
  CHECK(run.calls == "seg");
  CHECK(run.status == base::ExitStatus{base::ExitStatus::Kind::kSignaled, SIGKILL});
  CHECK_FALSE(run.shim_lost);
}

TEST_CASE("processes that a worker left behind are killed when it exits, in whatever session") {
  Run run({kTree, "family", "20", "5"});
  REQUIRE(run.start().gone());
  CHECK(run.status == base::ExitStatus{base::ExitStatus::Kind::kExited, 5});
  CHECK(run.killed == 20);
  CHECK(run.out.ended());
}

TEST_CASE("destroying the link kills the tree and calls no handler") {
  Run run({kTree, "family", "20"});
  run.start();
  REQUIRE(run.out.wait_for_bytes(21));
  REQUIRE(run_until(run.loop, [&] { return run.calls == "s"; }));
  run.link.reset();
  const auto took = run.out.wait_for_end();
  REQUIRE(took);
  MESSAGE("20 processes gone ", took->count(), " ms after the lifeline closed");
  CHECK(*took < kGoneWithin);
  run.loop.restart();
  run.loop.poll();
  CHECK(run.calls == "s");
}

TEST_CASE("the shim of a destroyed link does not stay as a zombie") {
  Run run({kTree, "family", "2"});
  run.start();
  REQUIRE(run_until(run.loop, [&] { return run.calls == "s"; }));
  const pid_t shim = run.link->shim_pid();
  run.link.reset();
  run.loop.restart();
  CHECK(run_until(run.loop, [&] { return ::kill(shim, 0) != 0; }));
  CHECK(run.calls == "s");
}

TEST_CASE("a handler may destroy the link") {
  for (const char last : {'s', 'e', 'g'}) {
    SubreaperScope subreaper;
    boost::asio::io_context loop{1};
    TreePipe out;
    std::unique_ptr<ShimLink> link;
    std::string calls;
    const auto call = [&](char name) {
      calls += name;
      if (name == last) link.reset();
    };
    ShimOptions options;
    options.shim = kShim;
    options.argv = {"/bin/true"};
    options.out_fd = out.write_fd();
    ShimLink::Handlers handlers;
    handlers.on_started = [&](pid_t) { call('s'); };
    handlers.on_exited = [&](base::ExitStatus, base::Nanos, bool) { call('e'); };
    handlers.on_gone = [&](unsigned, const std::string&) { call('g'); };
    link = *ShimLink::start(loop.get_executor(), options, std::move(handlers));
    out.close_write_end();
    REQUIRE(run_until(loop, [&] { return link == nullptr; }));
    REQUIRE(out.wait_for_end());
    CHECK(calls.ends_with(last));
  }
}

TEST_CASE("when the shim is killed its tree is killed, too, and other children are left alone") {
  Run neighbour({kTree, "stubborn"});
  neighbour.start();
  REQUIRE(neighbour.out.wait_for_bytes(1));
  Run run({kTree, "family", "20"});
  run.start();
  REQUIRE(run.out.wait_for_bytes(21));
  REQUIRE(::kill(run.link->shim_pid(), SIGKILL) == 0);
  REQUIRE(run.gone());
  CHECK(run.calls == "seg");
  CHECK(run.shim_lost);
  CHECK(run.status == base::ExitStatus{base::ExitStatus::Kind::kSignaled, SIGKILL});
  CHECK(run.killed >= 20);
  CHECK(run.out.ended());
  CHECK_FALSE(neighbour.out.ended());
  neighbour.link->kill_tree();
  CHECK(neighbour.gone());
}

TEST_CASE("signals that a worker sends to its parent, the shim, are passed on and end nothing") {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    Run run({kTree, "family", "3"});
    run.start();
    REQUIRE(run.out.wait_for_bytes(4));
    REQUIRE(::kill(run.link->shim_pid(), signal) == 0);
    REQUIRE(run_until(run.loop, [&] { return !run.signals.empty(); }));
    CHECK(run.signals == std::vector<int>{signal});
    CHECK(run.calls == "s");
    CHECK_FALSE(run.out.ended());
    run.link->kill_tree();
    CHECK(run.gone());
  }
}

TEST_CASE("a worker costs its agent one descriptor") {
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  };
  Run first({kTree, "family", "3"});
  first.start();  // the loop then has its own descriptors
  REQUIRE(run_until(first.loop, [&] { return first.calls == "s"; }));
  const auto before = descriptors();
  bool has_started = false;
  ShimLink::Handlers handlers;
  handlers.on_started = [&](pid_t) { has_started = true; };
  first.options.out_fd = -1;
  auto second = ShimLink::start(first.loop.get_executor(), first.options, std::move(handlers));
  REQUIRE(second);
  REQUIRE(run_until(first.loop, [&] { return has_started; }));
  CHECK(descriptors() == before + 1);
  second->reset();
  first.link->kill_tree();
  CHECK(first.gone());
}

}  // namespace
}  // namespace robustrun::agent::shim_link_test
