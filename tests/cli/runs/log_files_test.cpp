#include "cli/runs/log_files.h"

#include <doctest/doctest.h>

#include <set>

namespace robustrun::cli::log_files_test {

using supervisor::GroupFormed;
using supervisor::JournalEntry;

namespace {

JournalEntry run_with_logs(const std::string& folder, bool is_open = false) {
  supervisor::RunStarted started;
  started.spec.log_directory = folder;
  started.spec.group.open = is_open;
  supervisor::Event event;
  event.body = started;
  return {{}, event};
}

JournalEntry group(std::uint32_t attempt, std::vector<supervisor::GroupMember> members) {
  GroupFormed formed;
  formed.attempt = base::Attempt{attempt};
  formed.members = std::move(members);
  return {{}, formed};
}

supervisor::GroupMember member(std::uint32_t node, std::uint32_t first_rank, std::uint32_t slots) {
  return {base::NodeId{node}, "n" + std::to_string(node), "", first_rank, slots};
}

JournalEntry exit_of_attempt(std::uint32_t attempt) {
  supervisor::WorkerExited exited;
  exited.attempt = base::Attempt{attempt};
  supervisor::Event event;
  event.body = exited;
  return {{}, event};
}

std::vector<std::string> folders(const AttemptLogs& logs) {
  std::vector<std::string> found;
  for (const RankLog& log : logs.ranks) {
    found.push_back(std::to_string(log.rank) + " " + log.folder);
  }
  return found;
}

}  // namespace

TEST_CASE("one node writes into the log directory itself") {
  const std::vector<JournalEntry> journal{run_with_logs("/r/logs"), group(0, {member(0, 0, 2)})};
  const auto logs = logs_of(journal, {}, [](const std::string&) { return false; });
  REQUIRE(logs);
  CHECK(folders(*logs) ==
        std::vector<std::string>{"0 /r/logs/attempt_0/0", "1 /r/logs/attempt_0/1"});
}

TEST_CASE("several nodes have folders of their own, and ranks follow the group of the attempt") {
  const std::vector<JournalEntry> journal{
      run_with_logs("/r/logs"), group(0, {member(0, 0, 1), member(1, 1, 1)}),
      group(2, {member(1, 0, 1), member(2, 1, 1)}), exit_of_attempt(3)};
  const std::set<std::string> there{"/r/logs/node0", "/r/logs/node1_n1", "/r/logs/node2"};
  const auto exists = [&](const std::string& path) { return there.contains(path); };
  const auto last = logs_of(journal, {}, exists);
  REQUIRE(last);
  // Nodes that stay the same are not noted again.
  CHECK(last->attempt == 3);
  CHECK(folders(*last) ==
        std::vector<std::string>{"0 /r/logs/node1_n1/attempt_3/0", "1 /r/logs/node2/attempt_3/0"});
  // Attempt 1 kept the group of attempt 0.
  const auto middle = logs_of(journal, 1, exists);
  REQUIRE(middle);
  CHECK(folders(*middle) ==
        std::vector<std::string>{"0 /r/logs/node0/attempt_1/0", "1 /r/logs/node1_n1/attempt_1/0"});
}

TEST_CASE("the folder of another machine is named also where it is not seen") {
  for (const bool is_open : {false, true}) {
    const std::vector<JournalEntry> journal{run_with_logs("/r/logs", is_open),
                                            group(0, {member(0, 0, 1), member(1, 1, 1)})};
    const auto logs =
        logs_of(journal, {}, [](const std::string& path) { return path == "/r/logs/node0_n0"; });
    REQUIRE(logs);
    const std::string other = is_open ? "node1" : "node1_n1";
    CHECK(folders(*logs) == std::vector<std::string>{"0 /r/logs/node0_n0/attempt_0/0",
                                                     "1 /r/logs/" + other + "/attempt_0/0"});
  }
}

TEST_CASE("a log that is missing is on another machine, not begun, or never written") {
  const RankLog log{1, "n1", "/r/logs/node1_n1/attempt_0/0"};
  CHECK(no_log_words(log, false) ==
        "no log here so far; on n1 it is in /r/logs/node1_n1/attempt_0/0");
  CHECK(no_log_words(log, true) == "its output goes to the console, not to a log file");
}

TEST_CASE("what has no logs is refused with the reason") {
  const auto none = [](const std::string&) { return false; };
  const std::vector<JournalEntry> unstarted{run_with_logs("/r/logs")};
  CHECK(logs_of(unstarted, {}, none).error().what == "no worker was started");
  const std::vector<JournalEntry> without{run_with_logs(""), group(0, {member(0, 0, 1)})};
  CHECK(logs_of(without, {}, none).error().what == "the run keeps no logs (--log-dir=/dev/null)");
  const std::vector<JournalEntry> short_run{run_with_logs("/l"), group(0, {member(0, 0, 1)})};
  CHECK(logs_of(short_run, 3, none).error().what == "there is no attempt 3; the last one is 0");
}

}  // namespace robustrun::cli::log_files_test
