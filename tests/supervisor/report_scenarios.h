#pragma once
// Journals of made-up runs, for the tests of the journal and of the report.

#include <string>
#include <utility>
#include <vector>

#include "tests/supervisor/story.h"

namespace robustrun::supervisor::scenarios {

inline Story clean() {
  Story story;
  using Mark = Progress::Mark;
  story.run({{"node0", "127.0.0.1", 2}}).event(3, AgentJoined{4200, {}, 0});
  story.decide(3, Rule::kStart, 0, "starting 2 workers").start(4, 0, 2);
  story.progress(120, 0, Mark::kUserCode, 110, 0);
  story.progress(2400, 0, Mark::kFirstStep, 2300, 1, 0, 2.3);
  story.progress(191800, 0, Mark::kSummary, 191700, 300, 299, 0.042137);
  for (std::uint32_t rank : {0U, 1U}) {
    story.event(192000, exited(0, rank, ExitStatus::Kind::kExited, 0, 191999));
  }
  return story.event(192010, WorkersGone{Attempt{0}, 0, {}, {}})
      .decide(192010, Rule::kSucceeded, 0, "all 2 workers finished")
      .finish(192011, 0);
}

// Rank 1 is killed at 10 s; training goes on from the checkpoint of step 100.
inline Story recovered() {
  Story story;
  using Mark = Progress::Mark;
  story.run({{"node0", "127.0.0.1", 2}}).event(3, AgentJoined{4200, {}, 0});
  story.decide(3, Rule::kStart, 0, "starting 2 workers").start(4, 0, 2);
  story.progress(120, 0, Mark::kUserCode, 110, 0);
  story.progress(2400, 0, Mark::kFirstStep, 2300, 1, 0, 2.3);
  story.progress(10000.2, 0, Mark::kSummary, 9990, 121, 120, 0.31);
  WorkerExited killed = exited(0, 1, ExitStatus::Kind::kSignaled, 9, 10000);
  for (int i = 1; i <= 14; ++i) killed.stderr_tail.push_back("step line " + std::to_string(i));
  WorkerExited other = exited(0, 0, ExitStatus::Kind::kSignaled, 15, 10012);
  other.stopped_by_us = true;
  story.event(10000.4, killed);
  story.decide(10000.4, Rule::kWorkerFailed, 0, "rank 1 on node0: SIGKILL; stopping the other rank",
               {"rank 1 on node0: SIGKILL"});
  story.event(10012.2, other).event(10012.5, WorkersGone{Attempt{0}, 1, {}, {}});
  story.decide(10012.5, Rule::kRestart, 0, "restart 1 of 3: starting 2 workers on 1 node again",
               {"rank 1 on node0: SIGKILL"}, {"no restart: 0 of 3 used"});
  story.start(10012.8, 1, 2).progress(10100, 1, Mark::kUserCode, 10090, 0);
  story.progress(12400, 1, Mark::kFirstStep, 12395, 3, 103, 0.35);
  story.progress(14000, 1, Mark::kCaughtUp, 13995, 20, 120, 0.3);
  story.progress(24000, 1, Mark::kSummary, 23990, 199, 299, 0.0421);
  for (std::uint32_t rank : {0U, 1U}) {
    story.event(24090, exited(1, rank, ExitStatus::Kind::kExited, 0, 24089));
  }
  return story.event(24095, WorkersGone{Attempt{1}, 0, {}, {}})
      .decide(24095, Rule::kSucceeded, 1, "all 2 workers finished")
      .finish(24100, 0);
}

// Two nodes; an OOM kill, back-off, then an exception that ends the run.
inline Story failed() {
  Story story;
  using Mark = Progress::Mark;
  story.run({{"alpha", "10.0.0.1", 2}, {"beta", "10.0.0.2", 2}});
  story.event(3, AgentJoined{4200, {}, 0}).event(5, AgentJoined{5200, {}, 0}, 1);
  story.decide(5, Rule::kStart, 0, "starting 4 workers on 2 nodes").start(6, 0, 4);
  story.progress(200, 0, Mark::kUserCode, 190, 0);
  WorkerExited oom = exited(0, 2, ExitStatus::Kind::kSignaled, 9, 5000);
  oom.oom = OomKiller::kCgroup;
  oom.stderr_tail = {"loading \x1b[31mshard\x1b[0m 7\t/ 8", "caf\xe9 \xff\xfe not UTF-8"};
  oom.dropped_bytes = 4096;
  story.event(5000.3, oom, 1);
  story.decide(5000.3, Rule::kWorkerFailed, 0,
               "rank 2 on beta: SIGKILL (by its cgroup's OOM killer); stopping the other 3 ranks",
               {"rank 2 on beta: SIGKILL (by its cgroup's OOM killer)"});
  story.event(5030, exited(0, 0, ExitStatus::Kind::kExited, 1, 5029));
  story.event(5040, WorkersGone{Attempt{0}, 0, {}, {}});
  story.event(5200, WorkersGone{Attempt{0}, 0, {}, {}}, 1);
  story.decide(
      5200, Rule::kRestart, 0, "restart 1 of 1: starting 4 workers on 2 nodes again in 1 s",
      {"rank 2 on beta: SIGKILL (by its cgroup's OOM killer)", "rank 0 on alpha: exit code 1"},
      {"no restart: 0 of 1 used"});
  story.event(6200, TimerFired{TimerId::kBackoff, 7}).start(6201, 1, 4);
  WorkerExited error = exited(1, 1, ExitStatus::Kind::kExited, 1, 7000);
  error.error_file = "/home/ada/robustrun-runs/brave-otter-4711/logs/attempt_1/1/error.json";
  error.error_message =
      "RuntimeError: the loss is not a number any more, and the message of this "
      "exception is so long that it does not fit into one line of a terminal";
  error.error_callstack =
      "Traceback (most recent call last):\n  File \"train.py\", line 3\n"
      "RuntimeError: the loss is not a number\n";
  error.error_timestamp_s = 1785578406;
  error.stderr_tail = {"Traceback (most recent call last):", "  File \"train.py\", line 3",
                       std::string(500, 'w') + " end", "RuntimeError: the loss is not a number"};
  story.event(7000.5, error);
  story.decide(7000.5, Rule::kWorkerFailed, 1,
               "rank 1 on alpha: exit code 1; stopping the other 3 ranks",
               {"rank 1 on alpha: exit code 1"});
  story.event(7001, WorkersGone{Attempt{1}, 0, {}, {}});
  story.decide(7001, Rule::kBudgetExhausted, 1, "no restart left: 1 of 1 used",
               {"rank 1 on alpha: exit code 1"}, {"restart: --max-restarts is 1"});
  return story.finish(7002, 1);
}

// The supervisor was killed while training went on.
inline Story unfinished() {
  Story story = recovered();
  story.entries.resize(story.entries.size() - 6);
  return story;
}

// A drill: a delay that does no harm, then the kill that recovered() recovers from.
inline Story drill() {
  Story story = recovered();
  Story faults;
  faults.event(
      5000,
      FaultInjected{
          "net-delay", Attempt{0}, base::NodeId{0}, {}, 0, "every message is 1 s late, for 10 s"});
  faults.event(10000.1,
               FaultInjected{"kill", Attempt{0}, base::NodeId{0}, Rank{1}, 4241, "SIGKILL"});
  for (JournalEntry& fault : faults.entries) {
    auto later = story.entries.begin();
    while (later->at <= fault.at) ++later;
    story.entries.insert(later, std::move(fault));
  }
  return story;
}

inline Story start_failed() {
  Story story;
  story.run({{"node0", "127.0.0.1", 1}}).event(3, AgentJoined{4200, {}, 0});
  story.decide(3, Rule::kStart, 0, "starting 1 worker");
  story.event(4, PortReserved{Attempt{0}, 29411, ""});
  story.event(5, WorkerStartFailed{Attempt{0}, Rank{0}, 2,
                                   "cannot run ./trian.py: No such file or directory"});
  story.decide(5, Rule::kStartFailed, 0,
               "rank 0 on node0 could not be started: cannot run ./trian.py: "
               "No such file or directory");
  story.decide(5, Rule::kBudgetExhausted, 0,
               "no restart: a program that cannot run now will not run next time");
  return story.finish(6, 127);
}

inline std::vector<std::pair<std::string, Story>> all() {
  return {{"clean", clean()},   {"recovered", recovered()},
          {"failed", failed()}, {"unfinished", unfinished()},
          {"drill", drill()},   {"start_failed", start_failed()}};
}

}  // namespace robustrun::supervisor::scenarios
