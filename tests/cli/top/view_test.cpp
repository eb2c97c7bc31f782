#include "cli/top/view.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/top/words.h"
#include "wire/messages/injection.h"

namespace robustrun::cli::view_test {

using supervisor::AgentStatus;
using supervisor::JobState;
using supervisor::NodeStatus;
using supervisor::RunStatus;
using supervisor::SupervisorStatus;
using supervisor::WorkerStage;

namespace {

constexpr base::Nanos kNow = std::chrono::hours(1);
constexpr Size kSmall = {80, 24};
constexpr Size kLarge = {200, 60};

RunStatus training(std::uint32_t nodes, std::uint32_t ranks) {
  RunStatus status;
  status.run_id = "brave-otter-4711";
  status.program = "train.py";
  status.supervisor = SupervisorStatus::kAnswers;
  status.state = JobState::kRunning;
  status.uptime = std::chrono::minutes(5);
  status.workers = nodes * ranks;
  status.steps = 674;
  status.step = 674;
  status.steps_per_second = 37.2;
  status.stop_after_steps = 900;
  status.metrics = {{"loss", 0.0245}};
  status.max_restarts = 3;
  for (std::uint32_t i = 0; i < nodes; ++i) {
    NodeStatus& node = status.nodes.emplace_back();
    node.name = fmt::format("n{:04}", i);
    node.node_rank = i;
    node.first_rank = i * ranks;
    node.workers = ranks;
    node.agent = AgentStatus::kJoined;
    node.ranks.assign(ranks, {WorkerStage::kRunning, 4242, 674, 674});
  }
  return status;
}

RunStatus hanging(RunStatus status, std::uint32_t culprit, std::uint32_t node) {
  supervisor::HangStatus& hang = status.hang.emplace();
  hang.finding = tracer::Finding::kNeverEntered;
  hang.culprits = {culprit};
  hang.nodes = {status.nodes[node].name};
  for (std::uint32_t rank = 0; rank < status.workers; ++rank) {
    if (rank != culprit) hang.victims.push_back(rank);
  }
  hang.operation = "all_reduce";
  hang.ordinal = 40;
  hang.group = "default_pg";
  hang.place = "load_batch (hang.py:8)";
  hang.lasting = std::chrono::seconds(12);
  hang.sentence = fmt::format("rank {} has not entered all_reduce #40", culprit);
  return status;
}

View view_of(RunStatus status, bool unicode = true) {
  View view(unicode);
  view.take(std::move(status), kNow);
  return view;
}

std::string picture(View& view, Size size) { return view.draw(size, kNow).text(); }

std::vector<std::string> rows_of(const Canvas& canvas) {
  std::vector<std::string> rows;
  for (int row = 0; row < canvas.size().rows; ++row) rows.push_back(canvas.text(row));
  return rows;
}

void type(View& view, std::string_view bytes) {
  for (const Key& key : keys_of(bytes)) static_cast<void>(view.press(key));
}

// Everything but SGR sequences and printable text.
bool is_inert(const Canvas& canvas) {
  for (int row = 0; row < canvas.size().rows; ++row) {
    const std::string bytes = canvas.ansi(row, true);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const auto byte = static_cast<unsigned char>(bytes[i]);
      if (byte != 0x1b) {
        if (byte < 0x20 || byte == 0x7f) return false;
        continue;
      }
      i = bytes.find_first_not_of("[0123456789;", i + 1);
      if (i == bytes.npos || bytes[i] != 'm') return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("every state has a letter of its own") {
  std::set<char> letters;
  for (std::size_t i = 0; i < kCellStates; ++i) {
    letters.insert(look_of(static_cast<CellState>(i)).letter);
  }
  CHECK(letters.size() == kCellStates);
}

TEST_CASE("the rank that blocks the job is named, marked and selected at any size") {
  for (const Size size : {kSmall, kLarge}) {
    View view = view_of(hanging(training(2, 4), 5, 1));
    const std::string text = picture(view, size);
    CAPTURE(text);
    CHECK(text.contains("! rank 5 on n0001 has blocked the job for 12 s"));
    CHECK(text.contains("it is in load_batch (hang.py:8); 7 ranks wait in all_reduce"));
    CHECK(text.contains("n0001  w B w w"));
    CHECK(text.contains("rank 5 on n0001"));
    CHECK(text.contains("rank 5 has not entered all_reduce #40"));
    CHECK(view.selected_rank() == 5);
  }
}

TEST_CASE("the header tells run, progress, time left, loss and restarts") {
  View view = view_of(training(2, 2));
  const std::string text = picture(view, kSmall);
  CAPTURE(text);
  CHECK(text.contains("train.py  running"));
  CHECK(text.contains("brave-otter-4711"));
  CHECK(text.contains("step 674 of 900  37.2 steps/s  6 s left  loss 0.0245"));
  CHECK(text.contains("running  up 5 min 0 s, no restarts, 3 of 3 left"));
  CHECK(text.contains("all 4 ranks run, none is blocked"));
}

TEST_CASE("1,024 nodes fit both sizes; the node that blocks is seen, and reached by enter") {
  for (const Size size : {kSmall, kLarge}) {
    View view = view_of(hanging(training(1024, 8), 4242, 530));
    const Canvas canvas = view.draw(size, kNow);
    CAPTURE(canvas.text());
    CHECK(canvas.text().contains("rank 4242 on n0530 has blocked the job"));
    CHECK(canvas.text().contains("a cell is "));
    const auto rows = rows_of(canvas);
    // Rows of cells only: behind a label.
    const auto blocked = std::ranges::count_if(
        rows, [](const std::string& row) { return row.starts_with(" n") && row.contains("B"); });
    CHECK(blocked == 1);
    CHECK(view.selected_rank() == 4242);
    for (int i = 0; i < 6; ++i) {
      type(view, "\r");
      picture(view, size);
    }
    CHECK(view.selected_rank() == 4242);
    CHECK(picture(view, size).contains("B w w w w w"));
    type(view, "\x1b");
    CHECK(picture(view, size).contains("a cell is "));
  }
}

TEST_CASE("racks are cells where nodes do not fit, and enter opens the rack, then its nodes") {
  RunStatus status = hanging(training(1024, 8), 4242, 530);
  // Neighbours in rank are not always neighbours in the racks.
  for (std::size_t i = 0; i < 1024; ++i) status.nodes[i].rack = fmt::format("rack{:02}", i % 64);
  View view = view_of(std::move(status));
  const std::string text = picture(view, kSmall);
  CAPTURE(text);
  CHECK(text.contains("a cell is a rack"));
  CHECK(text.contains("rack18 B"));
  CHECK(text.contains("rack19 w"));
  CHECK(text.contains("rack63 w"));
  CHECK(text.contains("rank 4242 on n0530 in rack18"));
  type(view, "\x1b[C");
  CHECK(picture(view, kSmall).contains("in rack19"));
  type(view, "\x1b[D\r");
  const std::string rack = picture(view, kSmall);
  CAPTURE(rack);
  CHECK(rack.contains("16 of 1024 nodes"));
  CHECK(rack.contains("n0530"));
  CHECK(rack.contains("n0978"));
  type(view, "\r");
  CHECK(view.selected_rank() == 4242);
  type(view, "\x1bs");
  CHECK(picture(view, kSmall).find("rack18 B") < picture(view, kSmall).find("rack00 w"));
  // Fewer nodes come while a rack far down is chosen: nothing is drawn or chosen beyond them.
  type(view, "\x1b[F");
  view.take(training(2, 1), kNow);
  type(view, "\x1b[C\x1b[B\r");
  CHECK(picture(view, kSmall).contains("n0001"));
}

TEST_CASE("as many nodes as fit are shown with their ranks, in tables side by side") {
  View view = view_of(training(16, 8));
  const std::string text = picture(view, kSmall);
  CAPTURE(text);
  CHECK(text.contains("n0015"));
  CHECK_FALSE(text.contains("a cell is"));
  CHECK(text.contains("rank 0 on n0000"));
  type(view, "\x1b[B");
  CHECK(view.selected_rank() == 8);
  type(view, "\x1b[C");
  CHECK(view.selected_rank() == 9);
  type(view, "kj\x1b[D");
  CHECK(view.selected_rank() == 8);
}

TEST_CASE("tab goes to the next rank in trouble, and round again") {
  RunStatus status = training(4, 2);
  status.nodes[1].ranks[0].state = WorkerStage::kFailed;
  status.nodes[3].ranks[1].state = WorkerStage::kFailed;
  View view = view_of(status);
  picture(view, kSmall);
  CHECK(view.selected_rank() == 2);
  type(view, "\t");
  CHECK(view.selected_rank() == 7);
  type(view, "\t");
  CHECK(view.selected_rank() == 2);
}

TEST_CASE("the selection stays where the user has put it") {
  View view = view_of(training(4, 2));
  picture(view, kSmall);
  type(view, "\x1b[B");
  CHECK(view.selected_rank() == 2);
  view.take(hanging(training(4, 2), 5, 2), kNow);
  CHECK(view.selected_rank() == 2);
  CHECK(picture(view, kSmall).contains("waits in all_reduce #40 for rank 5"));
}

TEST_CASE("a filter takes a part of a host's name, or a rank") {
  View view = view_of(training(40, 8));
  type(view, "/n003");
  std::string text = picture(view, kSmall);
  CAPTURE(text);
  CHECK(text.contains("n0030"));
  CHECK_FALSE(text.contains("n0020"));
  CHECK(text.contains("/n003"));
  type(view, "\x1b/77\r");
  CHECK(view.selected_rank() == 77);
  text = picture(view, kSmall);
  CHECK(text.contains("1 of 40 nodes"));
  type(view, "\x1b");
  CHECK_FALSE(picture(view, kSmall).contains("of 40 nodes"));
  type(view, "/none of these");
  CHECK(picture(view, kSmall).contains("no node matches"));
}

TEST_CASE("s shows the most urgent nodes first") {
  RunStatus status = training(4, 2);
  status.nodes[2].agent = AgentStatus::kLost;
  View view = view_of(status);
  type(view, "s");
  const auto rows = rows_of(view.draw(kSmall, kNow));
  const auto first =
      std::ranges::find_if(rows, [](const std::string& row) { return row.starts_with(" n0"); });
  REQUIRE(first != rows.end());
  CHECK(first->starts_with(" n0002"));
}

TEST_CASE("nothing in texts from outside reaches the terminal as a command") {
  const std::string hostile =
      "\x1b[2J\x07\x9b"
      "31m\xe2\x80\xae<script>\r\n\x1b]0;owned\x07";
  RunStatus status = hanging(training(2, 2), 1, 0);
  status.program = status.run_id = status.decision = hostile;
  status.nodes[0].name = status.nodes[1].trouble = status.nodes[1].stage = hostile;
  status.nodes[1].agent = AgentStatus::kSuspect;
  status.hang->place = status.hang->sentence = status.hang->operation = hostile;
  for (const bool unicode : {true, false}) {
    View view = view_of(status, unicode);
    RunFacts facts;
    facts.incidents.push_back({{}, 0, 1, hostile, hostile});
    view.take(std::move(facts));
    view.take(LogTail{1, hostile, {hostile, std::string(1 << 20, 'y')}, {}});
    view.take_outcome(hostile, kNow);
    for (const std::string_view keys : {"", "l", "i", "d", "t", "?", "E"}) {
      type(view, keys);
      if (keys == "d") view.take_diagnosis(hostile);
      const Canvas canvas = view.draw(kSmall, kNow);
      CHECK(is_inert(canvas));
      const std::string text = canvas.text();
      const bool is_ascii =
          std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
      CHECK((unicode || is_ascii));
      CHECK_FALSE(text.contains("\xe2\x80\xae"));
    }
  }
}

TEST_CASE("without an answer the last picture stays, with the time and the reason") {
  View view = view_of(training(2, 2));
  view.note_failure("the run's supervisor does not answer");
  const std::string text = view.draw(kSmall, kNow + std::chrono::seconds(5)).text();
  CAPTURE(text);
  CHECK(text.contains("no answer for 5 s; trying again; this is the last picture"));
  CHECK(text.contains("n0001"));
  view.take(training(2, 2), kNow);
  CHECK(picture(view, kSmall).contains("all 4 ranks run"));
}

TEST_CASE("a take-over is advised only if no supervisor's process is there") {
  RunStatus status = training(2, 2);
  status.supervisor = SupervisorStatus::kSilent;
  View gone = view_of(status);
  CHECK(picture(gone, kSmall).contains("robustrun resume brave-otter-4711"));
  status.is_busy = true;
  View busy = view_of(status);
  CHECK(picture(busy, kSmall).contains("the supervisor is busy or stopped"));
  CHECK_FALSE(picture(busy, kSmall).contains("robustrun resume"));
}

TEST_CASE("the end of a run is told, and q leaves") {
  RunStatus status = training(2, 2);
  status.exit_code = 0;
  status.state = JobState::kFinished;
  View view = view_of(status);
  CHECK(view.has_ended());
  CHECK(picture(view, kSmall).contains("ended after 5 min 0 s with exit code 0"));
  CHECK(view.press(keys_of("q").front()) == View::Wish::kQuit);

  status.exit_code = {};
  View stopped = view_of(status);
  stopped.take_outcome("the run is ending", kNow);
  status.exit_code = 143;
  status.decision = "stopping (robustrun stop); 30 s to save, a second signal kills";
  stopped.take(status, kNow);
  const std::string shown = picture(stopped, kSmall);
  CHECK(shown.contains("with exit code 143; stopped (robustrun stop)"));
  for (const char* const over : {"finished", "is ending", "30 s to save"}) {
    CHECK_FALSE(shown.contains(over));
  }
}

TEST_CASE("q closes a panel before it quits; ctrl-c always quits") {
  View view = view_of(training(2, 2));
  type(view, "?");
  CHECK(picture(view, kSmall).contains("I, E, U and X ask first"));
  CHECK(view.press(keys_of("q").front()) == View::Wish::kNothing);
  CHECK(view.press(keys_of("d").front()) == View::Wish::kDiagnose);
  CHECK(view.press(keys_of("d").front()) == View::Wish::kNothing);  // one at a time
  CHECK(view.press(keys_of("\x03").front()) == View::Wish::kQuit);
}

TEST_CASE("an order is given only after a yes, and about what was asked") {
  View view = view_of(training(4, 2));
  picture(view, kSmall);
  for (const std::string_view no : {"n", "\r", "\x1b", "E"}) {
    type(view, "E");
    CHECK(picture(view, kSmall).contains("evict n0000? all workers are stopped"));
    CHECK(view.press(keys_of(no).front()) == View::Wish::kNothing);
    CHECK_FALSE(picture(view, kSmall).contains("evict n0000?"));
  }
  type(view, "\x1b[BE");
  view.take(hanging(training(4, 2), 5, 2), kNow);
  CHECK(view.press(keys_of("y").front()) == View::Wish::kOrder);
  CHECK(view.order().kind == Order::Kind::kEvict);
  CHECK(view.order().node == "n0001");
  type(view, "X");
  CHECK(picture(view, kSmall).contains("stop the run?"));
  CHECK(view.press(keys_of("Y").front()) == View::Wish::kOrder);
  CHECK(view.order().kind == Order::Kind::kStop);
  view.take_outcome("the run is ending", kNow);
  CHECK(picture(view, kSmall).contains("the run is ending"));
  CHECK_FALSE(view.draw(kSmall, kNow + std::chrono::minutes(1)).text().contains("is ending"));
}

TEST_CASE("a fault is named, and one that does not exist is not asked about") {
  View view = view_of(training(2, 2));
  picture(view, kSmall);
  type(view, "\x1b[CIkil\r");
  CHECK(picture(view, kSmall).contains("fault for rank 1: kil"));
  CHECK(picture(view, kSmall).contains("the kinds of faults are kill, stop"));
  for (const wire::FaultRow& row : wire::fault_rows()) {
    CHECK(picture(view, kSmall).contains(row.name));
  }
  type(view, "x\x7fl\r");
  CHECK(picture(view, kSmall).contains("inject kill into rank 1?"));
  CHECK(view.press(keys_of("y").front()) == View::Wish::kOrder);
  CHECK(view.order().fault == "kill");
  CHECK(view.order().rank == 1);
  type(view, "Iagent-death\r");
  CHECK(picture(view, kSmall).contains("inject agent-death into n0000?"));
  type(view, "n");
}

TEST_CASE("an update is typed as behind the command, explained, and asked about") {
  View view = view_of(training(2, 2));
  picture(view, kSmall);
  type(view, "U");
  CHECK(picture(view, kSmall).contains("--code DIR, --env NAME=VALUE"));
  type(view, "--env LR\r");  // not whole: nothing is asked
  CHECK(picture(view, kSmall).contains("update: --env LR"));
  CHECK(picture(view, kSmall).contains("expected NAME=VALUE"));
  type(view, "=3e-4\r");
  CHECK(
      picture(view, kSmall).contains("update: env LR=3e-4? the workers get it when they restart"));
  CHECK(view.press(keys_of("y").front()) == View::Wish::kOrder);
  CHECK(view.order().kind == Order::Kind::kUpdate);
  CHECK(view.order().update == "--env LR=3e-4");
  type(view, "U--code './my code' --now\r");
  CHECK(picture(view, kLarge).contains("update: code from ./my code? the workers restart at once"));
  CHECK(view.press(keys_of("n").front()) == View::Wish::kNothing);
  type(view, "U--list\r");
  CHECK(picture(view, kLarge).contains("only options that change this run"));
  type(view,
       "\x1b"
       "q");
}

TEST_CASE("stacks are asked for once, and shown") {
  View view = view_of(training(2, 2));
  picture(view, kSmall);
  type(view, "\x1b[C");
  CHECK(view.press(keys_of("S").front()) == View::Wish::kStacks);
  CHECK(view.stacks_rank() == 1);
  CHECK(picture(view, kSmall).contains("stack of rank 1"));
  CHECK(view.press(keys_of("A").front()) == View::Wish::kNothing);  // the first look is not over
  view.take_stacks("rank 1, in load (train.py:8)\n    load  train.py:8\n");
  CHECK(picture(view, kSmall).contains("    load  train.py:8"));
  CHECK(view.press(keys_of("A").front()) == View::Wish::kStacks);
  CHECK_FALSE(view.stacks_rank());
  CHECK(picture(view, kSmall).contains("stacks of all ranks"));
}

TEST_CASE("without a supervisor that answers nothing can be ordered") {
  RunStatus status = training(2, 2);
  status.supervisor = SupervisorStatus::kSilent;
  View view = view_of(status);
  type(view, "Xy");
  CHECK_FALSE(picture(view, kSmall).contains("stop the run?"));
  CHECK(view.press(keys_of("y").front()) == View::Wish::kNothing);
}

TEST_CASE("what the chosen rank uses stands beside its process") {
  View view = view_of(training(2, 2));
  picture(view, kSmall);
  view.take(0, supervisor::RankUse{0.984, 1'230'000'000, {}});
  CHECK(picture(view, kSmall).contains("pid 4242   step 674   0.98 CPUs   1.2 GB"));
  tracer::GpuState gpu{"H100", 87, 0, 0, {}, 38147};
  view.take(0, supervisor::RankUse{0.984, 512'000'000, {gpu}});
  CHECK(picture(view, kLarge).contains("512 MB   GPU 87 %, 40.0 GB"));
  type(view, "\x1b[C");
  CHECK_FALSE(picture(view, kSmall).contains("CPUs"));  // of another rank
}

TEST_CASE("the timeline has a row for each kind of time, with its share, and incidents") {
  using supervisor::Spent;
  const auto minutes = [](int count) -> base::Nanos { return std::chrono::minutes(count); };
  View view = view_of(training(2, 2));
  type(view, "t");
  CHECK(picture(view, kSmall).contains("nothing yet"));
  RunFacts facts;
  facts.timeline = {{Spent::kStarting, minutes(0), minutes(5)},
                    {Spent::kProductive, minutes(5), minutes(80)},
                    {Spent::kRestarting, minutes(80), minutes(81)},
                    {Spent::kProductive, minutes(81), minutes(100)}};
  facts.incidents.push_back({minutes(80), 0, 1, "rank 1: SIGKILL", "restart 1 of 3"});
  view.take(facts);
  for (const Size size : {kSmall, kLarge}) {
    const std::string text = picture(view, size);
    CAPTURE(text);
    CHECK(text.contains("1 h 34 min  94.0 %"));
    CHECK(text.contains("5 min 0 s   5.0 %"));
    CHECK(text.contains("restarting"));
    CHECK_FALSE(text.contains("detecting"));
    CHECK(text.contains("!"));
  }
  const auto lines = timeline_lines(facts, 78, false);
  const auto at = lines[3].text.find('!');
  CHECK(lines[2].text[at] == '-');  // the restart is short, and still seen
  CHECK(lines[1].text[at - 1] == '#');
}

TEST_CASE("a log's end is shown; up scrolls to earlier lines") {
  View view = view_of(training(1, 2));
  std::vector<std::string> lines;
  for (int i = 0; i < 200; ++i) lines.push_back(fmt::format("line {:03}", i));
  view.take(LogTail{0, "/logs/stdout.log", lines, {}});
  CHECK(picture(view, kSmall).contains("line 199"));
  type(view, "l");
  CHECK(picture(view, kSmall).contains("line 199"));
  CHECK(picture(view, kSmall).contains("── log of rank 0 ──"));
  type(view, "k");
  const std::string text = picture(view, kSmall);
  CHECK(text.contains("line 198"));
  CHECK_FALSE(text.contains("line 199"));
}

TEST_CASE("any size is drawn, down to one cell") {
  View view = view_of(hanging(training(64, 8), 77, 9));
  for (const Size size : {Size{1, 1}, Size{40, 12}, Size{41, 13}, Size{1000, 12}, Size{60, 500}}) {
    CAPTURE(size.columns);
    const Canvas canvas = view.draw(size, kNow);
    CHECK(canvas.size() == size);
  }
  View empty(true);
  CHECK(picture(empty, kSmall).contains("asking the supervisor"));
}

TEST_CASE("ranks in all stages of a job have their state") {
  RunStatus status = training(4, 1);
  status.nodes[0].ranks[0].steps = 400;
  status.nodes[3].ranks[0].steps = 660;
  status.nodes[1].agent = AgentStatus::kSuspect;
  status.nodes[2].ranks[0].state = WorkerStage::kSucceeded;
  NodeStatus spare;
  spare.name = "spare";
  spare.agent = AgentStatus::kJoined;
  NodeStatus gone = spare;
  gone.agent = AgentStatus::kLost;
  NodeStatus evicted = spare;
  evicted.evicted = true;
  status.nodes.push_back(spare);
  status.nodes.push_back(gone);
  status.nodes.push_back(evicted);
  const auto cells = cells_of(status);
  CHECK(cells[0].state == CellState::kBehind);
  CHECK(cells[1].state == CellState::kSilent);
  CHECK(cells[2].state == CellState::kDone);
  CHECK(cells[3].state == CellState::kRunning);
  CHECK(cells[4].state == CellState::kSpare);
  CHECK(cells[5].state == CellState::kOut);
  CHECK(cells[6].state == CellState::kOut);
  status.hang.emplace().finding = tracer::Finding::kSlowRank;
  status.hang->culprits = {3};
  CHECK(cells_of(status)[3].state == CellState::kSlow);
  CHECK(headline_of(status, cells_of(status)).text == "rank 3 slows the job down");
  status = training(1, 2);
  status.state = JobState::kStarting;
  status.nodes[0].ranks.assign(2, {});
  status.nodes[0].ranks[0].state = WorkerStage::kRunning;
  status.nodes[0].stage = "imports";
  CHECK(cells_of(status)[0].ranks[0].state == CellState::kStarting);
}

TEST_CASE("a sparkline is as high as its values, and marks what is not a number") {
  const std::vector<double> values = {0, 1, 7, std::numeric_limits<double>::quiet_NaN()};
  CHECK(sparkline(values, 10, true) == "▁▂█!");
  CHECK(sparkline(values, 10, false) == "_.#!");
  CHECK(sparkline(values, 2, true) == "▁!");
  CHECK(sparkline({}, 2, true).empty());
}

}  // namespace robustrun::cli::view_test
