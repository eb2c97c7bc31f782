#include "supervisor/outlets/outlets.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>

#include <filesystem>

#include "base/io/fd.h"
#include "base/io/log.h"
#include "supervisor/outlets/event_stream.h"
#include "supervisor/outlets/incident_hook.h"
#include "supervisor/outlets/metrics_file.h"
#include "tests/scratch_folder.h"
#include "tests/supervisor/job_journal.h"
#include "tests/supervisor/report_scenarios.h"
#include "tests/support/loop.h"

namespace robustrun::supervisor::outlets_test {
namespace {

using namespace std::chrono_literals;

std::string text_of(const std::string& path) {
  return base::read_file(path, std::size_t{1} << 24).value_or("");
}

struct Fixture {
  robustrun::test::ScratchFolder folder;
  robustrun::test::Loop loop;
  base::BlockingPool pool{loop.executor(), 3, 8};
  std::vector<std::string> said;  // of the log
  bool done = false;

  Fixture() {
    base::redirect_log([this](base::LogLevel, const base::LogContext&, std::string_view text) {
      said.emplace_back(text);
    });
  }
  ~Fixture() { base::redirect_log(nullptr); }

  std::unique_ptr<IncidentHook> hook(const std::string& script, IncidentHook::Limits limits = {}) {
    auto opened = IncidentHook::open(loop.executor(), pool, 2,
                                     {"/bin/sh", "-c", script, folder.path()}, limits);
    REQUIRE(opened);
    return *std::move(opened);
  }
  template <class Outlet>
  void finish(Outlet& outlet) {
    done = false;
    outlet.finish([this] { done = true; });
    REQUIRE(loop.run_until([this] { return done; }));
  }
  [[nodiscard]] bool has_said(const std::string& part) const {
    return std::ranges::any_of(
        said, [&](const std::string& line) { return line.find(part) != std::string::npos; });
  }
};

TEST_CASE("the command gets each incident, one after the other, and its output is in the log") {
  Fixture f;
  const auto hook = f.hook("cat >> $0/got; echo told; echo trouble >&2");
  hook->tell("{\"n\":1}\n");
  hook->tell("{\"n\":2}\n");
  f.finish(*hook);
  CHECK(text_of(f.folder / "got") == "{\"n\":1}\n{\"n\":2}\n");
  CHECK(f.has_said("--on-incident: told"));
  CHECK(f.has_said("--on-incident: trouble"));
}

TEST_CASE("a command that fails or is missing is logged, and the next incident is passed on") {
  Fixture f;
  const auto hook = f.hook("cat >> $0/got; exit 3");
  hook->tell("1");
  hook->tell("2");
  f.finish(*hook);
  CHECK(text_of(f.folder / "got") == "12");
  CHECK(f.has_said("ended with exit code 3"));
  auto missing = IncidentHook::open(f.loop.executor(), f.pool, 2, {f.folder / "none"}, {});
  REQUIRE(missing);
  (*missing)->tell("1");
  f.finish(**missing);
  CHECK(f.has_said("it is not an executable file"));
}

TEST_CASE("a task of scontrol is told in one line, with the cause when it fails") {
  Fixture f;
  auto hook = IncidentHook::open(f.loop.executor(), f.pool, 2, {"/bin/sh", "-c"}, {},
                                 {"--on-bad-node", "node"});
  REQUIRE(hook);
  (*hook)->run({{}, {"echo noise"}, "n3 is drained", "n3 is not drained"});
  (*hook)->run(
      {{}, {"echo 'error: Invalid user id' >&2; exit 1"}, "n4 is drained", "n4 is not drained"});
  (*hook)->run({{}, {"exit 2"}, "n5 is drained", "n5 is not drained"});
  f.finish(**hook);
  CHECK(f.said ==
        std::vector<std::string>{"--on-bad-node: n3 is drained",
                                 "--on-bad-node: n4 is not drained (error: Invalid user id)",
                                 "--on-bad-node: n5 is not drained (exit code 2)"});
}

TEST_CASE("a command that hangs is killed with its children when its time is over") {
  Fixture f;
  const auto hook = f.hook(
      "if [ -e $0/first ]; then cat > $0/second; exit; fi; "
      "touch $0/first; sleep 1000 & wait",
      {.time_max = 1500ms});  // in which a busy machine starts a shell, too
  hook->tell("1");
  hook->tell("2");
  f.finish(*hook);
  CHECK(text_of(f.folder / "second") == "2");
  CHECK(f.has_said("it was killed"));
}

TEST_CASE("the end of a run does not wait for a command that hangs") {
  Fixture f;
  const auto hook =
      f.hook("echo $$ > $0/pid.new; mv $0/pid.new $0/pid; exec sleep 1000", {.end_max = 100ms});
  hook->tell("1");
  hook->tell("2");
  REQUIRE(f.loop.run_until([&] { return std::filesystem::exists(f.folder / "pid"); }));
  f.finish(*hook);
  CHECK(f.has_said("outlasts the run; 1 incident dropped"));
  const std::string pid = text_of(f.folder / "pid");
  CHECK_FALSE(std::filesystem::exists("/proc/" + pid.substr(0, pid.size() - 1)));
}

TEST_CASE("incidents beyond the queue are dropped and said once") {
  Fixture f;
  const auto hook = f.hook("cat >> $0/got", {.queue_max = 2});
  for (int i = 0; i < 6; ++i) hook->tell("o");
  f.finish(*hook);
  CHECK(text_of(f.folder / "got") == "ooo");  // one ran, two waited
  CHECK(std::ranges::count_if(f.said, [](const std::string& line) {
          return line.find("is too slow") != std::string::npos;
        }) == 1);
}

TEST_CASE("a hook that goes away kills what runs") {
  Fixture f;
  auto hook = f.hook("echo $$ > $0/pid.new; mv $0/pid.new $0/pid; exec sleep 1000");
  hook->tell("1");
  REQUIRE(f.loop.run_until([&] { return std::filesystem::exists(f.folder / "pid"); }));
  const std::string pid = text_of(f.folder / "pid");
  hook.reset();
  CHECK(f.loop.run_until(
      [&] { return !std::filesystem::exists("/proc/" + pid.substr(0, pid.size() - 1)); }));
}

TEST_CASE("the file is a whole page, renewed, and the last one is written at the end") {
  Fixture f;
  int page = 0;
  const std::string path = f.folder / "run.prom";
  const auto file = MetricsFile::open(
      f.loop.executor(), f.pool, 0, path, [&] { return "page " + std::to_string(++page) + "\n"; },
      10ms);
  REQUIRE(f.loop.run_until([&] { return text_of(path) == "page 3\n"; }));
  struct stat info{};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0644);  // the node exporter is another user
  f.finish(*file);
  CHECK(text_of(path) == "page " + std::to_string(page) + "\n");
  for (const auto& entry : std::filesystem::directory_iterator(f.folder.path())) {
    CHECK(entry.path() == path);  // nothing is left beside it
  }
}

TEST_CASE("a page that cannot be written is logged once, and so is the recovery") {
  Fixture f;
  const std::string inside = f.folder / "gone";
  const auto file = MetricsFile::open(
      f.loop.executor(), f.pool, 0, inside + "/run.prom", [] { return std::string("page\n"); },
      5ms);
  REQUIRE(f.loop.run_until([&] { return !f.said.empty(); }));
  f.loop.run_for(30ms);
  CHECK(f.said.size() == 1);
  REQUIRE(std::filesystem::create_directory(inside));
  REQUIRE(f.loop.run_until([&] { return f.has_said("can be written again"); }));
  f.finish(*file);
  CHECK(text_of(inside + "/run.prom") == "page\n");
}

TEST_CASE("events are appended to what is there, in a file for its user alone") {
  Fixture f;
  const std::string path = f.folder / "events";
  for (const char* line : {"{\"a\":1}", "{\"a\":2}"}) {
    auto fd = EventStream::open_file(path);
    REQUIRE(fd);
    const auto stream =
        std::make_unique<EventStream>(f.loop.executor(), f.pool, 1, *std::move(fd), "events");
    stream->append(line);
    f.finish(*stream);
  }
  CHECK(text_of(path) == "{\"a\":1}\n{\"a\":2}\n");
  struct stat info{};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
  CHECK(EventStream::open_file(f.folder / "none/events").error().what.find("none/events") !=
        std::string::npos);
}

TEST_CASE("a pipe without a reader is refused, a reader that leaves is no trouble") {
  Fixture f;
  const std::string path = f.folder / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(EventStream::open_file(path).error().what.find("has no reader") != std::string::npos);
  base::Fd reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  auto fd = EventStream::open_file(path);
  REQUIRE(fd);
  const auto stream =
      std::make_unique<EventStream>(f.loop.executor(), f.pool, 1, *std::move(fd), path);
  stream->append("{}");
  char got[8] = {};
  REQUIRE(f.loop.run_until([&] { return ::read(reader.get(), got, sizeof got) == 3; }));
  reader.reset();
  for (int i = 0; i < 100; ++i) stream->append("{}");
  f.finish(*stream);
  CHECK(f.said.empty());
}

TEST_CASE("a full disk is logged once, and the gap is an object of its own") {
  Fixture f;
  base::Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  REQUIRE(full);
  const auto stream =
      std::make_unique<EventStream>(f.loop.executor(), f.pool, 1, std::move(full), "the events");
  stream->append("{}");
  REQUIRE(f.loop.run_until([&] { return !f.said.empty(); }));
  CHECK(f.has_said("cannot write the events: No space left on device"));
  f.finish(*stream);
  CHECK(f.said.size() == 1);
}

TEST_CASE("no outlets are none; all together tell a run's story, and the past counts untold") {
  Fixture f;
  const base::SystemClock clock;
  auto none = Outlets::open(f.loop.executor(), clock, {}, false);
  REQUIRE(none);
  CHECK(*none == nullptr);
  OutletPlan plan;
  plan.metrics_file = f.folder / "run.prom";
  plan.events_file = f.folder / "events";
  plan.on_incident = {"/bin/sh", "-c", "cat >> $0/incidents", f.folder.path()};
  auto opened = Outlets::open(f.loop.executor(), clock, plan, false);
  REQUIRE(opened);
  Outlets& outlets = **opened;
  const auto story = scenarios::recovered().entries;
  outlets.catch_up({story.begin(), story.begin() + 9});
  for (std::size_t i = 9; i < story.size(); ++i) outlets.take(story[i]);
  outlets.take(JobState::kFinished, story.back().at);
  RunStatus status = status_of_journal(story);
  outlets.begin([&] { return status; });
  outlets.end([&] { f.done = true; });
  REQUIRE(f.loop.run_until([&] { return f.done; }));
  const std::string events = text_of(plan.events_file);
  CHECK(events.find("run_started") == std::string::npos);
  CHECK(events.find(R"("rule":"restart")") != std::string::npos);
  CHECK(events.find(R"("event":"state","from":"running","to":"finished")") != std::string::npos);
  const std::string incidents = text_of(f.folder / "incidents");
  CHECK(std::ranges::count(incidents, '\n') == 1);
  CHECK(incidents.find(R"("rule":"worker_failed")") != std::string::npos);
  const std::string page = text_of(plan.metrics_file);
  CHECK(page.find("robustrun_steps_total{run_id=\"brave-otter-4711\"} 320\n") != std::string::npos);
}

// The subjects of the notices of a supervisor that takes a run over and gets it to run.
std::string mails_after(Fixture& f, const test::JobJournal& past) {
  const base::SystemClock clock;
  f.folder.write("sendmail", "#!/bin/sh\ngrep '^Subject' >> " + f.folder.path() + "/mails\n");
  OutletPlan plan;
  plan.notify.targets = {{NotifyTarget::Kind::kMail, "me@example.org"}};
  plan.notify.sendmail = f.folder / "sendmail";
  std::filesystem::permissions(plan.notify.sendmail, std::filesystem::perms::owner_all);
  auto opened = Outlets::open(f.loop.executor(), clock, plan, true);
  REQUIRE(opened);
  Outlets& outlets = **opened;
  outlets.catch_up(past.entries);
  const RunStatus status = status_of_journal(past.entries);
  outlets.begin([&] { return status; });
  base::Nanos at = past.entries.back().at;
  for (const JobState state :
       {status.state, JobState::kReserving, JobState::kStarting, JobState::kRunning}) {
    outlets.take(state, at += 5s);
  }
  outlets.end([&] { f.done = true; });
  REQUIRE(f.loop.run_until([&] { return f.done; }));
  return text_of(f.folder / "mails");
}

TEST_CASE("a supervisor that takes over a failed run says once that it has recovered") {
  Fixture f;
  test::Harness harness;
  harness.join_all();
  harness.begin();
  test::JobJournal journal(harness);
  harness.now += 60s;
  journal.tell({harness.now, {0}, {harness.generation[0]}, test::exited(0, 1, 1)});
  REQUIRE(harness.job.state() == JobState::kStopping);
  const std::string mails = mails_after(f, journal);
  CHECK(std::ranges::count(mails, '\n') == 1);
  CHECK(mails.find("recovered") != std::string::npos);
}

TEST_CASE("a supervisor that takes over a run that works says nothing about it") {
  Fixture f;
  test::Harness harness;
  harness.join_all();
  harness.begin();
  test::JobJournal journal(harness);
  harness.now += 60s;
  journal.tell({harness.now, {0}, {harness.generation[0]}, test::exited(0, 1, 1)});
  const std::size_t told = harness.journal.size();
  harness.recover();
  for (std::size_t i = told; i < harness.journal.size(); ++i) {
    journal.entries.push_back({harness.now, harness.journal[i]});
  }
  CHECK(mails_after(f, journal).empty());
}

TEST_CASE("a supervisor that takes over a run before it ran says that it has started") {
  Fixture f;
  test::Harness harness;
  CHECK(mails_after(f, test::JobJournal(harness)).find(": started (") != std::string::npos);
}

TEST_CASE("what cannot be opened is an error at the start, and a warning when a run is resumed") {
  Fixture f;
  const base::SystemClock clock;
  OutletPlan plan;
  plan.events_file = f.folder / "none/events";
  auto opened = Outlets::open(f.loop.executor(), clock, plan, false);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().what.find("none/events") != std::string::npos);
  CHECK(f.said.empty());
  CHECK(Outlets::open(f.loop.executor(), clock, plan, true).has_value());
  CHECK(f.has_said("the run goes on without"));
}

}  // namespace
}  // namespace robustrun::supervisor::outlets_test
