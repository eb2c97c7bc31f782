// Stacks that a real interpreter writes, and files that hold none.
#include "agent/evidence/python_stacks.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

#include "agent/evidence/process_look.h"
#include "agent/node/limits.h"
#include "tests/agent/evidence/subject.h"
#include "tests/paths.h"
#include "tests/scratch_folder.h"
#include "tests/support/loop.h"

namespace robustrun::agent::python_stacks_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const int kSignal = SIGRTMIN + 8;

// Installed as the boot module does it.
const std::string kHandler =
    "import ctypes, faulthandler, sys, threading, time\n"
    "faulthandler.register(int(sys.argv[2]), file=open(sys.argv[1], 'ab', buffering=0),\n"
    "                      all_threads=True, chain=False)\n"
    "def ready():\n"
    "    print('ready', flush=True)\n";

struct Fixture {
  test::ScratchFolder folder;
  test::Loop loop;
  std::string file = folder / "stack";
  int sent = 0;

  std::vector<std::string> script(const std::string& rest) const {
    return python(kHandler + rest, {file, std::to_string(kSignal)});
  }
  Suspect suspect(const Subject& subject) {
    Suspect suspected;
    suspected.pid = subject.pid();
    suspected.stack_file = file;
    suspected.stack_signal = kSignal;
    suspected.apart = milliseconds(20);
    suspected.signal = [this, &subject](int number) {
      ++sent;
      subject.signal(number);
    };
    return suspected;
  }
  PythonStacks::Answer look(const Suspect& suspected, milliseconds within = seconds(20)) {
    std::optional<PythonStacks::Answer> answer;
    const auto stacks =
        PythonStacks::start(loop.executor(), suspected, within,
                            [&](PythonStacks::Answer came) { answer.emplace(std::move(came)); });
    CHECK_FALSE(answer.has_value());
    REQUIRE(loop.run_until([&] { return answer.has_value(); }, seconds(60)));
    return *std::move(answer);
  }
  // A process that has just printed "ready" may not sleep yet.
  PythonStacks::Answer look_until_still(const Suspect& suspected) {
    PythonStacks::Answer answer;
    CHECK(wait_until([&] {
      answer = look(suspected);
      CHECK(answer.missing.empty());
      return !answer.moved;
    }));
    return answer;
  }
};

TEST_CASE_FIXTURE(Fixture, "a sleeping interpreter shows where it is, and that it does not move") {
  Subject subject(
      script("def wait():\n"
             "    ready()\n"
             "    time.sleep(1000)\n"
             "threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n"
             "wait()\n"));
  REQUIRE(subject.says("ready"));
  const auto answer = look_until_still(suspect(subject));
  CHECK(sent % 2 == 0);
  REQUIRE(answer.dump.stacks.size() == 2);
  CHECK(answer.dump.stacks[0].is_main);
  CHECK(answer.dump.stacks[0].frames.at(0).function == "wait");
  CHECK(answer.dump.stacks[0].frames.back().function == "<module>");
  CHECK(answer.dump.stacks[1].frames.back().function == "_bootstrap");
}

TEST_CASE_FIXTURE(Fixture, "the GIL may be held by a thread that sleeps in C") {
  // A handled signal ends a sleep in C.
  Subject subject(
      script("ready()\n"
             "library = ctypes.PyDLL(None)\n"
             "while True: library.usleep(ctypes.c_uint(1000000000))\n"));
  REQUIRE(subject.says("ready"));
  const auto answer = look_until_still(suspect(subject));
  REQUIRE(answer.dump.stacks.size() == 1);
  CHECK(answer.dump.stacks[0].frames.size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "the boot module's handler writes where the agent looks") {
  const std::string program = folder.write("train.py",
                                           "import time\n"
                                           "def step():\n"
                                           "    print('ready', flush=True)\n"
                                           "    time.sleep(1000)\n"
                                           "step()\n");
  Subject subject({"env", "ROBUSTRUN_RECORD=" + (folder / "3.0.record"),
                   fmt::format("ROBUSTRUN_STACK_SIGNAL={}", kSignal), python("").front(), "-u",
                   in_source("python/robustrun/boot.py"), "script", program});
  REQUIRE(subject.says("ready"));
  file = folder / "3.0.stack";
  const auto answer = look_until_still(suspect(subject));
  REQUIRE(answer.dump.stacks.size() == 1);
  CHECK(answer.dump.stacks[0].frames.at(0) == tracer::Frame{"step", program, 4});
  CHECK(answer.dump.stacks[0].frames.back().function == "<module>");
}

TEST_CASE_FIXTURE(
    Fixture,
    "a main thread that is elsewhere at the second look moves, and the first look is reported") {
  Subject subject(
      script("import os\n"
             "def first():\n"
             "    ready()\n"
             "    while not os.path.getsize(sys.argv[1]): time.sleep(0.001)\n"
             "def second():\n"
             "    print('second', flush=True)\n"
             "    time.sleep(1000)\n"
             "first()\n"
             "second()\n"));
  REQUIRE(subject.says("ready"));
  Suspect suspected = suspect(subject);
  suspected.signal = [&](int number) {
    if (++sent == 2) CHECK(subject.says("second"));
    subject.signal(number);
  };
  const auto answer = look(suspected);
  CHECK(answer.missing.empty());
  CHECK(answer.moved);
  const auto& frames = answer.dump.stacks.at(0).frames;
  CHECK(frames.back().line > 0);
  const auto is_in = [&](const char* function) {
    return std::ranges::find(frames, function, &tracer::Frame::function) != frames.end();
  };
  CHECK(is_in("first"));
  CHECK_FALSE(is_in("second"));
}

TEST_CASE_FIXTURE(Fixture, "earlier content of the file is skipped, and a long file is truncated") {
  Subject subject(script("ready()\ntime.sleep(1000)\n"));
  REQUIRE(subject.says("ready"));
  const std::string old =
      "Thread 0x1 (most recent call first):\n  File \"old\", line 1 in <module>\n";
  std::ofstream(file, std::ios::app) << old;
  auto answer = look(suspect(subject));
  REQUIRE(answer.dump.stacks.size() == 1);
  CHECK(answer.dump.stacks[0].frames.at(0).file == "<string>");
  CHECK(std::filesystem::file_size(file) > old.size());
  std::ofstream(file, std::ios::app) << std::string(kStackFileBytesMax, '\n');
  answer = look(suspect(subject));
  CHECK(answer.dump.stacks.size() == 1);
  CHECK(std::filesystem::file_size(file) < kStackFileBytesMax);
}

TEST_CASE_FIXTURE(Fixture, "with more than a hundred threads the main one is unknown") {
  Subject subject(
      script("for i in range(110):\n"
             "    threading.Thread(target=time.sleep, args=(1000,),\n"
             "                     daemon=True).start()\n"
             "ready()\n"
             "time.sleep(1000)\n"));
  REQUIRE(subject.says("ready"));
  const auto answer = look(suspect(subject));
  CHECK(answer.missing == "with so many threads the main thread's stack is not written");
  CHECK(answer.dump.stacks.size() == 100);
  CHECK(main_stack(answer.dump.stacks) == nullptr);
}

TEST_CASE_FIXTURE(Fixture,
                  "no signal is sent to a process that has no handler, is stopped, dead or gone") {
  Subject shell({"sh", "-c", "echo ready; exec sleep 1000"});
  REQUIRE(shell.says("ready"));
  folder.write("stack", "");
  Suspect suspected = suspect(shell);
  CHECK(look(suspected).missing == "the worker has no handler installed");
  suspected.stack_file.clear();
  CHECK(look(suspected).missing == "the worker was started without our handler");
  suspected = suspect(shell);
  suspected.stack_signal = 0;
  CHECK(look(suspected).missing == "the worker was started without our handler");
  Subject stopped(script("ready()\ntime.sleep(1000)\n"));
  REQUIRE(stopped.says("ready"));
  stopped.signal(SIGSTOP);
  REQUIRE(wait_until([&] { return signal_state(stopped.pid(), kSignal).is_stopped; }));
  suspected = suspect(stopped);
  CHECK(look(suspected).missing == "the worker is stopped");
  stopped.end();
  CHECK(look(suspected).missing == "the worker has no handler installed");
  CHECK(sent == 0);
}

TEST_CASE_FIXTURE(Fixture, "a signal that is not taken is not sent again") {
  // The handler stays installed while the signal is blocked.
  Subject subject(
      script("import signal\n"
             "signal.pthread_sigmask(signal.SIG_BLOCK, [int(sys.argv[2])])\n"
             "ready()\ntime.sleep(1000)\n"));
  REQUIRE(subject.says("ready"));
  const Suspect suspected = suspect(subject);
  CHECK(look(suspected, milliseconds(100)).missing ==
        "the worker has not taken the signal in time");
  CHECK(sent == 1);
  CHECK(look(suspected).missing == "the worker has not taken the signal of an earlier look");
  CHECK(sent == 1);
}

TEST_CASE_FIXTURE(Fixture,
                  "a stack file that is not a regular file, or another user's, is not opened") {
  Subject subject(script("ready()\ntime.sleep(1000)\n"));
  REQUIRE(subject.says("ready"));
  Suspect suspected = suspect(subject);
  suspected.stack_file = folder / "none";
  CHECK(look(suspected).missing == "its stack file cannot be read: No such file or directory");
  suspected.stack_file = folder / "pipe";
  REQUIRE(::mkfifo(suspected.stack_file.c_str(), 0600) == 0);
  CHECK(look(suspected).missing == "its stack file is not a regular file");
  suspected.stack_file = folder / "link";
  std::filesystem::create_symlink(file, suspected.stack_file);
  CHECK(look(suspected).missing ==
        "its stack file cannot be read: Too many levels of symbolic links");
  CHECK(sent == 0);
}

// Instead of a worker's handler, the test writes when the worker is to be signalled.
struct Writer : Fixture {
  Subject subject{
      {"sh", "-c", fmt::format("trap : {}; echo ready; while :; do sleep 1; done", kSignal)}};

  PythonStacks::Answer look_at(std::function<void()> handler, milliseconds within = seconds(20)) {
    REQUIRE(subject.says("ready"));
    if (!std::filesystem::exists(file)) folder.write("stack", "");
    Suspect suspected = suspect(subject);
    suspected.signal = [handler = std::move(handler)](int) { handler(); };
    return look(suspected, within);
  }
  void append(const std::string& text) const {
    std::ofstream(file, std::ios::app | std::ios::binary) << text;
  }
};

TEST_CASE_FIXTURE(Writer, "noise is no stack") {
  CHECK(look_at([&] { append(std::string(3000, '\xff')); }).missing ==
        "the output of the worker's handler cannot be parsed");
}

TEST_CASE_FIXTURE(Writer, "a file that grows without end is read up to its limit") {
  std::atomic<bool> over = false;
  std::thread growth;
  const auto answer = look_at([&] {
    if (growth.joinable()) return;
    growth = std::thread([&] {
      while (!over) append("\nThread 0x1 (most recent call first):\n  File \"a\", line 1 in f\n");
    });
  });
  over = true;
  growth.join();
  CHECK(answer.dump.stacks.size() == 1);
}

TEST_CASE_FIXTURE(Writer, "a dump that is written slowly is waited for") {
  std::optional<std::thread> slow;
  int dumps = 0;
  const auto answer = look_at([&] {
    if (slow) slow->join();
    const int number = ++dumps;
    slow.emplace([this, number] {
      append("Thread 0x2 (most recent call first):\n  File \"a\", line 1 in f\n\n");
      std::this_thread::sleep_for(kStackPoll * (kStackQuietPolls + 3));
      append("Current thread 0x1 (most recent call first):\n");
      std::this_thread::sleep_for(kStackPoll * (kStackQuietPolls + 3));
      append(fmt::format("  File \"b\", line {} in <module>\n", number));
    });
  });
  slow->join();
  CHECK(answer.missing.empty());
  REQUIRE(answer.dump.stacks.size() == 2);
  CHECK(answer.dump.stacks[0].frames.at(0).line == 1);  // the first dump is the answer
  CHECK(answer.moved);
}

TEST_CASE_FIXTURE(Writer, "if only one dump comes, it is the answer, and the second is missing") {
  int dumps = 0;
  const auto answer = look_at(
      [&] {
        if (++dumps == 1) {
          append(
              "Current thread 0x1 (most recent call first):\n  File \"a\", line 1 in <module>\n");
        }
      },
      seconds(3));
  CHECK(answer.missing == "no second look in time");
  CHECK(answer.dump.stacks.size() == 1);
  CHECK_FALSE(answer.moved);
}

TEST_CASE_FIXTURE(Writer, "after it is dropped nothing is called") {
  REQUIRE(subject.says("ready"));
  folder.write("stack", "");
  bool called = false;
  auto stacks = PythonStacks::start(loop.executor(), suspect(subject), seconds(20),
                                    [&](const PythonStacks::Answer&) { called = true; });
  stacks.reset();
  loop.run_out();
  CHECK_FALSE(called);
}

}  // namespace
}  // namespace robustrun::agent::python_stacks_test
