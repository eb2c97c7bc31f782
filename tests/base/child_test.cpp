#include "base/io/child.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/executor_work_guard.hpp>
#include <csignal>
#include <map>
#include <optional>

#include "base/core/text.h"
#include "tests/base/support.h"

namespace child_test {

using namespace robustrun::base;
using robustrun::test::run_until;
using robustrun::test::wait_until;

namespace {

ChildOptions shell(const std::string& script) {
  return {.executable = "/bin/sh",
          .argv = {"sh", "-c", script},
          .environment = {"LC_ALL=C"},
          .descriptors = {-1, -1, 2}};
}

std::string link_of(const std::string& path) {
  char target[256];
  const ssize_t size = ::readlink(path.c_str(), target, sizeof target);
  return size < 0 ? "" : std::string(target, static_cast<std::size_t>(size));
}

std::string own_descriptor(int fd) { return link_of("/proc/self/fd/" + std::to_string(fd)); }

// Target of every open descriptor of `pid`, by its number.
std::map<int, std::string> descriptors_of(pid_t pid) {
  std::map<int, std::string> found;
  const std::string folder = "/proc/" + std::to_string(pid) + "/fd";
  DIR* const listing = ::opendir(folder.c_str());
  REQUIRE(listing != nullptr);
  while (const dirent* entry = ::readdir(listing)) {
    const auto number = parse_int<int>(entry->d_name);
    if (number) found[*number] = link_of(folder + "/" + entry->d_name);
  }
  ::closedir(listing);
  return found;
}

// A child that lives until its standard input, a pipe of ours, ends.
struct Sleeper {
  boost::asio::io_context loop;
  FdPair in = make_pipe().value();
  std::optional<ExitStatus> status;
  std::unique_ptr<Child> child;

  void start(std::vector<int> descriptors) {
    descriptors.at(0) = in.first.get();
    const ChildOptions options{.executable = "/bin/cat",
                               .argv = {"cat"},
                               .environment = {},
                               .descriptors = std::move(descriptors)};
    auto spawned = Child::spawn(loop.get_executor(), options, [this](ExitStatus s) { status = s; });
    REQUIRE(spawned);
    child = *std::move(spawned);
    // Once it has read a byte, its loader, which opens files, is done.
    REQUIRE(write_all(in.second.get(), "x"));
    int unread = 1;
    CHECK(
        wait_until([&] { return ::ioctl(in.first.get(), FIONREAD, &unread) == 0 && unread == 0; }));
  }

  void finish() {
    in.second.reset();
    CHECK(run_until(loop, [this] { return status.has_value(); }));
  }
};

}  // namespace

TEST_CASE("a kernel on which children are watched has pidfds") { CHECK(has_pidfd()); }

TEST_CASE("exit(9) and death by SIGKILL are distinct") {
  boost::asio::io_context loop;
  std::optional<ExitStatus> exited;
  std::optional<ExitStatus> killed;
  const auto first = Child::spawn(loop.get_executor(), shell("exit 9"),
                                  [&](ExitStatus status) { exited = status; });
  const auto second = Child::spawn(loop.get_executor(), shell("kill -KILL $$"),
                                   [&](ExitStatus status) { killed = status; });
  REQUIRE(first);
  REQUIRE(second);
  REQUIRE(run_until(loop, [&] { return exited && killed; }));
  CHECK(*exited == ExitStatus{ExitStatus::Kind::kExited, 9, false});
  CHECK(*killed == ExitStatus{ExitStatus::Kind::kSignaled, SIGKILL, false});
}

TEST_CASE("of 300 children at once no exit is missed, stolen or reported twice") {
  boost::asio::io_context loop;
  constexpr int kChildren = 300;
  std::vector<std::unique_ptr<Child>> children;
  std::vector<std::vector<ExitStatus>> ends(kChildren);
  for (int i = 0; i < kChildren; ++i) {
    const bool dies = i % 10 == 0;
    auto child = Child::spawn(
        loop.get_executor(), shell(dies ? "kill -KILL $$" : "exit " + std::to_string(i % 200)),
        [&ends, i](ExitStatus status) { ends[static_cast<std::size_t>(i)].push_back(status); });
    REQUIRE(child);
    children.push_back(*std::move(child));
  }
  REQUIRE(run_until(loop, [&] {
    return std::ranges::all_of(ends, [](const auto& end) { return !end.empty(); });
  }));
  for (int i = 0; i < kChildren; ++i) {
    const ExitStatus wanted = i % 10 == 0 ? ExitStatus{ExitStatus::Kind::kSignaled, SIGKILL, false}
                                          : ExitStatus{ExitStatus::Kind::kExited, i % 200, false};
    CHECK(ends[static_cast<std::size_t>(i)] == std::vector{wanted});
  }
  siginfo_t left{};
  CHECK(::waitid(P_ALL, 0, &left, WEXITED | WNOHANG | WNOWAIT) == -1);  // no zombie either
}

TEST_CASE("no descriptor but the given ones reaches a child") {
  // Without close-on-exec, as a careless library would make them.
  const Fd careless(::socket(AF_INET, SOCK_STREAM, 0));
  const Fd high(::fcntl(careless.get(), F_DUPFD, 200));
  REQUIRE(careless);
  REQUIRE(high);
  const FdPair given = make_pipe().value();
  Sleeper sleeper;
  sleeper.start({-1, -1, -1, given.second.get()});
  const auto found = descriptors_of(sleeper.child->pid());
  CHECK(found.size() == 4);
  CHECK(found.at(0) == own_descriptor(sleeper.in.first.get()));
  CHECK(found.at(1) == "/dev/null");
  CHECK(found.at(2) == "/dev/null");
  CHECK(found.at(3) == own_descriptor(given.second.get()));
  sleeper.finish();
}

TEST_CASE("missing standard descriptors are /dev/null") {
  Sleeper sleeper;
  sleeper.start({-1});
  const auto found = descriptors_of(sleeper.child->pid());
  CHECK(found.size() == 3);
  CHECK(found.at(2) == "/dev/null");
  sleeper.finish();
}

TEST_CASE("source numbers that are also target numbers arrive in the right places") {
  Sleeper sleeper;
  // Ten distinct files, whose numbers here overlap with the target numbers there.
  std::vector<FdPair> pipes;
  std::vector<int> sources;
  for (int i = 0; i < 5; ++i) {
    pipes.push_back(make_pipe().value());
    sources.push_back(pipes.back().first.get());
    sources.push_back(pipes.back().second.get());
  }
  const int highest = std::ranges::max(sources);
  std::vector<int> descriptors(static_cast<std::size_t>(highest) + 1, -1);
  // Every source is passed as its neighbour's number, in a ring: each dup2 in the naive order
  // would overwrite the next source.
  std::vector<std::size_t> targets;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    targets.push_back(static_cast<std::size_t>(sources[(i + 1) % sources.size()]));
    descriptors.at(targets.back()) = sources[i];
  }
  sleeper.start(descriptors);
  auto found = descriptors_of(sleeper.child->pid());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    CHECK(found[static_cast<int>(targets[i])] == own_descriptor(sources[i]));
  }
  CHECK(found.size() == descriptors.size());
  sleeper.finish();
}

TEST_CASE("one source may be given for several targets, and for its own number") {
  const FdPair given = make_pipe().value();
  const int number = given.second.get();
  std::vector<int> descriptors(static_cast<std::size_t>(number) + 2, number);
  Sleeper sleeper;
  sleeper.start(descriptors);
  auto found = descriptors_of(sleeper.child->pid());
  CHECK(found[number] == own_descriptor(number));
  CHECK(found[number + 1] == own_descriptor(number));
  CHECK(found[1] == own_descriptor(number));
  sleeper.finish();
}

TEST_CASE("a failed exec is an error of spawn, and leaves neither child nor descriptor") {
  boost::asio::io_context loop;
  const std::size_t before = descriptors_of(::getpid()).size();
  ChildOptions options = shell("");
  options.executable = "/nonexistent/program";
  auto child = Child::spawn(loop.get_executor(), options, [](ExitStatus) { FAIL("called"); });
  REQUIRE_FALSE(child);
  CHECK(child.error().os_errno == ENOENT);
  CHECK(child.error().what == "cannot start /nonexistent/program: No such file or directory");
  options = shell("");
  options.descriptors = {-1, -1, -1, 999};
  CHECK(Child::spawn(loop.get_executor(), options, [](ExitStatus) {}).error().os_errno == EBADF);
  CHECK(descriptors_of(::getpid()).size() == before);
  siginfo_t left{};
  CHECK(::waitid(P_ALL, 0, &left, WEXITED | WNOHANG | WNOWAIT) == -1);
}

TEST_CASE("a child leads its own session, blocks no signal and ignores none") {
  sigset_t blocked;
  sigset_t before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGUSR1);
  REQUIRE(::sigprocmask(SIG_BLOCK, &blocked, &before) == 0);
  auto* const handler = ::signal(SIGHUP, SIG_IGN);
  Sleeper sleeper;
  sleeper.start({-1});
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  ::signal(SIGHUP, handler);
  const pid_t pid = sleeper.child->pid();
  CHECK(::getsid(pid) == pid);
  const std::string status =
      robustrun::base::read_file("/proc/" + std::to_string(pid) + "/status", 1 << 16).value();
  CHECK(status.find("SigBlk:\t0000000000000000") != std::string::npos);
  // posix_spawn leaves the C library's own two signals, 32 and 33, ignored.
  const bool ignores_none = status.find("SigIgn:\t0000000000000000") != std::string::npos ||
                            status.find("SigIgn:\t0000000180000000") != std::string::npos;
  CHECK(ignores_none);
  sleeper.finish();
}

TEST_CASE("without new_session a child stays in ours") {
  boost::asio::io_context loop;
  std::optional<ExitStatus> end;
  ChildOptions options = shell("read line");
  FdPair in = make_pipe().value();
  options.new_session = false;
  options.descriptors[0] = in.first.get();
  const auto child = Child::spawn(loop.get_executor(), options, [&](ExitStatus s) { end = s; });
  REQUIRE(child);
  CHECK(::getsid((*child)->pid()) == ::getsid(0));
  in.second.reset();
  CHECK(run_until(loop, [&] { return end.has_value(); }));
}

TEST_CASE("a signal reaches the child, and no process once the child is gone") {
  Sleeper sleeper;
  sleeper.start({-1});
  REQUIRE(sleeper.child->signal(SIGTERM));
  REQUIRE(run_until(sleeper.loop, [&] { return sleeper.status.has_value(); }));
  CHECK(describe(*sleeper.status) == "SIGTERM");
  const Status late = sleeper.child->signal(SIGTERM);
  REQUIRE_FALSE(late);
  CHECK(late.error().code == Errc::kNotFound);
}

TEST_CASE("a child may be destroyed inside its own exit handler") {
  boost::asio::io_context loop;
  std::unique_ptr<Child> child;
  bool called = false;
  const auto owner = std::make_shared<int>(1);
  auto spawned = Child::spawn(loop.get_executor(), shell("exit 0"), [&, owner](ExitStatus) {
    child.reset();
    called = *owner == 1;
  });
  REQUIRE(spawned);
  child = *std::move(spawned);
  REQUIRE(run_until(loop, [&] { return called; }));
  CHECK(owner.use_count() == 1);
}

TEST_CASE(
    "a destroyed Child reports nothing, does not kill, and reaps the process if it was dead") {
  Sleeper living;
  living.start({-1});
  const pid_t pid = living.child->pid();
  living.child.reset();
  CHECK(::kill(pid, 0) == 0);
  living.in.second.reset();
  siginfo_t info{};
  CHECK(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED) == 0);  // ours to reap again

  Sleeper dead;
  dead.start({-1});
  const pid_t gone = dead.child->pid();
  dead.in.second.reset();
  REQUIRE(::waitid(P_PID, static_cast<id_t>(gone), &info, WEXITED | WNOWAIT) == 0);
  dead.child.reset();
  CHECK(::waitid(P_PID, static_cast<id_t>(gone), &info, WEXITED | WNOHANG) == -1);
  dead.loop.run_for(std::chrono::milliseconds(1));
  CHECK_FALSE(dead.status);
}

TEST_CASE("an inherited SIG_IGN for SIGCHLD does not lose exit statuses") {
  auto* const before = ::signal(SIGCHLD, SIG_IGN);
  boost::asio::io_context loop;
  std::optional<ExitStatus> end;
  const auto child =
      Child::spawn(loop.get_executor(), shell("exit 7"), [&](ExitStatus status) { end = status; });
  REQUIRE(child);
  CHECK(run_until(loop, [&] { return end.has_value(); }));
  CHECK(end == ExitStatus{ExitStatus::Kind::kExited, 7, false});
  ::signal(SIGCHLD, before);
}

}  // namespace child_test
