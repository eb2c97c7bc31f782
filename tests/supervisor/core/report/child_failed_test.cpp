// tests/python/test_child_failed.py compares the block with torch's own.
#include <doctest/doctest.h>

#include "supervisor/core/report/child_failed.h"
#include "supervisor/core/report/report.h"
#include "tests/supervisor/report_scenarios.h"

namespace robustrun::supervisor::child_failed_test {
namespace {

using namespace scenarios;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// One node of two workers; both fail by themselves unless `stopped`.
Story two_failures(bool stopped) {
  Story story;
  story.run({{"node0.example", "127.0.0.1", 2}}).start(4, 0, 2);
  story.event(2000.5, exited(0, 1, ExitStatus::Kind::kSignaled, 9, 2000));
  WorkerExited other = exited(0, 0, ExitStatus::Kind::kExited, 3, 2100);
  other.stopped_by_us = stopped;
  story.event(2100.5, other);
  story.decide(2101, Rule::kWorkerFailed, 0, "rank 1 failed");
  story.decide(2101, Rule::kBudgetExhausted, 0, "no restart left").finish(2102, 137);
  return story;
}

TEST_CASE("the block has torchrun's form") {
  const std::string block = child_failed_block(two_failures(true).entries);
  CAPTURE(block);
  CHECK(
      block.starts_with("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
                        "======"));
  CHECK(has(block, "\ntrain.py FAILED\n------"));
  CHECK(has(block, "\nFailures:\n  <NO_OTHER_FAILURES>\n------"));
  CHECK(has(block, "\nRoot Cause (first observed failure):\n[0]:\n  time      : 2026-08-01_"));
  CHECK(has(block,
            "  host      : node0.example\n"
            "  rank      : 1 (local_rank: 1)\n"
            "  exitcode  : -9 (pid: 4241)  (SIGKILL)\n"
            "  error_file: <N/A>\n"
            "  traceback : Signal 9 (SIGKILL) received by PID 4241\n======"));
}

TEST_CASE("failures are numbered by rank, the first observed is the root cause") {
  const std::string block = child_failed_block(two_failures(false).entries);
  CAPTURE(block);
  CHECK(has(block, "\nFailures:\n[0]:\n"));
  CHECK(has(block, "  exitcode  : 3 (pid: 4240) \n"));
  CHECK(has(block, "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"));
  CHECK(has(block, "\nRoot Cause (first observed failure):\n[1]:\n"));
}

TEST_CASE("the failures of the last attempt alone are shown, with node and local rank") {
  const std::string block = child_failed_block(failed().entries);
  CHECK(has(block, "  host      : alpha\n"));
  CHECK_FALSE(has(block, "beta"));
  CHECK(has(block, "  traceback : Traceback (most recent call last):\n    File \"train.py\""));
}

TEST_CASE("local ranks count from the node's first rank") {
  Story story;
  story.run({{"alpha", "10.0.0.1", 3}, {"beta", "10.0.0.2", 2}}).start(4, 0, 5);
  story.event(2000.5, exited(0, 4, ExitStatus::Kind::kExited, 1, 2000), 1);
  story.decide(2001, Rule::kBudgetExhausted, 0, "no restart left").finish(2002, 1);
  CHECK(has(child_failed_block(story.entries), "rank      : 4 (local_rank: 1)"));
}

TEST_CASE("there is no block when no worker's failure ended the run") {
  CHECK(child_failed_block(clean().entries).empty());
  CHECK(child_failed_block(recovered().entries).empty());
  CHECK(child_failed_block(unfinished().entries).empty());
  CHECK(child_failed_block(start_failed().entries).empty());
  CHECK(child_failed_block({}).empty());
  Story stopped;
  stopped.run({{"node0", "127.0.0.1", 1}}).start(4, 0, 1);
  stopped.decide(10, Rule::kSignal, 0, "SIGINT");
  stopped.event(20, exited(0, 0, ExitStatus::Kind::kExited, 1, 19)).finish(21, 130);
  CHECK(child_failed_block(stopped.entries).empty());
}

TEST_CASE("the nested error file is the root cause's with the exit code") {
  CHECK(nested_error_json(failed().entries) ==
        R"({"message":{"message":"RuntimeError: the loss is not a number any more, and the )"
        R"(message of this exception is so long that it does not fit into one line of a terminal",)"
        R"("extraInfo":{"py_callstack":"Traceback (most recent call last):\n  File \"train.py\", )"
        R"(line 3\nRuntimeError: the loss is not a number\n","timestamp":"1785578406"},)"
        R"("errorCode":1}})");
}

TEST_CASE("a plain message in an error file stays plain, and no file gives none") {
  Story story = failed();
  for (JournalEntry& entry : story.entries) {
    auto* event = std::get_if<Event>(&entry.what);
    if (event == nullptr) continue;
    if (auto* body = std::get_if<WorkerExited>(&event->body)) {
      body->error_callstack.clear();
      body->error_message = "boom";
    }
  }
  CHECK(nested_error_json(story.entries) == R"({"message":"boom","timestamp":"1785578406"})");
  CHECK(nested_error_json(two_failures(true).entries).empty());
}

}  // namespace
}  // namespace robustrun::supervisor::child_failed_test
