// What becomes of Slurm's signals and of its plans for the nodes.
#include "supervisor/driver/slurm_side.h"

#include <csignal>
#include <map>
#include <optional>

#include "tests/supervisor/agents/fake_nodes.h"
#include "tests/support/captured_log.h"
#include "tests/support/loop.h"

namespace robustrun::supervisor::test::slurm_side_test {
namespace {

using namespace std::chrono_literals;
using launcher::SlurmNodeState;
using launcher::SlurmNotice;
using States = base::Result<std::vector<SlurmNodeState>>;

constexpr base::Nanos kEnd = 1'000'000s;
const SlurmNotice kNear{SlurmNotice::Why::kTimeLimitNear, "the time limit of job 12 is near", kEnd};

struct Side {
  explicit Side(base::Nanos poll = 1ms) : nodes(3) {
    SlurmSide::Hands hands;
    hands.ask_why = [this](std::function<void(SlurmNotice)> done) {
      ++asked;
      why = std::move(done);
    };
    hands.ask_states = [this](std::function<void(States)> done) {
      ++polled;
      states = std::move(done);
    };
    hands.on_signal = [this](const SignalReceived& one) { signals.push_back(one); };
    hands.timed_save = [this](base::Nanos end) { return end == kEnd ? timed_save : ""; };
    hands.time_to_save = [](base::Nanos end) { return end - kEnd + 80s; };
    hands.drained = [this](base::NodeId node) { return known[node.value]; };
    hands.on_health = [this](const NodeHealth& one, base::NodeId node) {
      known[node.value] = one.over ? "" : one.line;
      told.emplace_back(node.value, one.line, one.over);
    };
    slurm.emplace(loop.executor(), nodes.table, poll, std::move(hands));
  }

  robustrun::test::Loop loop{};
  FakeNodes nodes;
  int asked = 0, polled = 0;
  std::function<void(SlurmNotice)> why;
  std::function<void(States)> states;
  std::string timed_save;
  std::vector<SignalReceived> signals;
  std::map<std::uint32_t, std::string> known;
  std::vector<std::tuple<std::uint32_t, std::string, bool>> told;
  std::optional<SlurmSide> slurm;
};

TEST_CASE("of all reports of a signal the first asks Slurm, and has its reason") {
  Side side;
  CHECK(side.slurm->may_signal());
  side.slurm->signalled();
  side.slurm->signalled();
  CHECK(side.asked == 1);
  side.why({SlurmNotice::Why::kPreempted, "Slurm preempts job 12"});
  side.slurm->signalled();
  REQUIRE(side.signals.size() == 1);
  CHECK(side.signals[0].signal == SIGTERM);
  CHECK(side.signals[0].cause == SignalReceived::Cause::kPreempted);
  CHECK(side.signals[0].by == "Slurm preempts job 12");
  CHECK(side.asked == 1);
}

TEST_CASE("a signal that is not Slurm's counts, and so does the next one") {
  Side side;
  side.slurm->signalled();
  side.why({SlurmNotice::Why::kNothing, ""});
  side.slurm->signalled();
  CHECK(side.asked == 2);
  side.why({SlurmNotice::Why::kTimeLimit, "the time limit of job 12"});
  REQUIRE(side.signals.size() == 2);
  CHECK(side.signals[0].cause == SignalReceived::Cause::kNone);
  CHECK(side.signals[1].cause == SignalReceived::Cause::kTimeLimit);
}

TEST_CASE("a warning of the time limit needs no answer once the last save is timed") {
  Side untimed;
  untimed.slurm->signalled();
  untimed.why(kNear);
  REQUIRE(untimed.signals.size() == 1);
  CHECK(untimed.signals[0].cause == SignalReceived::Cause::kTimeLimit);
  CHECK(untimed.signals[0].grace == 80s);  // what the job has left, not --shutdown-timeout

  Side timed;
  timed.timed_save = "saving at 13:58:30";
  {
    const robustrun::test::CapturedLog log;
    timed.slurm->signalled();
    timed.why(kNear);
    CHECK(log.text() == "the time limit of job 12 is near; saving at 13:58:30\n");
  }
  CHECK(timed.signals.empty());
  // Slurm warns once: the next one is a user who is in a hurry.
  timed.slurm->signalled();
  timed.why(kNear);
  REQUIRE(timed.signals.size() == 1);
  CHECK(timed.signals[0].grace == 80s);
}

TEST_CASE("a warning of a limit that was shortened ends the run if the save would be too late") {
  Side side;
  side.timed_save = "saving at 13:58:30";  // by the end that was known
  side.slurm->signalled();
  side.why({SlurmNotice::Why::kTimeLimitNear, "the time limit of job 12 is near", kEnd - 60s});
  REQUIRE(side.signals.size() == 1);
  CHECK(side.signals[0].grace == 20s);
}

TEST_CASE("an answer that comes when the last save has begun is no second signal") {
  Side side;
  side.slurm->signalled();
  side.slurm->note_end();
  side.why(kNear);
  side.slurm->signalled();
  CHECK(side.asked == 1);
  CHECK(side.signals.empty());
}

TEST_CASE("at the time limit no timed save is waited for, and once it has begun nothing is new") {
  Side over;
  over.timed_save = "saving at 13:58:30";
  over.slurm->signalled();
  over.why({SlurmNotice::Why::kTimeLimit, "Slurm ends job 12 at its time limit"});
  REQUIRE(over.signals.size() == 1);
  CHECK_FALSE(over.signals[0].grace);

  Side saving;
  saving.slurm->note_end();
  saving.slurm->signalled();
  CHECK(saving.asked == 0);
  CHECK(saving.signals.empty());
}

TEST_CASE("a planned drain is told once, spares first, and its end as well") {
  Side side;
  side.nodes.table[{2}].ranks.clear();  // a spare
  side.nodes.table[{1}].lost = true;
  side.slurm->watch_nodes();
  const std::string bad = "it is draining (bad disk)";
  side.states(std::vector<SlurmNodeState>{{"n0", bad}, {"n1", bad}, {"n2", bad}, {"other", bad}});
  using Told = std::tuple<std::uint32_t, std::string, bool>;
  CHECK(side.told == std::vector<Told>{{2, bad, false}, {0, bad, false}});
  REQUIRE(side.loop.run_until([&] { return side.polled == 2; }));
  side.states(std::vector<SlurmNodeState>{{"n0", bad}, {"n2", ""}});
  CHECK(side.told.size() == 3);
  CHECK(side.told.back() == Told{2, bad, true});
}

TEST_CASE("if Slurm does not answer, it is asked again later") {
  Side side;
  side.slurm->watch_nodes();
  side.states(base::fail(base::Errc::kTimeout, "scontrol took too long"));
  REQUIRE(side.loop.run_until([&] { return side.polled == 2; }));
  CHECK(side.told.empty());
}

TEST_CASE("without an interval, and after the end, Slurm is not asked") {
  Side never(0s);
  never.slurm->watch_nodes();
  CHECK(never.polled == 0);
  Side over;
  over.slurm->watch_nodes();
  over.slurm->signalled();
  over.slurm->end();
  over.why({SlurmNotice::Why::kPreempted, "late"});
  over.states(std::vector<SlurmNodeState>{{"n0", "late"}});
  over.slurm->signalled();
  over.loop.run_out();
  CHECK(over.signals.empty());
  CHECK(over.told.empty());
  CHECK(over.polled == 1);
  CHECK(over.asked == 1);
}

}  // namespace
}  // namespace robustrun::supervisor::test::slurm_side_test
