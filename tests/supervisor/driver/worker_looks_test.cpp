// Which looks at the workers there are at a time, and whose questions each answers; and what hangs
// make of them.
#include "supervisor/driver/worker_looks.h"

#include <optional>

#include "supervisor/driver/hangs.h"
#include "supervisor/limits.h"
#include "tests/supervisor/agents/fake_nodes.h"
#include "tests/support/loop.h"
#include "wire/messages/field_codec.h"

namespace robustrun::supervisor::test::worker_looks_test {
namespace {

using namespace std::chrono_literals;
using tracer::Verdict;

constexpr base::Attempt kAttempt{3};

struct Looked {
  explicit Looked(bool analyzes = true) {
    WorkerLooks::Hands hands;
    hands.attempt = [] { return kAttempt; };
    hands.is_running = [this] { return running; };
    if (analyzes) {
      hands.analyze = [this](tracer::FleetSnapshot fleet, const tracer::RasEvidence&,
                             std::function<void(Verdict)> done) {
        fleets.push_back(std::move(fleet));
        analyzed = std::move(done);
      };
      hands.analyze_failed = [this](tracer::FleetSnapshot fleet,
                                    std::function<void(Verdict)> done) {
        fleets.push_back(std::move(fleet));
        analyzed = std::move(done);
      };
    }
    looks.emplace(loop.executor(), nodes.table, std::move(hands));
  }
  // The questions that the first node got.
  [[nodiscard]] std::vector<wire::Observe> asked(std::size_t node = 0) const {
    return nodes.sent_to<wire::Observe>(node);
  }
  // All workers answer the newest question, and it is analyzed.
  void answer_all() {
    const wire::Observe question = asked().back();
    const std::size_t before = fleets.size();
    for (const std::uint32_t node : {0U, 1U}) {
      for (const std::uint32_t local : {0U, 1U}) {
        tracer::RankSnapshot snapshot;
        snapshot.steps = 10;
        looks->on_report({node},
                         {question.number, question.attempt, {local}, 2, wire::encode(snapshot)});
      }
    }
    wire::RasAnswer none;
    none.number = question.number;
    none.attempt = question.attempt;
    for (const std::uint32_t node : {0U, 1U}) {
      wire::RasAnswer answer = none;
      looks->on_report({node}, answer);
    }
    REQUIRE(loop.run_until([&] { return fleets.size() > before; }));
  }
  WorkerLooks::Done take() {
    return [this](const Verdict* verdict) {
      answers.push_back(verdict == nullptr ? "none" : verdict->sentence);
    };
  }
  static Verdict saying(const std::string& sentence) {
    Verdict verdict;
    verdict.sentence = sentence;
    return verdict;
  }

  robustrun::test::Loop loop{};
  FakeNodes nodes{2};
  bool running = true;
  std::vector<tracer::FleetSnapshot> fleets;
  std::function<void(Verdict)> analyzed;
  std::vector<std::string> answers;
  std::optional<WorkerLooks> looks;
};

TEST_CASE("a request during a look gets that look's verdict") {
  Looked run;
  run.looks->look(true, run.take());
  run.looks->look(false, run.take());
  CHECK(run.asked().size() == 1);
  CHECK(run.asked(1).size() == 1);
  CHECK(run.asked()[0].evidence);
  run.answer_all();
  CHECK(run.fleets[0].ranks.size() == 4);
  run.analyzed(Looked::saying("rank 1 sleeps"));
  CHECK(run.answers == std::vector<std::string>{"rank 1 sleeps", "rank 1 sleeps"});
  run.looks->look(false, run.take());
  CHECK(run.asked().size() == 2);
}

TEST_CASE("who needs evidence waits for another look if the one under way has none") {
  Looked run;
  run.looks->look(false, run.take());
  run.looks->look(true, run.take());
  CHECK_FALSE(run.asked()[0].evidence);
  run.answer_all();
  run.analyzed(Looked::saying("first"));
  CHECK(run.answers == std::vector<std::string>{"first"});
  REQUIRE(run.asked().size() == 2);
  CHECK(run.asked()[1].evidence);
  run.answer_all();
  run.analyzed(Looked::saying("second"));
  CHECK(run.answers == std::vector<std::string>{"first", "second"});
}

TEST_CASE("a lost node is not asked, and one that is lost later not waited for") {
  Looked run;
  run.nodes.table[{1}].lost = true;
  run.looks->look(false, run.take());
  CHECK(run.asked(1).empty());
  run.looks->on_agent_lost({0});
  REQUIRE(run.loop.run_until([&] { return !run.fleets.empty(); }));
  CHECK(run.fleets[0].world_size == 4);
}

TEST_CASE("without an analyzer, and after the end of the run, a look has no verdict") {
  Looked blind(false);
  blind.looks->look(false, blind.take());
  blind.looks->on_agent_lost({0});
  blind.looks->on_agent_lost({1});
  REQUIRE(blind.loop.run_until([&] { return !blind.answers.empty(); }));
  CHECK(blind.answers == std::vector<std::string>{"none"});

  Looked over;
  over.looks->look(false, over.take());
  over.looks->end();
  over.looks->on_agent_lost({0});
  over.looks->on_agent_lost({1});
  REQUIRE(over.loop.run_until([&] { return !over.answers.empty(); }));
  CHECK(over.answers == std::vector<std::string>{"none"});
}

TEST_CASE("dropped looks answer nothing, not even a verdict that was under way") {
  Looked run;
  run.looks->look(false, run.take());
  run.answer_all();
  run.looks->drop();
  run.analyzed(Looked::saying("late"));
  run.loop.run_out();
  CHECK(run.answers.empty());
}

TEST_CASE("a look back is answered once, and at once where nothing can be analyzed") {
  std::vector<std::string> told;
  const auto tell = [&](const Verdict& verdict) { told.push_back(verdict.sentence); };
  LookBack order;
  order.attempt = kAttempt;
  Looked run;
  run.looks->look_back(order, tell);
  REQUIRE(run.asked().size() == 1);
  CHECK_FALSE(run.asked()[0].evidence);
  run.looks->on_agent_lost({0});
  run.looks->on_agent_lost({1});
  REQUIRE(run.loop.run_until([&] { return run.fleets.size() == 1; }));
  Verdict mismatch = Looked::saying("rank 1 called another operation");
  mismatch.finding = tracer::Finding::kMismatch;
  run.analyzed(mismatch);
  CHECK(told == std::vector<std::string>{"rank 1 called another operation"});

  Looked blind(false);
  blind.looks->look_back(order, tell);
  CHECK(told.size() == 2);
  CHECK(blind.asked().empty());
}

TEST_CASE("what a rank uses is asked of its node alone") {
  Looked run;
  std::vector<base::Result<RankUse>> uses;
  const auto take = [&](base::Result<RankUse> use) { uses.push_back(std::move(use)); };
  run.looks->look_at_use({3}, take);
  CHECK(run.asked(0).empty());
  REQUIRE(run.asked(1).size() == 1);
  CHECK(run.asked(1)[0].use_of == base::LocalRank{1});
  tracer::RankSnapshot snapshot;
  snapshot.evidence.has_process = true;
  snapshot.evidence.process.memory_bytes = 99;
  snapshot.evidence.process.cpu = 500ms;
  snapshot.evidence.process.watched = 1s;
  run.looks->on_report({1}, {run.asked(1)[0].number, kAttempt, {1}, 1, wire::encode(snapshot)});
  REQUIRE(run.loop.run_until([&] { return !uses.empty(); }));
  REQUIRE(uses[0]);
  CHECK(uses[0]->memory_bytes == 99);
  CHECK(uses[0]->processors == doctest::Approx(0.5));

  run.looks->look_at_use({4}, take);
  CHECK_FALSE(uses.back());
  run.running = false;
  run.looks->look_at_use({3}, take);
  CHECK_FALSE(uses.back());
  CHECK(uses.size() == 3);
  run.running = true;
  for (std::size_t i = 0; i <= kUseLooksMax; ++i) run.looks->look_at_use({0}, take);
  CHECK(uses.size() == 4);  // one too many
}

TEST_CASE("stacks are looked at of one rank, or of all of them") {
  Looked run;
  std::vector<base::Result<WorkerStacks>> found;
  const auto take = [&](base::Result<WorkerStacks> stacks) { found.push_back(std::move(stacks)); };
  const auto answer = [&](std::uint32_t node, std::uint32_t local, const std::string& function) {
    tracer::RankSnapshot snapshot;
    tracer::ThreadStack& stack = snapshot.evidence.stacks.emplace_back();
    stack.is_main = true;
    stack.frames = {{function, "train.py", 8}};
    run.looks->on_report(
        {node}, {run.asked(node).back().number, kAttempt, {local}, 2, wire::encode(snapshot)});
  };
  run.looks->look_at_stacks(base::Rank{3}, take);
  CHECK(run.asked(0).empty());
  REQUIRE(run.asked(1).size() == 1);
  CHECK(run.asked(1)[0].evidence);
  answer(1, 0, "step");
  answer(1, 1, "load");
  REQUIRE(run.loop.run_until([&] { return !found.empty(); }));
  REQUIRE(found[0]);
  REQUIRE(found[0]->stacks.size() == 1);
  CHECK(found[0]->stacks[0].ranks == std::vector<std::uint32_t>{3});
  CHECK(found[0]->stacks[0].frames[0].function == "load");

  run.looks->look_at_stacks({}, take);
  answer(0, 0, "step");
  answer(0, 1, "step");
  answer(1, 0, "step");
  answer(1, 1, "load");
  REQUIRE(run.loop.run_until([&] { return found.size() == 2; }));
  REQUIRE(found[1]);
  REQUIRE(found[1]->stacks.size() == 2);
  CHECK(found[1]->stacks[0].ranks == std::vector<std::uint32_t>{0, 1, 2});
  run.looks->look_at_stacks(base::Rank{9}, take);
  CHECK_FALSE(found.back());
}

struct LookedForUser : Looked {
  void look_at_stacks(std::optional<base::Rank> rank = {}) {
    looks->look_at_stacks(rank, [this](const base::Result<WorkerStacks>& stacks) {
      found.push_back(stacks ? "" : stacks.error().what);
    });
  }
  // All workers answer the newest question, which is a user's.
  void answer_user() {
    const wire::Observe question = asked().back();
    const std::string snapshot = wire::encode(tracer::RankSnapshot{});
    const std::size_t before = found.size();
    for (const std::uint32_t node : {0U, 1U}) {
      for (const std::uint32_t local : {0U, 1U}) {
        looks->on_report({node}, {question.number, kAttempt, {local}, 2, snapshot});
      }
    }
    REQUIRE(loop.run_until([&] { return found.size() > before; }));
  }

  std::vector<std::string> found;  // errors; empty: stacks
};

TEST_CASE("stacks are asked for after the look under way, whose question they would replace") {
  LookedForUser run;
  run.looks->look(true, run.take());
  run.look_at_stacks();
  run.look_at_stacks();
  CHECK(run.asked().size() == 1);
  run.answer_all();
  CHECK(run.fleets[0].ranks.size() == 4);
  CHECK(run.asked().size() == 2);
  run.analyzed(Looked::saying("rank 1 sleeps"));
  CHECK(run.answers == std::vector<std::string>{"rank 1 sleeps"});
  run.answer_user();
  CHECK(run.asked().size() == 3);
  run.answer_user();
  CHECK(run.found == std::vector<std::string>{"", ""});
}

TEST_CASE("a look waits for stacks that are being taken, but not for those wanted later") {
  LookedForUser run;
  run.look_at_stacks();
  run.looks->look(false, run.take());
  run.look_at_stacks();
  CHECK(run.asked().size() == 1);
  run.answer_user();
  REQUIRE(run.asked().size() == 2);
  CHECK_FALSE(run.asked()[1].evidence);
  run.answer_all();
  CHECK(run.asked().size() == 3);
  CHECK(run.found.size() == 1);
}

TEST_CASE("stacks that were wanted of workers that have ended meanwhile are refused") {
  LookedForUser run;
  run.looks->look(true, run.take());
  run.look_at_stacks();
  run.look_at_stacks();
  run.running = false;
  run.answer_all();
  CHECK(run.asked().size() == 1);
  CHECK(run.found.size() == 2);
  CHECK_FALSE(run.found[0].empty());
}

TEST_CASE("too many questions for stacks do not wait") {
  LookedForUser run;
  run.looks->look(true, run.take());
  for (std::size_t i = 0; i <= kStacksWaitingMax; ++i) run.look_at_stacks();
  CHECK(run.found.size() == 1);  // one too many
}

wire::Overdue overdue(base::Attempt attempt, std::uint32_t local_rank) {
  wire::Overdue report;
  report.attempt = attempt;
  report.local_rank = {local_rank};
  report.comm = 7;
  report.expected = 1s;
  return report;
}

struct Watched : Looked {
  Watched()
      : hangs(clock, nodes.table, *looks, {{}, 10s, false},
              {[] { return kAttempt; }, [this] { return running; }, [this] { return steps; },
               [this] { told.emplace_back("news"); },
               [this](const Diagnosed& one) { told.push_back(one.verdict.sentence); }}) {
    hangs.begin_attempt(kAttempt, 4);
  }
  // Watches as time goes by, until a look begins.
  void wait_for_look() {
    for (int i = 0; i < 10'000 && asked().empty(); ++i) {
      clock.time += 100ms;
      hangs.watch();
    }
    REQUIRE(asked().size() == 1);
  }

  SetClock clock;
  std::uint64_t steps = 0;
  std::vector<std::string> told;
  Hangs hangs;
};

TEST_CASE("an overdue operation leads to a look, and its verdict to the core") {
  Watched run;
  for (int i = 0; i < 20; ++i) {
    run.clock.time += 1s;
    ++run.steps;
    run.hangs.watch();
  }
  REQUIRE(run.asked().empty());
  run.hangs.on_report({0}, overdue(kAttempt, 1));
  run.wait_for_look();
  CHECK(run.asked()[0].evidence);
  run.answer_all();
  Verdict hang = Looked::saying("rank 2 sleeps");
  hang.finding = tracer::Finding::kNeverEntered;
  hang.confidence = tracer::Confidence::kExact;
  hang.culprits = {{2}};
  hang.lasting = 60s;
  run.analyzed(hang);
  CHECK(run.told == std::vector<std::string>{"news", "rank 2 sleeps"});
}

TEST_CASE("a group that is destroyed does not make a script without steps look like a hang") {
  Watched run;
  const auto report = [&](std::vector<wire::CommunicatorProgress> communicators) {
    run.clock.time += 1s;
    run.hangs.on_report({0}, {kAttempt, {1}, std::move(communicators)});
    run.hangs.watch();
  };
  for (std::uint64_t done = 1; done <= 10; ++done) {
    report({{.comm = 7, .entered = 1000, .done = 1000, .head_age = {}},
            {.comm = 8, .entered = done, .done = done, .head_age = {}}});
  }
  for (std::uint64_t done = 11; done <= 40; ++done) {
    report({{.comm = 8, .entered = done, .done = done, .head_age = {}}});
  }
  CHECK(run.asked().empty());
  run.wait_for_look();  // as nothing is reported any more
}

TEST_CASE("reports of another attempt, and of ranks that are unknown, lead to nothing") {
  Watched run;
  run.hangs.on_report({0}, overdue({2}, 1));
  run.hangs.on_report({0}, overdue(kAttempt, 9));
  run.clock.time += 1s;
  run.hangs.watch();
  CHECK(run.asked().empty());
}

TEST_CASE("a verdict about an attempt that is no longer running is given up") {
  Watched run;
  run.hangs.on_report({0}, overdue(kAttempt, 1));
  run.wait_for_look();
  run.answer_all();
  run.running = false;
  run.analyzed(Looked::saying("late"));
  CHECK(run.told.empty());
}

TEST_CASE("a round of the vote is answered, also without a verdict") {
  Watched run;
  LookAtPace round;
  round.attempt = kAttempt;
  run.hangs.look_at_pace(round);
  run.looks->end();
  run.looks->on_agent_lost({0});
  run.looks->on_agent_lost({1});
  REQUIRE(run.loop.run_until([&] { return !run.told.empty(); }));
  CHECK(run.told == std::vector<std::string>{""});
}

}  // namespace
}  // namespace robustrun::supervisor::test::worker_looks_test
