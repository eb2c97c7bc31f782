#include "cli/text/run_table.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

namespace robustrun::cli::run_table_test {

namespace {

RunRow ended(const char* id, int exit_code) {
  RunRow row;
  row.id = id;
  row.directory = std::string("/home/ada/robustrun-runs/") + id;
  row.exit_code = exit_code;
  row.program = "/home/ada/train.py";
  row.nodes = 2;
  row.workers = 16;
  row.age = std::chrono::hours(3);
  row.step = 900;
  row.bytes = 1'234'567;
  return row;
}

}  // namespace

TEST_CASE("a table of runs has aligned columns and no trailing blanks") {
  RunRow live = ended("b", 0);
  live.exit_code.reset();
  live.life = RunLife::kLive;
  live.state = "running";
  live.incidents = 12;
  live.step.reset();
  RunRow stopped = ended("c", 143);
  stopped.was_stopped = true;
  const std::array rows{ended("a", 0), live, stopped, ended("long-id", 95)};
  CHECK(runs_text(rows) ==
        "RUN      STATE          NODES  AGE  STEP  INCIDENTS   SIZE  PROGRAM\n"
        "a        succeeded      2×8    3 h   900          0  2 MiB  train.py\n"
        "b        running        2×8    3 h     -         12  2 MiB  train.py\n"
        "c        stopped (143)  2×8    3 h   900          0  2 MiB  train.py\n"
        "long-id  failed (95)    2×8    3 h   900          0  2 MiB  train.py\n");
  RunRow uneven = ended("d", 0);
  uneven.nodes = 3;
  uneven.workers = 20;
  CHECK(runs_text(std::array{uneven}).find("succeeded  20 on 3  3 h") != std::string::npos);
  live.nodes = 0;  // no worker was ever started
  CHECK(runs_text(std::array{live}).find("running  -      3 h") != std::string::npos);
}

TEST_CASE("a job that was queued again shows its number of starts") {
  RunRow row = ended("slurm-7", 0);
  row.starts = 3;
  CHECK(runs_text(std::array{row}).find("slurm-7  succeeded, start 3  2×8") != std::string::npos);
  CHECK(runs_json(std::array{row}).find("\"starts\":3,") != std::string::npos);
}

TEST_CASE("what a run or its journal contains cannot move the cursor") {
  RunRow row = ended("a\x1b[2J", 0);
  row.program = "x\ny";
  const std::string text = runs_text(std::array{row});
  CHECK(text.find('\x1b') == text.npos);
  CHECK(std::ranges::count(text, '\n') == 2);
  RunRow unreadable = ended("a", 0);
  unreadable.trouble = "cannot read /r/journal: it is damaged";
  CHECK(runs_text(std::array{unreadable}).find("unreadable") != std::string::npos);
}

TEST_CASE("without runs there is a word instead of an empty table") {
  CHECK(runs_text({}) == "no runs\n");
  CHECK(runs_json({}) == "{\"runs\":[]}\n");
}

}  // namespace robustrun::cli::run_table_test
