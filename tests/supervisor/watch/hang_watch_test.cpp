#include "supervisor/watch/hang_watch.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "supervisor/limits.h"

namespace robustrun::supervisor::hang_watch_test {
namespace {

using namespace std::chrono_literals;
using Stage = Diagnosed::Stage;
using tracer::Verdict;

constexpr std::uint64_t kComm = 7;

Verdict verdict(tracer::Finding finding, base::Nanos lasting, bool is_moving = false) {
  Verdict what;
  what.finding = finding;
  what.confidence = tracer::Confidence::kExact;
  what.culprits = {{2}};
  what.lasting = lasting;
  what.is_moving = is_moving;
  return what;
}

struct Watch {
  HangWatch watch;
  base::Nanos now = 100s;

  explicit Watch(HangPolicy policy = {}, base::Nanos still = 10s) : watch(policy, still) {
    watch.begin_attempt(base::Attempt{1}, now);
  }
  // The stages that a look with this result leads to.
  std::vector<Stage> look(const Verdict& found) {
    REQUIRE(watch.wants_look(now));
    watch.begin_look(now);
    CHECK_FALSE(watch.wants_look(now));
    now += 1s;
    std::vector<Stage> stages;
    for (const Diagnosed& one : watch.take(found, now)) {
      CHECK(one.attempt == base::Attempt{1});
      CHECK(one.learnt_in == 1s);
      stages.push_back(one.stage);
    }
    now += kLookInterval;
    return stages;
  }
  void wait_for_look() {
    while (!watch.wants_look(now)) now += 1s;
  }
};

using Stages = std::vector<Stage>;

TEST_CASE("a rank that is slow from the first step on is reported once, with its cost") {
  Watch w;
  for (std::uint64_t step = 1; step < 100; ++step) {
    w.now += 1s;
    w.watch.note_steps(step, w.now);
  }
  Verdict slow = verdict(tracer::Finding::kSlowRank, 0s);
  slow.lost_share = 0.5;
  const auto told = w.watch.take_slow(slow, 1s);
  REQUIRE(told);
  CHECK(told->stage == Stage::kSuspected);
  CHECK(told->period == 1s);
  CHECK(told->usual == 500ms);
  CHECK_FALSE(w.watch.take_slow(slow, 1s));
  slow.culprits = {{3}};
  CHECK(w.watch.take_slow(slow, 1s));
  CHECK_FALSE(w.watch.take_slow(verdict(tracer::Finding::kNeverEntered, 5s), 1s));
}

TEST_CASE("no worker is looked at while all is well") {
  Watch w;
  for (std::uint64_t step = 1; step < 100; ++step) {
    w.now += 1s;
    w.watch.note_steps(step, w.now);
    CHECK_FALSE(w.watch.wants_look(w.now));
  }
}

TEST_CASE("what an agent calls overdue is looked into at once, and said at once") {
  Watch w;
  w.watch.note_overdue({0}, kComm, false, 2s);
  CHECK(w.look(verdict(tracer::Finding::kNeverEntered, 3s)) == Stages{Stage::kSuspected});
}

TEST_CASE("the same suspicion is reported once; another culprit is reported again") {
  Watch w;
  w.watch.note_overdue({0}, kComm, false, 2s);
  CHECK(w.look(verdict(tracer::Finding::kNeverEntered, 3s)) == Stages{Stage::kSuspected});
  CHECK(w.look(verdict(tracer::Finding::kNeverEntered, 6s)).empty());
  Verdict other = verdict(tracer::Finding::kNeverEntered, 9s);
  other.culprits = {{3}};
  CHECK(w.look(other) == Stages{Stage::kSuspected});
}

TEST_CASE("a rank that does not move is convicted after a while, by two verdicts in a row") {
  Watch w;
  w.watch.note_overdue({0}, kComm, false, 2s);
  const auto late = verdict(tracer::Finding::kNeverEntered, kConvictStill);
  CHECK(w.look(late) == Stages{Stage::kSuspected});  // the first one alone proves nothing
  CHECK(w.look(late) == Stages{Stage::kConvicted});
  w.now += 1h;
  CHECK_FALSE(w.watch.wants_look(w.now));  // the attempt ends
}

Verdict still(base::Nanos lasting) {
  Verdict what = verdict(tracer::Finding::kNeverEntered, lasting);
  what.comm = kComm;
  what.ordinal = 40;
  what.place = "train.py:9";
  what.is_still = true;
  return what;
}

// Looks until the attempt ends, or for two minutes; returns the time from the beginning of the
// first look.
base::Nanos until_convicted(Watch& w, const std::function<Verdict(base::Nanos)>& found) {
  const base::Nanos first = w.now;
  while (w.now < first + 2min) {
    w.wait_for_look();
    const base::Nanos begun = w.now;
    const Stages stages = w.look(found(begun - first));
    if (!stages.empty() && stages.back() == Stage::kConvicted) return begun - first;
  }
  return w.now - first;
}

TEST_CASE("a rank that stays still is convicted after the policy's time, not after a minute") {
  const auto always = [](base::Nanos since) { return still(3s + since); };
  for (const base::Nanos patience : {base::Nanos(10s), base::Nanos(25s)}) {
    Watch w({}, patience);
    w.watch.note_overdue({0}, kComm, false, 2s);
    const base::Nanos after = until_convicted(w, always);
    CHECK(after >= patience - 1s);  // a look takes a second
    CHECK(after < patience + 4s);
  }
  Watch off({}, 0s);
  off.watch.note_overdue({0}, kComm, false, 2s);
  CHECK(until_convicted(off, always) >= kConvictStill - 3s);
}

TEST_CASE("the announced time holds, however long looks take") {
  for (const base::Nanos took :
       {base::Nanos(100ms), base::Nanos(1s), base::Nanos(3s), base::Nanos(5s)}) {
    CAPTURE(took);
    Watch w;
    w.watch.note_overdue({0}, kComm, false, 2s);
    std::optional<base::Nanos> announced;
    bool is_convicted = false;
    while (!is_convicted && w.now < 200s) {
      while (!w.watch.wants_look(w.now)) w.now += 100ms;
      w.watch.begin_look(w.now);
      w.now += took;
      for (const Diagnosed& one : w.watch.take(still(w.now - 97s), w.now)) {
        if (one.stage == Stage::kSuspected) announced = w.now + one.acts_in;
        is_convicted = one.stage == Stage::kConvicted;
      }
    }
    REQUIRE(is_convicted);
    REQUIRE(announced);
    CHECK(w.now <= *announced + 100ms);
    CHECK(w.now >= *announced - kLookInterval);
  }
}

TEST_CASE("a rank that was not still in one look, or is at another operation, has its time anew") {
  Watch w;
  w.watch.note_overdue({0}, kComm, false, 2s);
  CHECK(until_convicted(w, [](base::Nanos since) {
          Verdict found = still(3s + since);
          found.is_still = since < 5s || since > 9s;
          return found;
        }) > 18s);
  Watch other;
  other.watch.note_overdue({0}, kComm, false, 2s);
  CHECK(until_convicted(other, [](base::Nanos since) {
          Verdict found = still(since > 8s ? since - 8s : since);
          found.ordinal += since > 8s ? 1 : 0;
          return found;
        }) >= 18s);
}

TEST_CASE("a still rank of an inferred verdict, or where waits passed, is not convicted early") {
  Watch w;
  w.watch.note_overdue({0}, kComm, false, 2s);
  CHECK(until_convicted(w, [](base::Nanos since) {
          Verdict found = still(since);
          found.confidence = tracer::Confidence::kInferred;
          return found;
        }) >= 2min);
  Watch used;
  used.watch.note_overdue({0}, kComm, false, 2s);
  used.look(still(9s));
  used.watch.note_overdue({0}, kComm, true, {});
  used.look(verdict(tracer::Finding::kNothing, {}));
  used.watch.note_overdue({0}, kComm, false, 2s);
  CHECK(until_convicted(used, [](base::Nanos since) { return still(since); }) >= 34s);
}

TEST_CASE("where a still rank ended an attempt, the next one is not convicted early") {
  Watch w;
  for (const base::Nanos patience : {base::Nanos(10s), base::Nanos(2 * kConvictStill)}) {
    w.watch.note_overdue({0}, kComm, false, 2s);
    const base::Nanos after =
        until_convicted(w, [](base::Nanos since) { return still(3s + since); });
    CHECK(after >= patience - 4s);
    CHECK(after < patience + 4s);
    w.watch.begin_attempt(base::Attempt{1}, w.now);
  }
}

TEST_CASE("a rank is not convicted early while nothing is late, or at changing places") {
  Watch on_time;
  on_time.watch.note_overdue({0}, kComm, false, 2s);
  on_time.look(still(3s));
  on_time.watch.note_overdue({0}, kComm, true, {});
  CHECK(until_convicted(on_time, [](base::Nanos since) { return still(3s + since); }) > 40s);
  Watch about;
  about.watch.note_overdue({0}, kComm, false, 2s);
  CHECK(until_convicted(about, [](base::Nanos since) {
          Verdict found = still(3s + since);
          found.place = "train.py:" + std::to_string(since / 8s);
          return found;
        }) > 40s);
}

TEST_CASE("looks that are far apart, or gave no result, do not show that a rank is still") {
  Watch rare;
  rare.watch.note_overdue({0}, kComm, false, 2s);
  CHECK(until_convicted(rare, [&](base::Nanos since) {
          rare.now += 7s;
          return still(3s + since);
        }) > 40s);
  Watch failing;
  failing.watch.note_overdue({0}, kComm, false, 2s);
  CHECK(until_convicted(failing, [&](base::Nanos since) {
          failing.watch.begin_look(failing.now);
          failing.watch.give_up_look(failing.now);
          failing.wait_for_look();
          return still(3s + since);
        }) > 40s);
}

TEST_CASE("a rank that moves is convicted when patience ends") {
  Watch w;
  w.watch.note_overdue({0}, kComm, false, 2s);
  const auto moving = [](base::Nanos age) {
    return verdict(tracer::Finding::kNeverEntered, age, true);
  };
  CHECK(w.look(moving(20s)) == Stages{Stage::kSuspected});
  CHECK(w.look(moving(60s)).empty());
  CHECK(w.look(moving(599s)).empty());
  CHECK(w.look(moving(600s)) == Stages{Stage::kConvicted});
}

TEST_CASE("looks that blame different ranks by turns do not put off --hang-timeout") {
  const HangPolicy policy{.timeout = 100s};
  Verdict spins = verdict(tracer::Finding::kNeverEntered, 99s, true);
  Verdict unclear = verdict(tracer::Finding::kUndecided, 99s);
  unclear.culprits.clear();
  spins.comm = unclear.comm = kComm;
  spins.ordinal = unclear.ordinal = 40;
  Watch w(policy);
  w.watch.note_overdue({0}, kComm, false, 2s);
  const auto is_convicted = [&](const Verdict& found) {
    const Stages stages = w.look(found);
    return std::ranges::find(stages, Stage::kConvicted) != stages.end();
  };
  CHECK_FALSE(is_convicted(spins));
  CHECK_FALSE(is_convicted(unclear));
  spins.lasting = unclear.lasting = policy.timeout;
  CHECK_FALSE(is_convicted(spins));  // the first one alone proves nothing
  CHECK(is_convicted(unclear));
}

TEST_CASE("a group that goes on is not convicted, however old what each look finds is") {
  const HangPolicy policy{.timeout = 100s};
  const auto is_convicted = [&](const std::function<void(Verdict&, std::uint32_t)>& goes_on,
                                std::uint64_t steps_a_look) {
    Watch w(policy);
    std::uint64_t steps = 0;
    while (steps < 20) w.watch.note_steps(++steps, w.now += 1s);
    w.now += policy.timeout;
    w.watch.note_overdue({0}, kComm, false, 2s);
    for (std::uint32_t i = 0; i < 6; ++i) {
      Verdict found = verdict(tracer::Finding::kNeverEntered, policy.timeout, true);
      found.comm = kComm;
      found.ordinal = 40;
      found.culprits = {{i}};
      goes_on(found, i);
      if (!w.watch.wants_look(w.now)) w.wait_for_look();
      const Stages stages = w.look(found);
      if (std::ranges::find(stages, Stage::kConvicted) != stages.end()) return true;
      if (steps_a_look > 0) w.watch.note_steps(steps += steps_a_look, w.now);
    }
    return false;
  };
  CHECK(is_convicted([](Verdict&, std::uint32_t) {}, 0));  // the same operation, without steps
  CHECK_FALSE(is_convicted([](Verdict& found, std::uint32_t i) { found.ordinal += i; }, 0));
  CHECK_FALSE(is_convicted([](Verdict& found, std::uint32_t i) { found.comm += i; }, 0));
  CHECK_FALSE(is_convicted([](Verdict&, std::uint32_t) {}, 1));
  for (const bool moves : {false, true}) {
    CHECK_FALSE(is_convicted(
        [&](Verdict& found, std::uint32_t i) {
          found.comm = found.ordinal = 0;
          found.by_stacks = true;
          found.is_moving = moves;
          found.place = "train.py:" + std::to_string(i);
        },
        0));
  }
}

TEST_CASE("a checkpoint or an evaluation is reported late, and convicted when patience ends") {
  Watch w;
  w.watch.note_overdue({0}, kComm, false, 2s);
  const auto saving = [](base::Nanos age) { return verdict(tracer::Finding::kLongPhase, age); };
  CHECK(w.look(saving(10s)).empty());
  CHECK(w.look(saving(kVagueSaidAfter)) == Stages{Stage::kSuspected});
  CHECK(w.look(saving(500s)).empty());
  CHECK(w.look(saving(600s)) == Stages{Stage::kConvicted});
}

TEST_CASE("what cannot come right is convicted soon, though its workers move") {
  Watch w;
  w.watch.note_overdue({0}, kComm, false, 2s);
  const auto mismatch = verdict(tracer::Finding::kMismatch, kConvictFinal, true);
  CHECK(w.look(mismatch) == Stages{Stage::kSuspected});
  CHECK(w.look(mismatch) == Stages{Stage::kConvicted});
}

TEST_CASE("an inferred finding is reported, and convicted when patience ends") {
  Watch w;
  w.watch.note_overdue({0}, kComm, false, 2s);
  const auto inferred = [](base::Nanos age) {
    Verdict what = verdict(tracer::Finding::kOrderInversion, age);
    what.confidence = tracer::Confidence::kInferred;
    return what;
  };
  CHECK(w.look(inferred(20s)) == Stages{Stage::kSuspected});
  CHECK(w.look(inferred(599s)).empty());
  CHECK(w.look(inferred(600s)) == Stages{Stage::kConvicted});
}

TEST_CASE("a stopped rank is convicted sooner, one that moved at the look before later") {
  Watch w;
  w.watch.note_overdue({0}, kComm, false, 2s);
  const auto late = [](bool is_moving) {
    return verdict(tracer::Finding::kNeverEntered, kConvictStill, is_moving);
  };
  CHECK(w.look(late(true)) == Stages{Stage::kSuspected});
  CHECK(w.look(late(false)).empty());
  CHECK(w.look(late(false)) == Stages{Stage::kConvicted});
  Watch other;
  other.watch.note_overdue({0}, kComm, false, 2s);
  const auto stopped = verdict(tracer::Finding::kStopped, kConvictStopped);
  CHECK(other.look(stopped) == Stages{Stage::kSuspected});
  CHECK(other.look(stopped) == Stages{Stage::kConvicted});
}

TEST_CASE(
    "a hang that ended attempts is no habit: it is reported at once, and ends the next as soon") {
  Watch w;
  auto late = verdict(tracer::Finding::kNeverEntered, 3s);
  const auto look = [&](base::Nanos lasting) {
    late.lasting = lasting;
    return w.look(late);
  };
  for (int attempt = 0; attempt < 5; ++attempt) {
    CAPTURE(attempt);
    late.place = attempt % 2 == 0 ? "train.py:9" : "train.py:10";  // two lines of one loop
    // Once it has come back: a pause of a minute may be meant to be.
    const base::Nanos patience = attempt == 0 ? kConvictStill : 2 * kConvictStill;
    w.watch.note_overdue({0}, kComm, false, 2s);
    CHECK(look(3s) == Stages{Stage::kSuspected});
    CHECK(look(patience - 1s).empty());
    CHECK(look(patience) == Stages{Stage::kConvicted});
    w.watch.begin_attempt(base::Attempt{1}, w.now);
  }
}

TEST_CASE("what ended an attempt and passes the next time is forgiven: it has the usual time") {
  Watch w;
  auto late = verdict(tracer::Finding::kNeverEntered, kConvictStill);
  late.place = "train.py:9";
  w.watch.note_overdue({0}, kComm, false, 2s);
  w.look(late);
  REQUIRE(w.look(late) == Stages{Stage::kConvicted});
  w.watch.begin_attempt(base::Attempt{1}, w.now);
  w.watch.note_overdue({0}, kComm, false, 2s);
  late.lasting = 5s;
  CHECK(w.look(late) == Stages{Stage::kSuspected});
  w.watch.note_overdue({0}, kComm, true, {});
  CHECK(w.look(verdict(tracer::Finding::kNothing, {})) == Stages{Stage::kPassed});
  w.watch.note_overdue({0}, kComm, false, 2s);
  late.lasting = kConvictStill;
  CHECK(w.look(late) == Stages{Stage::kSuspected});
  CHECK(w.look(late) == Stages{Stage::kConvicted});
}

TEST_CASE("a suspicion comes with what follows, and when") {
  using Outlook = Diagnosed::Outlook;
  const auto outlook = [](const Verdict& found, HangPolicy policy = {}) {
    Watch w(policy);
    w.watch.note_overdue({0}, kComm, false, 2s);
    w.watch.begin_look(w.now);
    const auto told = w.watch.take(found, w.now);
    REQUIRE(told.size() == 1);
    return std::pair(told[0].outlook, told[0].acts_in);
  };
  using tracer::Finding;
  const auto absent = verdict(Finding::kNeverEntered, 15s);
  CHECK(outlook(absent) == std::pair(Outlook::kIfStill, base::Nanos(kConvictStill - 15s)));
  CHECK(outlook(verdict(Finding::kStopped, 5s)) ==
        std::pair(Outlook::kIfStill, base::Nanos(kConvictStopped - 5s)));
  CHECK(outlook(verdict(Finding::kMismatch, 2s)) ==
        std::pair(Outlook::kForSure, base::Nanos(kConvictFinal - 2s)));
  CHECK(outlook(verdict(Finding::kNeverEntered, 15s, true)) ==
        std::pair(Outlook::kWhileMoves, base::Nanos(10min - 15s)));
  CHECK(outlook(verdict(Finding::kLongPhase, 40s)) ==
        std::pair(Outlook::kByTimeout, base::Nanos(10min - 40s)));
  auto inferred = absent;
  inferred.confidence = tracer::Confidence::kInferred;
  CHECK(outlook(inferred).first == Outlook::kByTimeout);
  CHECK(outlook(absent, {.act = false, .timeout = {}}).first == Outlook::kLeftAlone);
  CHECK(outlook(verdict(Finding::kSlowRank, 0s)).first == Outlook::kUntold);
  CHECK(outlook(still(3s)) == std::pair(Outlook::kIfStill, base::Nanos(10s)));
  // Never sooner than at the next look.
  CHECK(outlook(verdict(Finding::kNeverEntered, 1h)).second == base::Nanos(kLookInterval));
}

Verdict by_stacks(bool is_moving = false) {
  Verdict what = verdict(tracer::Finding::kNeverEntered, 0s, is_moving);
  what.confidence = tracer::Confidence::kInferred;
  what.place = "p2p.py:9";
  what.by_stacks = true;
  return what;
}

TEST_CASE("a finding of stacks alone is reported once the group's steps are missing, not before") {
  Watch w;
  for (std::uint64_t step = 1; step <= 10; ++step) w.watch.note_steps(step, w.now += 100ms);
  w.watch.note_overdue({0}, kComm, false, 2s);
  CHECK(w.look(by_stacks()).empty());
  w.watch.note_overdue({0}, kComm, true, {});
  const base::Nanos last_step = w.now += 100ms;
  w.watch.note_steps(11, w.now);
  w.now += kNoStepMin + 1s;
  REQUIRE(w.watch.wants_look(w.now));
  w.watch.begin_look(w.now);
  const auto told = w.watch.take(by_stacks(), w.now);
  REQUIRE(told.size() == 1);
  CHECK(told[0].stage == Stage::kSuspected);
  CHECK(told[0].verdict.lasting == w.now - last_step);
  CHECK(told[0].outlook == Diagnosed::Outlook::kByTimeout);
  w.now += kLookInterval;
  CHECK(w.look(by_stacks()).empty());
  w.watch.note_steps(12, w.now);
  CHECK(w.look(by_stacks()) == Stages{Stage::kPassed});
}

TEST_CASE("what stacks show of a group that steps ends the attempt when patience ends") {
  Watch w;
  for (std::uint64_t step = 1; step <= 10; ++step) w.watch.note_steps(step, w.now += 100ms);
  w.now += kNoStepMin + 1s;
  CHECK(w.look(by_stacks()) == Stages{Stage::kSuspected});
  w.now += 9min;
  CHECK(w.look(by_stacks()).empty());
  w.now += 1min;
  CHECK(w.look(by_stacks()) == Stages{Stage::kConvicted});
}

TEST_CASE("a group without steps and collectives is looked at rarely; stacks that stay are said") {
  Watch w;
  w.now += 1h;
  CHECK_FALSE(w.watch.wants_look(w.now));  // before there is a process group no worker is disturbed
  w.watch.note_group(w.now);
  w.now += kBlindLook - 1s;
  CHECK_FALSE(w.watch.wants_look(w.now));
  w.now += 1s;
  CHECK(w.look(by_stacks()).empty());
  Stages said;
  const base::Nanos first = w.now;
  while (said.empty() && w.now < first + 1min) {
    w.wait_for_look();
    said = w.look(by_stacks());
  }
  CHECK(said == Stages{Stage::kSuspected});
  CHECK(w.now - first < kStacksSameFor + 6s);
  for (int i = 0; i < 200; ++i) {  // how long it may take is unknown
    w.wait_for_look();
    CHECK(w.look(by_stacks()).empty());
  }
}

TEST_CASE("stacks that change, or belong to a worker that does something, are not said") {
  Watch w;
  w.watch.note_group(w.now);
  for (int look = 0; look < 50; ++look) {
    w.wait_for_look();
    Verdict found = by_stacks(look % 2 == 0);
    found.place = "p2p.py:" + std::to_string(look);
    CHECK(w.look(found).empty());
  }
}

TEST_CASE("a look without a cause names no rank that happens to be late") {
  Watch w;
  w.watch.note_group(w.now);
  w.now += kBlindLook;
  CHECK(w.look(verdict(tracer::Finding::kNeverEntered, 3s)).empty());
  w.watch.note_overdue({0}, kComm, false, 2s);
  w.wait_for_look();
  CHECK(w.look(verdict(tracer::Finding::kNeverEntered, 3s)) == Stages{Stage::kSuspected});
}

TEST_CASE("looks at a group without steps and collectives become rarer, and end with its steps") {
  Watch w;
  w.watch.note_group(w.now);
  const base::Nanos first = w.now;
  int looks = 0;
  while (w.now < first + 1h) {
    w.wait_for_look();
    w.look(verdict(tracer::Finding::kNothing, {}));
    ++looks;
  }
  CHECK(looks >= 12);
  CHECK(looks <= 16);
  for (std::uint64_t step = 1; step <= 400; ++step) {
    w.watch.note_steps(step, w.now += 1s);
    if (step > kGapsToLearn + 1) CHECK_FALSE(w.watch.wants_look(w.now));
  }
}

TEST_CASE("an operation that used to take long gets more time") {
  Watch w;
  w.watch.note_overdue({0}, kComm, false, 20s);
  const auto after = [](base::Nanos age) { return verdict(tracer::Finding::kNeverEntered, age); };
  CHECK(w.look(after(40s)) == Stages{Stage::kSuspected});
  CHECK(w.look(after(79s)).empty());
  CHECK(w.look(after(80s)) == Stages{Stage::kConvicted});
}

TEST_CASE("a slow rank is named, never convicted") {
  Watch w;
  w.watch.note_overdue({0}, kComm, false, 2s);
  CHECK(w.look(verdict(tracer::Finding::kSlowRank, 1h)) == Stages{Stage::kSuspected});
  CHECK(w.look(verdict(tracer::Finding::kSlowRank, 2h)).empty());
}

TEST_CASE("a slowness comes with the former pace, ends when the job recovers, and is news again") {
  Watch w;
  std::uint64_t steps = 0;
  std::vector<Diagnosed> over;
  const auto train = [&](int count, base::Nanos period) {
    for (int i = 0; i < count; ++i) {
      if (const auto one = w.watch.note_steps(++steps, w.now += period)) over.push_back(*one);
    }
  };
  const auto slow = verdict(tracer::Finding::kSlowRank, 0s);
  const auto look = [&] {
    REQUIRE(w.watch.wants_look(w.now));
    w.watch.begin_look(w.now);
    return w.watch.take(slow, w.now);
  };
  train(100, 1s);
  CHECK_FALSE(w.watch.wants_look(w.now));
  train(12, 2s);
  const auto told = look();
  REQUIRE(told.size() == 1);
  CHECK(told[0].period == 2s);
  CHECK(told[0].usual == 1s);
  // What the core asks for is told as it is, and changes nothing.
  train(3, 2s);
  const Diagnosed round = w.watch.round(&slow, 300ms);
  CHECK(round.stage == Stage::kRound);
  CHECK(round.attempt == base::Attempt{1});
  CHECK(round.verdict.culprits == slow.culprits);
  CHECK(round.period == 2s);
  CHECK(round.usual == 1s);
  CHECK(w.watch.round(nullptr, 0s).verdict.finding == tracer::Finding::kNothing);
  CHECK(over.empty());
  train(6, 1s);
  REQUIRE(over.size() == 1);
  CHECK(over[0].stage == Stage::kPassed);
  CHECK(over[0].attempt == base::Attempt{1});
  CHECK(over[0].verdict.finding == tracer::Finding::kSlowRank);
  CHECK(over[0].verdict.culprits == slow.culprits);
  CHECK(over[0].period == 1s);
  train(12, 2s);
  CHECK(look().size() == 1);
  CHECK(over.size() == 1);
}

TEST_CASE("with --hang-timeout=0 no rank is convicted") {
  Watch w({.act = false, .timeout = {}});
  w.watch.note_overdue({0}, kComm, false, 2s);
  CHECK(w.look(verdict(tracer::Finding::kStopped, 1h)) == Stages{Stage::kSuspected});
  CHECK(w.look(verdict(tracer::Finding::kStopped, 2h)).empty());
}

TEST_CASE("a hang that resolves itself is reported as such, and the next one is reported anew") {
  Watch w;
  w.watch.note_overdue({0}, kComm, false, 2s);
  w.watch.note_overdue({1}, kComm, false, 2s);
  const auto absent = verdict(tracer::Finding::kNeverEntered, 3s);
  CHECK(w.look(absent) == Stages{Stage::kSuspected});
  w.watch.note_overdue({0}, kComm, true, {});
  w.watch.note_overdue({1}, kComm, true, {});
  CHECK(w.look(verdict(tracer::Finding::kNothing, {})) == Stages{Stage::kPassed});
  w.now += 1h;
  CHECK_FALSE(w.watch.wants_look(w.now));
  w.watch.note_overdue({0}, kComm, false, 2s);
  CHECK(w.look(absent) == Stages{Stage::kSuspected});
}

TEST_CASE(
    "a hang in another operation, after further steps, is reported anew though the look between "
    "was missed") {
  Watch w;
  w.watch.note_steps(5, w.now);
  w.watch.note_overdue({0}, kComm, false, 2s);
  auto absent = verdict(tracer::Finding::kNeverEntered, 3s);
  absent.comm = kComm;
  absent.ordinal = 40;
  CHECK(w.look(absent) == Stages{Stage::kSuspected});
  w.watch.note_steps(6, w.now);
  absent.lasting = 6s;
  CHECK(w.look(absent).empty());  // others may go on a little
  absent.ordinal = 47;
  CHECK(w.look(absent) == Stages{Stage::kPassed, Stage::kSuspected});
  absent.ordinal = 48;
  CHECK(w.look(absent).empty());  // no step since: it is one hang, seen elsewhere
}

TEST_CASE("what holds a group up at one place and passes is a habit from the third time on") {
  Watch w;
  std::uint64_t step = 1;
  const auto pause = [&](std::string place, base::Nanos lasting) {
    w.watch.note_overdue({0}, kComm, false, 2s);
    auto evaluates = verdict(tracer::Finding::kNeverEntered, lasting);
    evaluates.place = std::move(place);
    evaluates.ordinal = step;
    const Stages stages = w.look(evaluates);
    w.watch.note_overdue({0}, kComm, true, {});
    w.watch.note_steps(++step, w.now);
    w.look(verdict(tracer::Finding::kNothing, {}));
    return stages;
  };
  const Stages said{Stage::kSuspected};
  CHECK(pause("train.py:9", 10s) == said);
  CHECK(pause("train.py:9", 8s) == said);
  CHECK(pause("train.py:9", 12s).empty());
  CHECK(pause("train.py:77", 12s) == said);
  CHECK(pause("train.py:9", 12s + 6s + kLookInterval) == said);
  for (int i = 0; i < 3; ++i) CHECK(pause("", 12s) == said);  // whether it is the same is unknown
}

TEST_CASE("a rank that does not move where it took long before gets more time") {
  Watch w;
  w.watch.note_steps(1, w.now);
  w.watch.note_overdue({0}, kComm, false, 2s);
  auto saves = verdict(tracer::Finding::kNeverEntered, 20s);
  saves.place = "train.py:9";
  w.look(saves);
  w.watch.note_steps(2, w.now);
  w.look(verdict(tracer::Finding::kNothing, {}));
  saves.lasting = 4 * 20s - 1s;
  w.look(saves);
  CHECK(w.look(saves).empty());
  saves.lasting = 4 * 20s;
  CHECK(w.look(saves) == Stages{Stage::kConvicted});
}

Verdict late_end(base::Nanos lasting, bool is_finished = true, bool is_moving = false) {
  Verdict what = verdict(tracer::Finding::kNotEnded, lasting, is_moving);
  what.is_finished = is_finished;
  return what;
}

TEST_CASE("a process that lingers is reported, and ended with --hang-timeout if nothing is lost") {
  Watch w;
  w.watch.note_ended(w.now);
  w.wait_for_look();
  CHECK(w.look(late_end(kLateEndSaidAfter - 1s)).empty());
  w.wait_for_look();
  CHECK(w.look(late_end(kLateEndSaidAfter)) == Stages{Stage::kSuspected});
  w.wait_for_look();
  CHECK(w.look(late_end(9min)).empty());
  w.wait_for_look();
  CHECK(w.look(late_end(10min)) == Stages{Stage::kConvicted});
  // The core may have left it alone, as another rank still ran: looks go on.
  w.wait_for_look();
  CHECK(w.look(late_end(11min)).empty());
  Verdict fewer = late_end(12min);
  fewer.culprits = {{3}};
  w.wait_for_look();
  CHECK(w.look(fewer) == Stages{Stage::kSuspected});
  w.wait_for_look();
  CHECK(w.look(fewer) == Stages{Stage::kConvicted});
}

TEST_CASE("a process that lingers in an exit handler, or does something, is never ended") {
  using Outlook = Diagnosed::Outlook;
  for (const bool is_moving : {false, true}) {
    CAPTURE(is_moving);
    Watch w;
    w.watch.note_ended(w.now);
    w.wait_for_look();
    w.watch.begin_look(w.now);
    const std::vector<Diagnosed> told =
        w.watch.take(late_end(30s, is_moving, is_moving), w.now + 1s);
    REQUIRE(told.size() == 1);
    CHECK(told[0].outlook == (is_moving ? Outlook::kEndsProcess : Outlook::kExitHandlers));
    for (int i = 0; i < 3; ++i) {
      w.wait_for_look();
      CHECK(w.look(late_end(1h, is_moving, is_moving)).empty());
    }
  }
}

TEST_CASE("a rank that waits for a moment does so as usual") {
  Watch w;
  w.watch.note_overdue({0}, kComm, false, 2s);
  CHECK(w.look(verdict(tracer::Finding::kNeverEntered, 30ms)).empty());
  CHECK(w.look(verdict(tracer::Finding::kOrderInversion, 30ms)).empty());
  CHECK(w.look(verdict(tracer::Finding::kStopped, 30ms)) == Stages{Stage::kSuspected});
  w.watch.note_overdue({0}, kComm, true, {});
  CHECK(w.look(verdict(tracer::Finding::kNeverEntered, 30ms)) == Stages{Stage::kPassed});
  w.now += 1h;
  CHECK_FALSE(w.watch.wants_look(w.now));
}

TEST_CASE("steps that stop coming are looked into, by the group's own pace") {
  Watch w;
  for (std::uint64_t step = 1; step <= 10; ++step) {
    w.now += 10s;
    w.watch.note_steps(step, w.now);
  }
  CHECK_FALSE(w.watch.wants_look(w.now + 29s));
  CHECK(w.watch.wants_look(w.now + 31s));  // three of its longest pauses
  Watch fast;
  for (std::uint64_t step = 1; step <= 10; ++step) {
    fast.now += 10ms;
    fast.watch.note_steps(step, fast.now);
  }
  CHECK_FALSE(fast.watch.wants_look(fast.now + kNoStepMin));
  CHECK(fast.watch.wants_look(fast.now + kNoStepMin + 1ms));
}

TEST_CASE("collectives count where there are no steps yet, and steps from then on") {
  Watch w;
  for (std::uint64_t done = 100; done <= 1000; done += 100) {
    w.now += 10ms;
    w.watch.note_steps(done, w.now);
  }
  w.now += kNoStepMin;
  w.watch.note_steps(1, w.now);
  CHECK_FALSE(w.watch.wants_look(w.now + kNoStepMin));
  CHECK(w.watch.wants_look(w.now + kNoStepMin + 1ms));
}

TEST_CASE("a group without waits between its steps is not reported to hang") {
  Watch w;
  for (std::uint64_t step = 1; step <= 10; ++step) {
    w.now += 10ms;
    w.watch.note_steps(step, w.now);
  }
  for (int look = 0; look < 100; ++look) {
    w.wait_for_look();
    CHECK(w.look(verdict(tracer::Finding::kNothing, {})).empty());
  }
}

TEST_CASE("looks become rarer when nothing changes for long") {
  Watch w;
  w.watch.note_overdue({0}, kComm, false, 2s);
  const base::Nanos first = w.now;
  int looks = 0;
  while (w.now < first + 10min) {
    w.wait_for_look();
    w.look(verdict(tracer::Finding::kLongPhase, 1s));
    ++looks;
  }
  CHECK(looks < 90);
  CHECK(looks > 60);
}

TEST_CASE("a look that nothing came of is tried again") {
  Watch w;
  w.watch.note_overdue({0}, kComm, false, 2s);
  REQUIRE(w.watch.wants_look(w.now));
  w.watch.begin_look(w.now);
  w.watch.give_up_look(w.now);
  CHECK_FALSE(w.watch.wants_look(w.now));
  CHECK(w.watch.wants_look(w.now + kLookInterval));
  CHECK(w.watch.take(verdict(tracer::Finding::kDied, 1h), w.now).empty());  // an answer too late
}

TEST_CASE("what is overdue is bounded") {
  Watch w;
  for (std::uint32_t i = 0; i < 2 * kOverdueMax; ++i) w.watch.note_overdue({i}, kComm, false, 2s);
  for (std::uint32_t i = 0; i < kOverdueMax; ++i) w.watch.note_overdue({i}, kComm, true, {});
  CHECK_FALSE(w.watch.wants_look(w.now));
}

TEST_CASE("a new attempt knows nothing of the one before") {
  Watch w;
  w.watch.note_overdue({0}, kComm, false, 2s);
  w.watch.begin_attempt(base::Attempt{2}, w.now);
  w.now += 1h;
  CHECK_FALSE(w.watch.wants_look(w.now));
}

}  // namespace
}  // namespace robustrun::supervisor::hang_watch_test
