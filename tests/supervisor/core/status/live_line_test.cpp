#include "supervisor/core/status/live_line.h"

#include <doctest/doctest.h>

#include <chrono>

namespace robustrun::supervisor {
namespace live_line_test {

using std::chrono::seconds;

RunStatus running() {
  RunStatus status;
  status.program = "/home/me/train.py";
  status.state = JobState::kRunning;
  status.uptime = seconds(83);
  return status;
}

TEST_CASE("step, rate, loss, restarts and the time that is left") {
  RunStatus status = running();
  status.step = 674;
  status.steps = 600;
  status.steps_per_second = 37.04;
  status.metrics = {{"lr", 0.1}, {"train/loss", 0.02451}};
  status.restarts = 1;
  CHECK(live_line(status) == "train.py  step 674  37 steps/s  train/loss 0.02451  1 restart");
  status.stop_after_steps = 900;
  note_time_left(status);
  CHECK(live_line(status) ==
        "train.py  step 674/900  37 steps/s  train/loss 0.02451  1 restart  ETA 0:06");
  status.steps_per_second = 0.01;
  note_time_left(status);
  CHECK(live_line(status).ends_with("ETA 6:16:40"));
}

TEST_CASE("a step that is late takes the place of the rate") {
  RunStatus status = running();
  status.steps = 12;
  status.steps_per_second = 3;
  status.stepped = seconds(34);
  CHECK(live_line(status) == "train.py  step 12  last step 0:34 ago");
}

TEST_CASE("before the first step: the slowest node's stage") {
  RunStatus status = running();
  status.nodes.resize(2);
  status.nodes[0].name = "n1";
  status.nodes[1].name = "n2\x1b[2J";
  status.nodes[0].stage = "imports";
  status.nodes[1].stage = "model";
  status.nodes[0].stage_took = seconds(1);
  status.nodes[1].stage_took = seconds(4);
  status.step = 674;  // of the attempt before
  const std::string line = live_line(status);
  CHECK(line.starts_with("train.py  model 4.00 s (n2"));
  CHECK(line.find('\x1b') == std::string::npos);
  CHECK(line.ends_with("  up 1:23"));
}

TEST_CASE("before the first step: a rank that others wait for comes before any stage") {
  RunStatus status = running();
  status.nodes.resize(1);
  status.nodes[0].stage = "process group";
  status.nodes[0].stage_took = seconds(40);
  status.group_wait = GroupWait{seconds(40), 7, 1, {{3, "n2", "imports", seconds(42)}}};
  CHECK(live_line(status) == "train.py  waiting for rank 3 on n2 40.00 s  up 1:23");
}

TEST_CASE("a run that is not training shows its state, and no rate of the past") {
  RunStatus status = running();
  status.state = JobState::kBackoff;
  status.step = 5;
  status.steps_per_second = 3;
  status.restarts = 2;
  status.stop_after_steps = 10;
  note_time_left(status);
  CHECK(live_line(status) == "train.py  backoff  2 restarts  up 1:23");
  status = running();
  CHECK(live_line(status) == "train.py  running  up 1:23");
}

TEST_CASE("before the run has begun there is no line, and no time since") {
  const RunStatus status = StatusFold().status(std::chrono::hours(17));
  CHECK(status.uptime == base::Nanos{});
  CHECK(live_line(status).empty());
}

TEST_CASE("rates that are no numbers give no time") {
  RunStatus status = running();
  status.step = 5;
  status.stop_after_steps = 10;
  for (const double rate : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), 1e-300}) {
    status.steps_per_second = rate;
    note_time_left(status);
    CHECK(live_line(status).find("ETA") == std::string::npos);
  }
}

}  // namespace live_line_test
}  // namespace robustrun::supervisor
