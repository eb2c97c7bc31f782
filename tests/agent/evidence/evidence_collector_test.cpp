// All evidence of real processes at once.
#include "agent/evidence/evidence_collector.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "agent/evidence/process_look.h"
#include "base/core/text.h"
#include "tests/agent/evidence/subject.h"
#include "tests/agent/process_tree.h"
#include "tests/paths.h"
#include "tests/scratch_folder.h"
#include "tests/support/loop.h"

namespace robustrun::agent::evidence_collector_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using tracer::Evidence;

const int kSignal = SIGRTMIN + 8;
const std::string kHandler =
    "import ctypes, faulthandler, sys, threading, time\n"
    "faulthandler.register(int(sys.argv[2]), file=open(sys.argv[1], 'ab', buffering=0),\n"
    "                      all_threads=True, chain=False)\n"
    "print('ready', flush=True)\n";

// A node whose helper programs are scripts of the test.
struct Node {
  SubreaperScope subreaper;
  test::ScratchFolder folder;
  test::Loop loop;
  base::SystemClock clock;
  base::BlockingPool pool{loop.executor(), 2, 64};
  NodeContext context{
      loop.executor(), clock, pool, [](const wire::Message&) {}, built_program("robustrun-shim"),
      folder.path(),   {}};

  Node() {
    context.executable = program("robustrun", "exit 0");
    context.workers.interpreter = folder / "bin/python3";
    context.workers.environment = {"PATH=/no/such/folder"};
  }
  std::string program(const std::string& name, const std::string& script) const {
    const std::string path =
        folder.write("bin/" + name, "#!/bin/sh\nPATH=/usr/bin:/bin\n" + script + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  [[nodiscard]] Suspect suspect(const Subject& subject) const {
    Suspect suspected;
    suspected.pid = subject.pid();
    suspected.apart = milliseconds(300);
    suspected.stack_signal = kSignal;
    suspected.stack_file = folder / "stack";
    suspected.signal = [&subject](int number) { subject.signal(number); };
    return suspected;
  }
  [[nodiscard]] std::vector<std::string> script(const std::string& rest) const {
    return python(kHandler + rest, {folder / "stack", std::to_string(kSignal)});
  }

  Evidence collect(const Suspect& suspected, milliseconds within = seconds(15)) {
    std::optional<Evidence> evidence;
    const auto collector = EvidenceCollector::start(
        context, suspected, within, [&](Evidence came) { evidence.emplace(std::move(came)); });
    CHECK_FALSE(evidence.has_value());
    REQUIRE(loop.run_until([&] { return evidence.has_value(); }, seconds(60)));
    CHECK(context.slow_looks == 0);
    return *std::move(evidence);
  }
};

std::string missing(const Evidence& evidence) { return base::join(evidence.missing, "; "); }

bool misses(const Evidence& evidence, const std::string& what) {
  return std::ranges::find(evidence.missing, what) != evidence.missing.end();
}

TEST_CASE_FIXTURE(Node, "a worker that sleeps: its state, its stack, and nothing that it does") {
  Subject subject(script("def wait():\n    time.sleep(1000)\nwait()\n"));
  REQUIRE(subject.says("ready"));
  Evidence evidence;
  CHECK(wait_until([&] {
    evidence = collect(suspect(subject));
    return !evidence.stacks_moved && evidence.process.cpu * 10 < evidence.process.watched &&
           evidence.process.state == "S";
  }));
  CHECK(evidence.has_process);
  CHECK(evidence.process.watched >= milliseconds(300));
  CHECK(evidence.process.children == 0);
  REQUIRE(evidence.stacks.size() == 1);
  CHECK(evidence.stacks[0].frames.at(0).function == "wait");
  CHECK(evidence.sockets.empty());
  CHECK(evidence.gpus.empty());
  CHECK(missing(evidence) == "native stacks: eu-stack is not installed; py-spy: not installed");
}

TEST_CASE_FIXTURE(Node,
                  "for a worker that does not move, programs add GIL holder and native stack") {
  Subject subject(script("time.sleep(1000)\n"));
  REQUIRE(subject.says("ready"));
  // The number of its only thread is in the stack that the handler writes.
  program("py-spy", "ident=$(sed -n 's/^Current thread \\(0x[0-9a-f]*\\) .*/\\1/p' " +
                        (folder / "stack") +
                        " | tail -1)\n"
                        "echo \"$*\" >" +
                        (folder / "asked") +
                        "\necho '[{\"thread_id\": '$(printf %u $ident)', \"os_thread_id\": '$5',"
                        "\"thread_name\": \"MainThread\", \"owns_gil\": true, \"frames\": []}]'");
  program("eu-stack", "echo '#0  0x01 nanosleep - libc.so.6'; exit 1");
  Evidence evidence;
  CHECK(wait_until([&] {
    evidence = collect(suspect(subject));
    return !evidence.stacks_moved;
  }));
  CHECK(missing(evidence) == "");
  REQUIRE(evidence.stacks.size() == 2);
  CHECK(evidence.stacks[0].is_main);
  CHECK(evidence.stacks[0].holds_gil);
  CHECK(evidence.stacks[0].thread == "MainThread");
  CHECK(evidence.stacks[0].frames.size() == 1);
  CHECK(evidence.stacks[1].is_native);
  CHECK(evidence.stacks[1].frames.at(0).function == "nanosleep");
  std::string asked;
  std::getline(std::ifstream(folder / "asked"), asked);
  CHECK(asked == fmt::format("dump --json --nonblocking --pid {}", subject.pid()));
}

TEST_CASE_FIXTURE(Node, "without a handler the stacks are py-spy's; a busy worker is not stopped") {
  const Subject busy({"sh", "-c", "while :; do :; done"});
  program("py-spy",
          "echo '[{\"thread_id\": 5, \"os_thread_id\": '$5', \"owns_gil\": true,"
          "\"frames\": [{\"name\": \"f\", \"filename\": \"x.py\", \"line\": 3}]}]'");
  program("eu-stack", "touch " + (folder / "stopped"));
  Evidence evidence;
  CHECK(wait_until([&] {
    std::filesystem::remove(folder / "stopped");
    evidence = collect(suspect(busy));
    const tracer::ProcessState& process = evidence.process;
    return (process.cpu + process.cpu_delay) * 10 >= process.watched;
  }));
  CHECK(missing(evidence) == "Python stacks: the worker has no handler installed");
  REQUIRE(evidence.stacks.size() == 1);
  CHECK((evidence.stacks[0].is_main && evidence.stacks[0].holds_gil));
  CHECK(evidence.stacks[0].frames == std::vector<tracer::Frame>{{"f", "x.py", 3}});
  CHECK_FALSE(std::filesystem::exists(folder / "stopped"));
}

TEST_CASE_FIXTURE(Node, "stopped workers, workers in state D and dead ones are told apart") {
  const Subject stopped({"sleep", "1000"});
  stopped.signal(SIGSTOP);
  Subject blocked({test_helper("blocked")});
  const Subject dead({"true"});
  std::map<std::string, Evidence> all;
  std::vector<std::unique_ptr<EvidenceCollector>> collectors;
  const auto start = [&](const std::string& name, const Subject& subject) {
    collectors.push_back(EvidenceCollector::start(
        context, suspect(subject), seconds(15),
        [&all, name](Evidence evidence) { all.emplace(name, std::move(evidence)); }));
  };
  REQUIRE(blocked.says("ready"));
  REQUIRE(wait_until([&] { return signal_state(stopped.pid(), SIGTERM).is_stopped; }));
  REQUIRE(wait_until([&] {
    std::ifstream stat(fmt::format("/proc/{}/stat", dead.pid()));
    std::string text;
    std::getline(stat, text);
    return text.find(") Z") != std::string::npos;
  }));
  start("stopped", stopped);
  start("blocked", blocked);
  start("dead", dead);
  REQUIRE(loop.run_until([&] { return all.size() == 3; }, seconds(60)));
  CHECK(all["stopped"].process.state == "T");
  CHECK(misses(all["stopped"], "Python stacks: the worker is stopped"));
  CHECK(all["blocked"].process.state == "D");
  CHECK(all["blocked"].process.children == 1);
  CHECK(all["dead"].process.state == "Z");
  CHECK_FALSE(misses(all["dead"], "py-spy: not installed"));
}

TEST_CASE_FIXTURE(
    Node, "a dead worker leaves no evidence, one that dies meanwhile leaves what was seen") {
  Subject subject({"sleep", "1000"});
  Suspect suspected = suspect(subject);
  std::optional<Evidence> evidence;
  const auto collector = EvidenceCollector::start(
      context, suspected, seconds(15), [&](Evidence came) { evidence.emplace(std::move(came)); });
  loop.run_for(milliseconds(100));
  subject.end();
  REQUIRE(loop.run_until([&] { return evidence.has_value(); }, seconds(60)));
  CHECK(misses(*evidence, "process: the worker is gone"));
  const Evidence none = collect(suspected);
  CHECK_FALSE(none.has_process);
  CHECK(none.missing.size() == 2);
  CHECK(misses(none, "process: the worker is gone"));
  CHECK(misses(none, "Python stacks: the worker has no handler installed"));
}

TEST_CASE_FIXTURE(Node, "GPUs are the helper's; of a helper that hangs they are missing, in time") {
  const Subject subject({"sleep", "1000"});
  context.executable =
      program("gpus",
              "echo \"gpu 0\nname H100\nutilisation_percent 100\npower_w 90\nuuid GPU-1\n"
              "pid " +
                  std::to_string(subject.pid()) + "\ngpu 1\nuuid GPU-2\nname other\"");
  const Evidence evidence = collect(suspect(subject));
  REQUIRE(evidence.gpus.size() == 1);
  CHECK(evidence.gpus[0].name == "H100");
  CHECK(evidence.gpus[0].power_w == 90);
  context.executable = program("gpus", "echo refused nvmlInit failed with 9");
  CHECK(misses(collect(suspect(subject)), "GPUs: nvmlInit failed with 9"));
  context.executable = program("gpus", "exec sleep 1000");
  const Evidence late = collect(suspect(subject), milliseconds(3000));
  CHECK(late.gpus.empty());
  CHECK(late.has_process);
  CHECK(late.process.watched > base::Nanos{});
  CHECK(missing(late).find("GPUs: no answer within") != std::string::npos);
}

TEST_CASE_FIXTURE(Node, "a look at what a worker uses neither signals it nor runs tools") {
  Subject subject(
      python("x = bytearray(64 << 20)\nprint('ready', flush=True)\nwhile True: pass\n"));
  REQUIRE(subject.says("ready"));
  context.executable =
      program("gpus", "echo \"gpu 0\nname H100\nutilisation_percent 55\nused_mib 7\"");
  program("py-spy", "echo asked >" + (folder / "asked"));
  Suspect suspected = suspect(subject);
  suspected.only_use = true;
  int signals = 0;
  suspected.signal = [&signals](int) { ++signals; };
  const Evidence evidence = collect(suspected);
  CHECK(signals == 0);
  CHECK_FALSE(std::filesystem::exists(folder / "asked"));
  CHECK(evidence.stacks.empty());
  CHECK(missing(evidence) == "");
  CHECK(evidence.process.cpu > base::Nanos{});
  CHECK(evidence.process.memory_bytes > std::uint64_t{64} << 20);
  REQUIRE(evidence.gpus.size() == 1);
  CHECK(evidence.gpus[0].utilisation_percent == 55);
  CHECK(evidence.gpus[0].used_mib == 7);
}

TEST_CASE_FIXTURE(Node, "connections of the worker are among the evidence") {
  Subject subject(
      python("import socket, time\n"
             "listener = socket.create_server(('127.0.0.1', 0))\n"
             "near = socket.create_connection(listener.getsockname())\n"
             "far, _ = listener.accept()\n"
             "near.sendall(b'x' * 77)\n"
             "print('ready', flush=True)\n"
             "time.sleep(1000)\n"));
  REQUIRE(subject.says("ready"));
  const Evidence evidence = collect(suspect(subject));
  REQUIRE(evidence.sockets.size() == 2);
  CHECK(evidence.sockets[0].recv_queue == 77);
}

TEST_CASE_FIXTURE(Node,
                  "no more looks are queued behind hanging ones; other evidence is reported") {
  Subject subject(script("time.sleep(1000)\n"));
  REQUIRE(subject.says("ready"));
  context.slow_looks = kSlowLooksMax;
  std::optional<Evidence> evidence;
  const auto collector =
      EvidenceCollector::start(context, suspect(subject), seconds(15),
                               [&](Evidence came) { evidence.emplace(std::move(came)); });
  REQUIRE(loop.run_until([&] { return evidence.has_value(); }, seconds(60)));
  CHECK(misses(*evidence, "process: too many looks are under way on this node, or hang"));
  CHECK_FALSE(evidence->has_process);
  CHECK(evidence->stacks.size() == 1);
  CHECK(context.slow_looks == kSlowLooksMax);
}

TEST_CASE_FIXTURE(Node, "a dropped collector does not call back and leaves no program") {
  const Subject subject({"sleep", "1000"});
  context.executable = program("gpus", "echo $$ >" + (folder / "pid") + "; exec sleep 1000");
  bool called = false;
  auto collector = EvidenceCollector::start(context, suspect(subject), seconds(15),
                                            [&](const Evidence&) { called = true; });
  pid_t helper = 0;
  REQUIRE(loop.run_until([&] {
    std::ifstream(folder / "pid") >> helper;
    return helper > 0;
  }));
  collector.reset();
  CHECK(loop.run_until([&] { return ::kill(helper, 0) != 0; }));
  CHECK_FALSE(called);
}

}  // namespace
}  // namespace robustrun::agent::evidence_collector_test
