// What real processes wait for, by the system calls of their threads.
#include "agent/evidence/thread_waits.h"

#include <doctest/doctest.h>

#include "agent/evidence/process_look.h"
#include "agent/evidence/worker_sockets.h"
#include "agent/node/limits.h"
#include "base/core/clock.h"
#include "tests/agent/evidence/subject.h"

namespace robustrun::agent::thread_waits_test {
namespace {

using tracer::MainWait;

ThreadWaits waits_of(pid_t pid) {
  const auto look = look_at_process(pid, "");
  return look ? thread_waits(look->tree, base::SystemClock().now()) : ThreadWaits();
}

constexpr const char* kImports =
    "import ctypes, os, queue, select, socket, subprocess, sys, threading, time\n"
    "def beside(work):\n"
    "    threading.Thread(target=work, daemon=True).start()\n"
    "def peer():\n"
    "    global ends\n"
    "    server = socket.create_server(('127.0.0.1', 0))\n"
    "    ends = [socket.create_connection(server.getsockname()), server.accept()[0]]\n"
    "    return ends[0]\n"
    "def ready():\n"
    "    print('ready')\n";

struct Row {
  const char* what;
  const char* script;
  MainWait main;
  bool others_idle;
};

constexpr Row kRows[] = {
    {"a long sleep", "ready(); time.sleep(1000)", MainWait::kSleep, true},
    {"a long sleep in C", "ready(); ctypes.CDLL(None).sleep(1000)", MainWait::kSleep, true},
    {"a long sleep by select()", "ready(); select.select([], [], [], 1000)", MainWait::kSleep,
     true},
    {"a sleep that is over before a hang is acted upon", "ready(); time.sleep(50)",
     MainWait::kOther, true},
    {"a poll of something, again and again",
     "ready()\nwhile not os.path.exists('/nothing'): time.sleep(5)", MainWait::kOther, true},
    {"a lock", "lock = threading.Lock(); lock.acquire(); ready(); lock.acquire()", MainWait::kLock,
     true},
    {"an event without a time limit", "ready(); threading.Event().wait()", MainWait::kLock, true},
    {"an event with a time limit", "ready(); threading.Event().wait(1000)", MainWait::kOther, true},
    {"a child", "ready(); subprocess.run(['sleep', '1000'])", MainWait::kOther, true},
    {"a child's output", "ready(); subprocess.run(['sleep', '1000'], stdout=subprocess.PIPE)",
     MainWait::kOther, true},
    {"input from a pipe", "pipe = os.pipe(); ready(); os.read(pipe[0], 1)", MainWait::kOther, true},
    {"a peer", "end = peer(); ready(); end.recv(1)", MainWait::kOther, true},
    {"a sleep beside a thread that waits for work",
     "beside(queue.Queue().get); ready(); time.sleep(1000)", MainWait::kSleep, true},
    {"a sleep beside an upload that waits for its answer",
     "end = peer(); beside(lambda: end.recv(1)); ready(); time.sleep(1000)", MainWait::kSleep,
     false},
    {"a sleep beside an upload that waits for its answer for a time",
     "end = peer(); end.settimeout(900); beside(lambda: end.recv(1)); ready(); time.sleep(1000)",
     MainWait::kSleep, false},
    {"a sleep beside a busy thread",
     "def spin():\n    while True: pass\nbeside(spin); ready(); time.sleep(1000)", MainWait::kSleep,
     false},
    {"a sleep beside a child that waits for its peer",
     "end = peer(); os.fork() or end.recv(1); ready(); time.sleep(1000)", MainWait::kSleep, false},
    {"a sleep beside a child that awaits orders",
     "pipe = os.pipe(); os.fork() or os.read(pipe[0], 1); ready(); time.sleep(1000)",
     MainWait::kSleep, true},
    {"a lock that a thread frees once its upload is over",
     "end = peer(); lock = threading.Lock(); lock.acquire()\nbeside(lambda: end.recv(1)); ready()\n"
     "lock.acquire()",
     MainWait::kLock, false},
};

TEST_CASE(
    "sleeps and locks of the main thread are told from all else, and idle threads from busy") {
  for (const Row& row : kRows) {
    CAPTURE(row.what);
    Subject subject(python(std::string(kImports) + row.script));
    REQUIRE(subject.says("ready"));
    CHECK(wait_until([&] {
      const ThreadWaits found = waits_of(subject.pid());
      return found.main == row.main && found.others_idle == row.others_idle;
    }));
  }
}

TEST_CASE("a short sleep is never a long one, at whatever moment it is looked at") {
  Subject subject(python("import time\nprint('ready')\nwhile True: time.sleep(0.01)"));
  REQUIRE(subject.says("ready"));
  for (int look = 0; look < 200; ++look) CHECK(waits_of(subject.pid()).main == MainWait::kOther);
}

TEST_CASE("nothing is known of a process that is gone") {
  Subject subject({"sleep", "1000"});
  const pid_t pid = subject.pid();
  subject.end();
  const pid_t tree[] = {pid};
  CHECK(thread_waits(tree, {}).main == MainWait::kOther);
  CHECK_FALSE(thread_waits({}, {}).others_idle);
}

tracer::SocketState connection(const char* peer, std::uint64_t received, std::uint64_t queued = 0) {
  tracer::SocketState made;
  made.local = "10.0.0.1:5000";
  made.peer = peer;
  made.bytes_received = received;
  made.send_queue = queued;
  return made;
}

TEST_CASE("only connections to other machines carry data, and signs of life are none") {
  const auto carry = [](const tracer::SocketState& before, const tracer::SocketState& after) {
    return carry_data({&before, 1}, {&after, 1});
  };
  const char* const other = "10.0.0.2:80";
  CHECK_FALSE(carry(connection(other, 100), connection(other, 100)));
  CHECK_FALSE(carry(connection(other, 100), connection(other, 100 + kIdleSocketBytes)));
  CHECK(carry(connection(other, 100), connection(other, 101 + kIdleSocketBytes)));
  CHECK(carry(connection(other, 100), connection(other, 100, 1)));
  CHECK(carry(connection(other, 100), connection("10.0.0.3:80", 100)));  // it has just begun
  for (const char* const own : {"127.0.0.1:80", "[::1]:80"}) {
    CHECK_FALSE(carry(connection(own, 100), connection(own, 1 << 20, 1)));
  }
}

}  // namespace
}  // namespace robustrun::agent::thread_waits_test
