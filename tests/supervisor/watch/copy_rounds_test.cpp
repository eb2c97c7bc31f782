// Which step the copies of all ranks are of, in rounds: by hand, and with random ranks, agents and
// networks against what must hold of all copies at any time.
#include "supervisor/watch/copy_rounds.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "supervisor/limits.h"

namespace robustrun::supervisor::copy_rounds_test {
namespace {

using base::Nanos;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Stage = wire::RoundPart::Stage;

wire::KeptCopy says(std::uint32_t rank, std::uint64_t newest, Stage stage = Stage::kReady,
                    std::uint64_t round = 0, std::uint64_t step = 0) {
  return {base::Rank{rank}, true, false, newest, wire::RoundPart{stage, round, step}};
}

struct Two {
  Two() { rounds.begin_attempt({3}, 2); }
  std::optional<wire::CopyRound> tell(std::vector<wire::KeptCopy> copies, Nanos at) {
    rounds.take({{3}, std::move(copies)}, at);
    return rounds.next(at);
  }
  // A complete round of that step.
  void complete(const wire::CopyRound& round, std::uint64_t step, Nanos at) {
    tell({says(0, step, Stage::kKept, round.round, step)}, at);
    tell({says(1, step, Stage::kKept, round.round, step)}, at);
  }
  CopyRounds rounds;
};

TEST_CASE("no round begins before every rank of the attempt can take part") {
  Two two;
  CHECK_FALSE(two.tell({says(0, 7)}, seconds(1)));
  CHECK_FALSE(two.rounds.next_at());
  CHECK_FALSE(two.tell({{base::Rank{1}, true, true, 7}}, seconds(1)));  // an older agent's
  CHECK_FALSE(two.tell({says(9, 7)}, seconds(1)));
  two.rounds.take({{2}, {says(1, 7)}}, seconds(1));  // another attempt's
  CHECK_FALSE(two.rounds.next(seconds(1)));
  const auto round = two.tell({says(1, 7)}, seconds(1));
  REQUIRE(round);
  CHECK(round->from_step == 7);
  CHECK(round->complete == 0);
  CHECK(round->round > std::uint64_t{3} << 32U);
}

TEST_CASE("a round is complete when all copies are kept or refused, and the next says so") {
  Two two;
  const auto first = two.tell({says(0, 7), says(1, 7)}, seconds(1));
  REQUIRE(first);
  const std::uint64_t number = first->round;
  CHECK_FALSE(two.tell({says(0, 8, Stage::kKept, number, 7)}, seconds(3)));
  CHECK_FALSE(two.tell({says(1, 8, Stage::kHeld, number, 7)}, seconds(3)));
  CHECK_FALSE(two.tell({says(0, 8, Stage::kKept, number - 1, 5)}, seconds(3)));  // of another round
  CHECK_FALSE(two.tell({says(1, 8, Stage::kRefused, number, 7)}, seconds(3)));
  const auto second = two.tell({says(0, 9, Stage::kKept, number, 7)}, seconds(4));
  REQUIRE(second);
  CHECK(second->complete == number);
  CHECK(second->round == number + 1);
  CHECK(second->from_step > 9);
}

TEST_CASE("no round begins without a newer copy, and none sooner than a second") {
  Two two;
  const auto first = two.tell({says(0, 7), says(1, 7)}, seconds(1));
  REQUIRE(first);
  two.complete(*first, 7, seconds(1) + milliseconds(100));
  CHECK_FALSE(two.rounds.next(seconds(100)));
  CHECK_FALSE(two.tell({says(0, 8), says(1, 8)}, seconds(1) + milliseconds(200)));
  REQUIRE(two.rounds.next_at());
  CHECK(*two.rounds.next_at() == seconds(1) + Nanos(kCopyRoundMin));
  CHECK(two.rounds.next(*two.rounds.next_at()));
}

TEST_CASE("ranks that hold different steps end the round at once, and the next is further ahead") {
  Two two;
  std::uint64_t newest = 100;
  two.tell({says(0, newest), says(1, newest)}, seconds(1));
  std::uint64_t ahead = 0;
  Nanos now = seconds(2);
  for (int miss = 0; miss < 5; ++miss) {
    now += milliseconds(600);
    newest += 60;  // a hundred steps a second
    const auto order = *two.rounds.order();
    const auto next = two.tell({says(0, newest, Stage::kHeld, order.round, newest),
                                says(1, newest, Stage::kHeld, order.round, newest - 1)},
                               now);
    REQUIRE(next);
    CHECK(next->round == order.round + 1);
    CHECK(next->complete == 0);
    const std::uint64_t now_ahead = next->from_step - newest;
    if (miss > 1) CHECK(now_ahead >= 2 * ahead - 2);
    ahead = now_ahead;
  }
  CHECK(ahead >= 200);
}

TEST_CASE("a round that ranks do not get to is given up, and what was complete stays so") {
  Two two;
  const auto first = two.tell({says(0, 7), says(1, 7)}, seconds(1));
  two.complete(*first, 7, seconds(2));
  const auto second = two.tell(
      {says(0, 8, Stage::kKept, first->round, 7), says(1, 8, Stage::kKept, first->round, 7)},
      seconds(10));
  REQUIRE(second);
  CHECK_FALSE(two.tell({says(0, 12, Stage::kHeld, second->round, second->from_step)}, seconds(30)));
  REQUIRE(two.rounds.next_at());
  CHECK(*two.rounds.next_at() == seconds(10) + Nanos(kCopyRoundHoldMax));
  CHECK_FALSE(two.rounds.next(*two.rounds.next_at() - Nanos(1)));
  const auto third = two.rounds.next(*two.rounds.next_at());
  REQUIRE(third);
  CHECK(third->complete == first->round);
}

TEST_CASE("a supervisor in place of another one never uses a number again") {
  CopyRounds before, after;
  for (CopyRounds* rounds : {&before, &after}) rounds->begin_attempt({3}, 1);
  before.take({{3}, {says(0, 7)}}, seconds(1));
  const auto last = before.next(seconds(1));
  REQUIRE(last);
  after.take({{3}, {says(0, 9, Stage::kKept, last->round, 7)}}, seconds(2));
  const auto next = after.next(seconds(2));
  REQUIRE(next);
  CHECK(next->round > last->round);
  after.begin_attempt({4}, 1);
  after.take({{4}, {says(0, 9)}}, seconds(3));
  CHECK(after.next(seconds(3))->round > next->round);
}

// A job in which every rank makes copies of the same steps, faster than they can be sent, and all
// of its agents as agent/copies/round_part.h does it: four slots, two of them rolling.
class RoundsRun {
 public:
  explicit RoundsRun(std::uint64_t seed)
      : rng_(seed),
        step_time_(milliseconds(2 + static_cast<std::int64_t>(rng_.below(400)))),
        send_time_(milliseconds(1 + static_cast<std::int64_t>(rng_.below(20'000)))),
        delay_max_(milliseconds(1 + static_cast<std::int64_t>(rng_.below(60)))),
        ranks_(2 + rng_.below(5)) {
    rounds_.begin_attempt({1}, static_cast<std::uint32_t>(ranks_.size()));
  }

  void run(Nanos until) {
    for (Nanos now{}; now < until; now += milliseconds(2)) {
      for (std::uint32_t i = 0; i < ranks_.size(); ++i) turn(i, now);
      std::erase_if(up_, [&](auto& each) { return each.first <= now && hear(each.second, now); });
      check(now);
    }
  }
  std::size_t completed = 0;
  Nanos longest{};
  std::uint64_t most_behind = 0;
  [[nodiscard]] Nanos step_time() const { return step_time_; }

 private:
  struct Rank {
    std::uint64_t newest = 0;
    Nanos next_copy{}, told_at{}, sent_at{};
    std::optional<wire::CopyRound> order;
    std::optional<std::uint64_t> wish, held, complete;  // steps
    std::uint64_t complete_round = 0;
    Stage stage = Stage::kReady;
    std::map<std::uint64_t, std::uint64_t> at_peer;  // round and step
    std::vector<std::pair<Nanos, wire::CopyRound>> down;
    bool untold = false;
  };

  void turn(std::uint32_t number, Nanos now) {
    Rank& rank = ranks_[number];
    std::erase_if(rank.down, [&](const auto& each) {
      if (each.first > now) return false;
      begin(rank, each.second);
      return true;
    });
    if (now >= rank.next_copy) {
      // No rank is more than a step ahead of another.
      const auto last = std::ranges::min_element(ranks_, {}, &Rank::newest)->newest;
      if (rank.newest <= last) {
        ++rank.newest;
        rank.next_copy = now + step_time_;
      }
    }
    hold(rank, now);
    if (rank.stage == Stage::kHeld && now >= rank.sent_at) {
      // The peer has two places: what is complete stays.
      std::erase_if(rank.at_peer,
                    [&](const auto& each) { return each.first != rank.complete_round; });
      rank.at_peer[rank.order->round] = *rank.held;
      rank.stage = Stage::kKept;
      rank.untold = true;
    }
    if (rank.newest == 0 || (!rank.untold && now - rank.told_at < seconds(1))) return;
    rank.untold = false;
    rank.told_at = now;
    const std::uint64_t round = rank.order ? rank.order->round : 0;
    up_.emplace_back(now + delay(),
                     says(number, rank.newest, rank.stage, round, rank.held.value_or(0)));
  }

  void begin(Rank& rank, const wire::CopyRound& order) {
    if (rank.held && rank.order && rank.order->round == order.complete) {
      rank.complete = rank.held;
      rank.complete_round = order.complete;
    }
    rank.held.reset();
    rank.order = order;
    rank.wish = order.from_step;
    rank.stage = Stage::kReady;
    rank.untold = true;
  }

  // What is made later, or the older of the two that are there.
  void hold(Rank& rank, Nanos now) {
    if (!rank.wish || rank.newest < *rank.wish) return;
    const std::uint64_t oldest = rank.newest > 1 ? rank.newest - 1 : 1;
    rank.held = std::max(*rank.wish, oldest);
    rank.wish.reset();
    rank.stage = Stage::kHeld;
    rank.untold = true;
    rank.sent_at = now + send_time_ / 2 +
                   Nanos(static_cast<std::int64_t>(
                       rng_.below(static_cast<std::uint64_t>(send_time_.count()))));
  }

  bool hear(const wire::KeptCopy& copy, Nanos now) {
    rounds_.take({{1}, {copy}}, now);
    if (const auto order = rounds_.next(now)) give(*order, now);
    return true;
  }

  void give(const wire::CopyRound& order, Nanos now) {
    CHECK(numbers_.insert(order.round).second);
    if (order.complete != complete_) {
      ++completed;
      longest = std::max(longest, now - begun_);
      complete_ = order.complete;
    }
    begun_ = now;
    for (Rank& rank : ranks_) rank.down.emplace_back(now + delay(), order);
  }

  // Whatever machine is lost now: its ranks' copies are at the peers, the others' are held.
  void check(Nanos now) {
    if (complete_ == 0) return;
    std::optional<std::uint64_t> worst;
    for (std::size_t lost = 0; lost < ranks_.size(); ++lost) {
      std::map<std::uint64_t, std::size_t> found;
      for (std::size_t i = 0; i < ranks_.size(); ++i) {
        const Rank& rank = ranks_[i];
        std::set<std::uint64_t> steps;
        if (i == lost) {
          for (const auto& [round, step] : rank.at_peer) steps.insert(step);
        } else {
          for (const auto& step : {rank.held, rank.complete}) {
            if (step) steps.insert(*step);
          }
        }
        for (const std::uint64_t step : steps) ++found[step];
      }
      std::optional<std::uint64_t> newest;
      for (const auto& [step, count] : found) {
        if (count == ranks_.size()) newest = step;
      }
      CAPTURE(now.count());
      CAPTURE(lost);
      REQUIRE(newest);
      if (!worst || *newest < *worst) worst = newest;
    }
    most_behind = std::max(most_behind, ranks_.front().newest - *worst);
  }

  Nanos delay() {
    return Nanos(
        static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(delay_max_.count()))));
  }

  base::Rng rng_;
  Nanos step_time_, send_time_, delay_max_;
  CopyRounds rounds_;
  std::vector<Rank> ranks_;
  std::vector<std::pair<Nanos, wire::KeptCopy>> up_;
  std::set<std::uint64_t> numbers_;
  std::uint64_t complete_ = 0;
  Nanos begun_{};
};

TEST_CASE("whichever machine is lost, all copies of one step are there, two rounds old at most") {
  const std::uint64_t first = base::system_seed();
  for (std::uint64_t seed = first; seed < first + 30; ++seed) {
    CAPTURE(seed);
    RoundsRun job(seed);
    job.run(seconds(150));
    CHECK(job.completed >= 2);  // a send may take 20 s
    // From the order to hold a step until the order after the next one.
    const auto bound = 2 * (job.longest + Nanos(kCopyRoundMin)) + Nanos(kCopyRoundLeadMax);
    CHECK(job.most_behind * static_cast<std::uint64_t>(job.step_time().count()) <=
          static_cast<std::uint64_t>(bound.count()));
  }
}

}  // namespace
}  // namespace robustrun::supervisor::copy_rounds_test
