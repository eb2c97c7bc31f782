#include "checkpoint/store/attempt_choice.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "checkpoint/store/fence.h"
#include "checkpoint/store/retention.h"
#include "checkpoint/store/retention_choice.h"
#include "tests/checkpoint/support.h"

namespace attempt_choice_test {

using namespace robustrun;
using namespace robustrun::checkpoint;
using robustrun::test::SampleState;
using robustrun::test::save_step;
using robustrun::test::TwoMounts;

namespace {

AttemptFacts committed(std::uint64_t generation, std::uint64_t sequence, std::uint64_t step) {
  return {AttemptState::kCommitted, step, generation, "t", sequence, false, false, false};
}

AttemptFacts incomplete(std::uint64_t generation, std::uint64_t step) {
  return {AttemptState::kIncomplete, step, generation, "t", 0, false, false, false};
}

AttemptFacts poisoned(AttemptFacts facts) {
  facts.poisoned = true;
  return facts;
}

}  // namespace

TEST_CASE("one sound manifest makes an attempt committed, whatever other directories hold") {
  using enum ManifestCopy;
  struct Row {
    std::vector<ManifestCopy> copies;
    bool is_deleted;
    AttemptState state;
  };
  const Row rows[] = {
      {{kNone, kNone}, false, AttemptState::kIncomplete},
      {{kNone, kNone}, true, AttemptState::kDeleted},
      {{kDamaged, kNone}, false, AttemptState::kDamaged},
      {{kNone, kDamaged}, true, AttemptState::kDamaged},
      {{kDamaged, kSound}, false, AttemptState::kCommitted},
      {{kSound, kDamaged}, true, AttemptState::kCommitted},  // removed halfway: it still counts
      {{}, false, AttemptState::kIncomplete},
  };
  for (const Row& row : rows) {
    ManifestCopies copies;
    for (std::size_t i = 0; i < row.copies.size(); ++i) {
      copies.add(row.copies[i], row.is_deleted && i == 0);
    }
    CAPTURE(&row - rows);
    CHECK(copies.state() == row.state);
  }
}

TEST_CASE("a mark in any directory counts, and the first reason stays") {
  AttemptMarks all;
  all.add_marks({});
  CHECK((!all.verified && !all.pinned && all.poisoned.empty()));
  all.add_marks({true, false, "nan"});
  all.add_marks({false, true, "other"});
  all.add_marks({});
  CHECK((all.verified && all.pinned));
  CHECK(all.poisoned == "nan");
}

TEST_CASE("the later generation is newer, then the later commit; step and token never decide") {
  CHECK(is_newer(committed(2, 1, 10), committed(1, 9, 900)));
  CHECK(is_newer(committed(1, 9, 10), committed(1, 8, 900)));
  CHECK(is_newer(committed(1, 1, 1), incomplete(7, 900)));
  CHECK(is_newer(committed(1, 5, 20), committed(1, 5, 10)));  // makes the order total
  CHECK_FALSE(is_newer(committed(1, 5, 20), committed(1, 5, 20)));
  std::vector<AttemptFacts> all = {committed(1, 1, 9), committed(2, 3, 4), committed(1, 2, 8),
                                   incomplete(3, 50), committed(2, 4, 2)};
  std::ranges::sort(all, is_newer);
  std::vector<std::uint64_t> steps;
  for (const AttemptFacts& one : all) steps.push_back(one.step);
  CHECK(steps == std::vector<std::uint64_t>{2, 4, 8, 9, 50});
}

TEST_CASE("a job may start only from an attempt that is committed and not poisoned") {
  CHECK(may_start_from(committed(1, 1, 1)));
  CHECK_FALSE(may_start_from(poisoned(committed(1, 1, 1))));
  for (const auto state :
       {AttemptState::kIncomplete, AttemptState::kDamaged, AttemptState::kDeleted}) {
    AttemptFacts facts = committed(1, 1, 1);
    facts.state = state;
    CHECK_FALSE(may_start_from(facts));
  }
}

TEST_CASE("new sequences and generations exceed all visible ones") {
  CHECK(next_sequence({}) == 1);
  CHECK(next_generation(0, {}) == 1);
  const std::vector<AttemptFacts> all = {committed(3, 8, 1), incomplete(5, 2), committed(4, 2, 3)};
  CHECK(next_sequence(all) == 9);
  CHECK(next_generation(2, all) == 6);  // the fence was lost
  CHECK(next_generation(9, all) == 10);
  CHECK(next_generation(std::numeric_limits<std::uint64_t>::max(), all) == 0);
}

TEST_CASE("an attempt is not salvaged if a later save of its generation exists") {
  const std::vector<AttemptFacts> all = {committed(2, 8, 60), committed(3, 9, 10)};
  CHECK_FALSE(may_salvage(incomplete(2, 30), all));
  CHECK_FALSE(may_salvage(incomplete(2, 60), all));
  CHECK(may_salvage(incomplete(2, 90), all));
  CHECK(may_salvage(incomplete(1, 30), all));  // the only attempt of its generation
  CHECK(may_salvage(incomplete(2, 30), {}));
  CHECK(may_salvage(incomplete(2, 30), std::vector{poisoned(committed(2, 8, 60))}));
  CHECK_FALSE(may_salvage(committed(2, 1, 90), all));
}

TEST_CASE("a fence admits its own generation and later ones, and a session once") {
  const Fence fence{7, {"run", 3}};
  CHECK_FALSE(admits(fence, 6));
  CHECK(admits(fence, 7));
  CHECK(admits(fence, 8));
  CHECK(claim_of(fence, {"run", 3}) == Claim::kHeld);
  CHECK(claim_of(fence, {"run", 2}) == Claim::kTooLate);
  CHECK(claim_of(fence, {"run", 4}) == Claim::kNew);
  CHECK(claim_of(fence, {"other", 0}) == Claim::kNew);
  CHECK(claim_of({}, {"run", 0}) == Claim::kNew);
}

TEST_CASE("attempts of two supervisors are different sessions, and the later supervisor's follow") {
  const Fence by_first{7, {"run", 3, 1}};
  CHECK(claim_of(by_first, {"run", 3, 1}) == Claim::kHeld);
  CHECK(claim_of(by_first, {"run", 3, 2}) == Claim::kNew);
  CHECK(claim_of(by_first, {"run", 1, 2}) == Claim::kNew);  // of the later supervisor
  CHECK(claim_of(by_first, {"run", 4, 0}) == Claim::kTooLate);  // of an unknown incarnation
  const Fence by_second{8, {"run", 3, 2}};
  CHECK(claim_of(by_second, {"run", 3, 1}) == Claim::kTooLate);
  CHECK(claim_of(by_second, {"run", 9, 1}) == Claim::kTooLate);
  CHECK(claim_of(by_second, {"run", 4, 2}) == Claim::kNew);
  CHECK(claim_of(by_second, {"other", 0, 1}) == Claim::kNew);
  CHECK(attempt_token({"run", 3, 1}, 5, 0) != attempt_token({"run", 3, 2}, 5, 0));
  CHECK(claim_of({7, {"run", 3}}, {"run", 3, 1}) == Claim::kNew);  // written by an older version
}

TEST_CASE("an attempt may go if enough newer ones are whole, or if it can never be committed") {
  RetentionChoice choice(2, 5);
  AttemptFacts pinned = committed(1, 1, 1);
  pinned.pinned = true;
  AttemptFacts deleted = committed(4, 2, 2);
  deleted.state = AttemptState::kDeleted;
  AttemptFacts damaged = deleted;
  damaged.state = AttemptState::kDamaged;
  CHECK_FALSE(choice.may_go(committed(5, 9, 9), false));  // not read back
  CHECK_FALSE(choice.may_go(committed(5, 8, 8), true));
  CHECK_FALSE(choice.may_go(poisoned(committed(5, 7, 7)), true));  // poisoned, so it does not count
  CHECK_FALSE(choice.may_go(committed(5, 6, 6), true));
  CHECK(choice.may_go(committed(5, 5, 5), true));
  CHECK(choice.may_go(poisoned(committed(5, 4, 4)), false));
  CHECK_FALSE(choice.may_go(pinned, true));
  CHECK(choice.may_go(deleted, false));
  CHECK_FALSE(choice.may_go(damaged, false));
  CHECK(choice.may_go(incomplete(4, 9), false));
  CHECK_FALSE(choice.may_go(incomplete(5, 9), false));  // it may be in progress
}

TEST_CASE("an attempt on local disks lets no other go, and goes after the first one that counts") {
  const auto local = [](AttemptFacts facts) {
    facts.is_local = true;
    return facts;
  };
  RetentionChoice choice(2, 1);
  CHECK_FALSE(choice.may_go(local(committed(1, 9, 9)), true));
  CHECK_FALSE(choice.may_go(local(committed(1, 8, 8)), true));
  CHECK_FALSE(choice.may_go(local(committed(1, 7, 7)), true));
  CHECK_FALSE(choice.may_go(committed(1, 6, 6), false));
  CHECK_FALSE(choice.may_go(local(committed(1, 5, 5)), true));  // 6 was not read back
  CHECK_FALSE(choice.may_go(committed(1, 4, 4), true));
  CHECK(choice.may_go(local(committed(1, 3, 3)), true));
  AttemptFacts pinned = local(committed(1, 3, 2));
  pinned.pinned = true;
  CHECK_FALSE(choice.may_go(pinned, true));
  CHECK_FALSE(choice.may_go(committed(1, 2, 2), true));
  CHECK(choice.may_go(committed(1, 1, 1), true));
}

TEST_CASE("after the home was emptied, the next session's commits are newer than all others") {
  const TwoMounts mounts("/dev/shm");
  Store store = mounts.store();
  for (std::uint64_t attempt = 0; attempt < 3; ++attempt) {
    const auto generation = store.claim({"run", attempt});
    REQUIRE(generation);
    REQUIRE(save_step(store, 100 + attempt, *generation));
  }
  std::filesystem::remove_all(mounts.directories[0]);  // as when its disk is not mounted
  REQUIRE(std::filesystem::create_directory(mounts.directories[0]));
  Store next = mounts.store();
  const auto generation = next.claim({"run", 3});
  REQUIRE(generation);
  CHECK(*generation == 4);
  REQUIRE(save_step(next, 110, *generation));
  CHECK(newest_committed(mounts.directories)->attempt.step == 110);
  const auto pruned = prune(posix_disk(), mounts.directories, 1);
  REQUIRE(pruned);
  CHECK(newest_committed(mounts.directories)->attempt.step == 110);
}

TEST_CASE("a complete but uncommitted save is not salvaged over a later one") {
  const TwoMounts mounts("/dev/shm");
  Store store = mounts.store();
  REQUIRE(store.claim({"run", 0}).value() == 1);
  for (const std::uint64_t step : {30, 90}) {
    const auto attempt = store.begin(step, 1, {1, {}}, {"n0"});
    REQUIRE(attempt);
    REQUIRE(store.write_part(*attempt, "n0", SampleState(step).contents));
    if (step == 30) REQUIRE(save_step(store, 60, 1));
  }
  REQUIRE(store.claim({"run", 1}).value() == 2);
  CHECK(newest_committed(mounts.directories)->attempt.step == 90);
  const auto all = list_attempts(mounts.directories);
  REQUIRE(all);
  REQUIRE(all->size() == 3);
  CHECK(all->back().attempt.step == 30);
  CHECK(all->back().state == AttemptState::kIncomplete);
  CHECK(store.salvage(2)->empty());
}

}  // namespace attempt_choice_test
