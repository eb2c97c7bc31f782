// What a run shows on its console, and to commands that watch it.
#include "supervisor/console/run_console.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "base/io/fd.h"
#include "supervisor/limits.h"
#include "tests/support/captured_log.h"
#include "tests/support/loop.h"

namespace robustrun::supervisor::test::run_console_test {
namespace {

RunRequest request(std::size_t nodes = 1) {
  RunRequest made;
  made.spec.run_id = "r";
  made.spec.program = "train.py";
  made.spec.nodes.resize(nodes);
  for (NodeSpec& node : made.spec.nodes) {
    node.name = "n0";
    node.slots = 2;
  }
  return made;
}

wire::Output line(std::uint32_t rank, std::string text) {
  wire::Output made;
  made.rank = {rank};
  made.bytes = std::move(text);
  return made;
}

Decision decision(Rule rule, std::string text) {
  Decision made;
  made.rule = rule;
  made.text = std::move(text);
  return made;
}

struct Shown {
  explicit Shown(RunRequest of) : request(std::move(of)) {
    auto made = base::make_pipe();
    REQUIRE(made);
    pipe = *std::move(made);
    console.emplace(loop.executor(), request,
                    RunConsole::Hands{[] {},
                                      [this] {
                                        ++live_lines;
                                        return std::string("step 3");
                                      }});
    console->open(pipe.second.get(), pipe.second.get());
  }
  // What a watcher sees of the workers' output.
  [[nodiscard]] std::string seen() {
    std::string bytes;
    OutputQuestion question;
    question.lines = 100;
    console->hub().ask(question, [&](base::Result<OutputAnswer> answer) {
      REQUIRE(answer);
      bytes = answer->bytes;
    });
    return bytes;
  }
  void end() {
    bool done = false;
    console->end([&] { done = true; });
    REQUIRE(loop.run_until([&] { return done; }));
  }

  const RunRequest request;
  robustrun::test::CapturedLog log;
  robustrun::test::Loop loop{};
  base::FdPair pipe;
  int live_lines = 0;
  std::optional<RunConsole> console;
};

TEST_CASE("the console shows the ranks that were asked for, or all") {
  Shown all(request());
  all.console->write(line(0, "zero\n"), "n0");
  all.console->write(line(1, "one\n"), "n0");
  CHECK(all.seen() == "zero\none\n");
  RunRequest some = request();
  some.shown_ranks = {{1, 2}};
  Shown one(some);
  one.console->write(line(0, "zero\n"), "n0");
  one.console->write(line(1, "one\n"), "n0");
  CHECK(one.seen() == "one\n");
}

TEST_CASE("a run introduces itself, but not in compat mode") {
  const base::SystemClock clock;
  Shown run(request());
  run.console->introduce(clock);
  CHECK(run.log.text().starts_with("run r: train.py, 2 workers on n0, no logs, times in UTC"));
  RunRequest compat = request();
  compat.spec.compat = true;
  Shown quiet(compat);
  quiet.console->introduce(clock);
  CHECK(quiet.log.text().empty());
}

TEST_CASE("what one machine's first line has told is not told again; a group's start is") {
  Shown alone(request(1));
  alone.console->announce(decision(Rule::kStart, "starting"));
  CHECK(alone.log.text().empty());
  Shown group(request(2));
  group.console->announce(decision(Rule::kStart, "starting"));
  CHECK(group.log.text() == "starting\n");
}

TEST_CASE("that the allocation ends is told once, though each of its nodes reports it") {
  Shown run(request(2));
  run.console->announce(decision(Rule::kNodeEnding, "n0 ends"));
  run.console->announce(decision(Rule::kNodeEnding, "n1 ends"));
  CHECK(run.log.text() == "n0 ends\n");
}

TEST_CASE("success is logged after all output was shown") {
  Shown run(request());
  run.console->announce(decision(Rule::kSucceeded, "all workers have succeeded"));
  CHECK(run.log.text().empty());
  run.end();
  CHECK(run.log.text() == "all workers have succeeded\n");
}

TEST_CASE("a group of several machines is shown as a table of bounded length") {
  Shown run(request());
  GroupFormed group;
  group.members.push_back({{0}, "n0", "10.0.0.1", 0, 1});
  run.console->show(group);
  CHECK(run.log.text().empty());
  group.spares.emplace_back("n9");
  run.console->show(group);
  CHECK(run.log.text().find("n0                   10.0.0.1         rank 0\n") != std::string::npos);
  CHECK(run.log.text().ends_with("  spare    n9\n"));
  group.spares.clear();
  for (std::uint32_t i = 1; i < kTableLinesMax + 3; ++i) {
    group.members.push_back({{i}, "n", "a", 2 * i, 2});
  }
  run.console->show(group);
  CHECK(run.log.text().find("ranks 2-3\n") != std::string::npos);
  CHECK(run.log.text().ends_with("  … and 3 more nodes (robustrun report)\n"));
}

TEST_CASE("the line about the run is shown on a terminal alone, until it is stopped") {
  Shown none(request());
  none.console->show_live();
  CHECK(none.live_lines == 0);
  RunRequest live = request();
  live.console.live = true;
  Shown run(live);
  run.console->show_live();
  CHECK(run.live_lines == 1);
  run.console->stop_live();
  run.end();
  CHECK(run.live_lines == 1);
}

}  // namespace
}  // namespace robustrun::supervisor::test::run_console_test
