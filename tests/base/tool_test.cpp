#include "base/io/tool.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "tests/base/support.h"

namespace tool_test {

using namespace robustrun::base;
using namespace std::chrono_literals;
using robustrun::test::Scratch;
using robustrun::test::wait_until;

namespace {

Result<ToolResult> shell(const std::string& script, std::chrono::milliseconds deadline = 20s) {
  return run_tool({"/bin/sh", "-c", script}, deadline);
}

bool is_gone(pid_t pid) {
  const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat", 4096);
  return !stat || stat->find(") Z ") != std::string::npos;
}

void check_no_children() {
  siginfo_t left{};
  CHECK(::waitid(P_ALL, 0, &left, WEXITED | WNOHANG | WNOWAIT) == -1);
  CHECK(errno == ECHILD);
}

}  // namespace

TEST_CASE("a tool's output streams and status come back") {
  const auto result = shell("echo out; echo err >&2; exit 9");
  REQUIRE(result);
  CHECK(result->out == "out\n");
  CHECK(result->err == "err\n");
  CHECK(result->status == ExitStatus{ExitStatus::Kind::kExited, 9, false});
  CHECK(shell("kill -KILL $$").value().status ==
        ExitStatus{ExitStatus::Kind::kSignaled, SIGKILL, false});
  CHECK(run_tool({"/bin/echo", "a b", "", "$x"}, 20s).value().out == "a b  $x\n");
  check_no_children();
}

TEST_CASE("a tool reads end of file from its standard input") {
  CHECK(run_tool({"/bin/cat"}, 20s).value().status.success());
}

TEST_CASE("output beyond the limit is read and dropped") {
  const auto result = shell("head -c 20000000 /dev/zero; head -c 20000000 /dev/zero >&2; exit 3");
  REQUIRE(result);
  CHECK(result->out.size() == kToolOutputBytesMax);
  CHECK(result->err.size() == kToolErrorBytesMax);
  CHECK(result->status.code == 3);
}

TEST_CASE("output right before a tool's end is complete") {
  for (int round = 0; round < 30; ++round) {
    const auto result = run_tool({"/usr/bin/head", "-c", "1000000", "/dev/zero"}, 20s);
    REQUIRE(result);
    CHECK(result->out.size() == 1'000'000);
  }
}

TEST_CASE("the deadline kills a tool and what it has started") {
  const Scratch scratch;
  const std::string file = scratch / "pid";
  std::string text;
  // A slow machine may need a longer deadline for the script to get as far as its second line.
  for (auto deadline = 100ms; text.empty() && deadline < 20s; deadline *= 4) {
    const auto start = std::chrono::steady_clock::now();
    const auto result = shell("trap '' TERM; sleep 1000 & echo $! >" + file + "; wait", deadline);
    REQUIRE_FALSE(result);
    CHECK(result.error().code == Errc::kTimeout);
    CHECK(std::chrono::steady_clock::now() - start < deadline + 5s);
    text = read_file(file, 100).value_or("");
  }
  const auto pid = parse_int<pid_t>(trim(text));
  REQUIRE(pid);
  CHECK(wait_until([&] { return is_gone(*pid); }));
  check_no_children();
}

TEST_CASE("a daemon that keeps a tool's output open is not waited for") {
  const auto result = shell("sleep 1000 & echo $!");
  REQUIRE(result);
  const auto pid = parse_int<pid_t>(trim(result->out));
  REQUIRE(pid);
  CHECK_FALSE(is_gone(*pid));
  ::kill(*pid, SIGKILL);
}

TEST_CASE("a file that is not executable is not started") {
  const Scratch scratch;
  REQUIRE(write_file_atomically(scratch / "text", "x", 0600));
  for (const std::string& path :
       {scratch / "none", scratch / "text", scratch.path(), std::string("sh"), std::string("")}) {
    CAPTURE(path);
    CHECK(run_tool({path}, 1s).error().code == Errc::kNotFound);
  }
}

TEST_CASE("an exec that still fails is one error and leaves no zombie") {
  const Scratch scratch;
  const std::string path = scratch / "garbage";
  REQUIRE(write_file_atomically(path,
                                std::string("\x7f"
                                            "garbage",
                                            8),
                                0700));
  const auto result = run_tool({path}, 20s);
  REQUIRE_FALSE(result);
  CHECK(result.error().os_errno == ENOEXEC);
  check_no_children();
}

TEST_CASE("no descriptor of ours reaches a tool, and none is left open") {
  const FdPair careless = make_pipe().value();
  const Fd high(::fcntl(careless.first.get(), F_DUPFD, 123));  // without close-on-exec
  REQUIRE(high.get() >= 123);
  const auto count = [] {
    const std::filesystem::directory_iterator entries("/proc/self/fd");
    return std::distance(begin(entries), end(entries));
  };
  const auto before = count();
  const auto result = run_tool({"/bin/ls", "/proc/self/fd"}, 20s);
  REQUIRE(result);
  CHECK(result->out == "0\n1\n2\n3\n");  // 3 is the folder that ls reads
  CHECK(count() == before);
}

TEST_CASE("a tool started from a thread that blocks signals does not inherit that") {
  std::string out;
  std::jthread([&] {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    const auto result = run_tool({"/bin/grep", "SigBlk", "/proc/self/status"}, 20s);
    if (result) out = result->out;
  }).join();
  CHECK(out == "SigBlk:\t0000000000000000\n");
}

TEST_CASE("a tool and its children end as soon as the stop descriptor is readable") {
  const Scratch scratch;
  const auto stop = make_pipe();
  REQUIRE(stop);
  const std::string script = "sleep 1000 & echo $! > " + (scratch / "new") + "; mv " +
                             (scratch / "new") + " " + (scratch / "pid") + "; wait";
  std::jthread teller([&] {
    static_cast<void>(wait_until([&] { return std::filesystem::exists(scratch / "pid"); }));
    static_cast<void>(write_all(stop->second.get(), "x"));
  });
  const auto result = run_tool({"/bin/sh", "-c", script}, 100s, {}, stop->first.get());
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Errc::kTimeout);
  const auto pid = parse_int<pid_t>(trim(read_file(scratch / "pid", 64).value()));
  CHECK(wait_until([&] { return is_gone(*pid); }));
}

TEST_CASE("find_executable walks the path in order and skips what cannot run") {
  const Scratch scratch;
  for (const char* folder : {"a", "b", "c"}) REQUIRE(make_directories(scratch / folder, 0700));
  REQUIRE(write_file_atomically(scratch / "a/tool", "", 0600));
  REQUIRE(write_file_atomically(scratch / "b/tool", "", 0700));
  REQUIRE(write_file_atomically(scratch / "c/tool", "", 0700));
  const std::string path = scratch / "a" + ":" + scratch / "b" + ":" + scratch / "c";
  CHECK(find_executable("tool", path).value() == scratch / "b/tool");
  CHECK(find_executable("nothing", path).error().code == Errc::kNotFound);
  CHECK(find_executable("", path).error().code == Errc::kNotFound);
  CHECK(find_executable(scratch / "c/tool", "").value() == scratch / "c/tool");
  CHECK(find_executable(scratch / "a/tool", path).error().code == Errc::kNotFound);
}

TEST_CASE("find_executable keeps links: an interpreter is found through its own name") {
  const Scratch scratch;
  std::filesystem::create_symlink("/bin/sh", scratch / "python");
  CHECK(find_executable("python", scratch.path()).value() == scratch / "python");
}

}  // namespace tool_test
