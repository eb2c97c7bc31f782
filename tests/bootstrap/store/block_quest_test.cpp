// The search for one block among peers, by a clock that stands still until it is moved.
#include "bootstrap/store/block_quest.h"

#include <doctest/doctest.h>

#include <vector>

#include "bootstrap/store/limits.h"
#include "bootstrap/store/peer_manners.h"

namespace block_quest_test {

using namespace robustrun;
using base::Nanos;
using base::NodeId;
using bootstrap::BlockQuest;
using bootstrap::PeerManners;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr Nanos kPatience = milliseconds(50);
const std::vector<NodeId> kThree{NodeId{1}, NodeId{2}, NodeId{3}};

}  // namespace

TEST_CASE("the next one is asked when the first is silent, and not before") {
  BlockQuest quest(kThree, kPatience);
  CHECK(quest.next(Nanos(0)).ask == NodeId{1});
  const auto early = quest.next(milliseconds(49));
  CHECK_FALSE(early.ask);
  CHECK(early.look_at == kPatience);
  CHECK(early.late.empty());
  const auto late = quest.next(milliseconds(50));
  CHECK(late.ask == NodeId{2});
  CHECK(late.late == std::vector{NodeId{1}});
  CHECK_FALSE(late.is_over);
}

TEST_CASE("signs of life keep others from being asked") {
  BlockQuest quest(kThree, kPatience);
  CHECK(quest.next(Nanos(0)).ask == NodeId{1});
  Nanos now = milliseconds(30);
  quest.on_sign(NodeId{1}, now);
  for (int i = 0; i < 100; ++i) {
    now += Nanos(bootstrap::kSignEvery) + milliseconds(30);  // a busy machine's
    CHECK_FALSE(quest.next(now).ask);
    quest.on_sign(NodeId{1}, now);
  }
  now += bootstrap::kSignPatience;
  CHECK(quest.next(now).ask == NodeId{2});
}

TEST_CASE("who says for ever that it is coming is given up") {
  BlockQuest quest({NodeId{1}}, kPatience);
  CHECK(quest.next(Nanos(0)).ask == NodeId{1});
  for (Nanos now{}; now < Nanos(bootstrap::kSlowPeerMax); now += bootstrap::kSignEvery) {
    quest.on_sign(NodeId{1}, now);
    CHECK_FALSE(quest.next(now).is_over);
  }
  const auto step = quest.next(bootstrap::kSlowPeerMax);
  CHECK(step.is_over);
  CHECK(step.dropped == std::vector{NodeId{1}});
}

TEST_CASE("who has it not is followed by the next at once, and the last by the end") {
  BlockQuest quest(kThree, kPatience);
  for (const NodeId node : kThree) {
    CHECK(quest.next(Nanos(5)).ask == node);
    quest.on_end(node);
  }
  CHECK(quest.next(Nanos(5)).is_over);
  CHECK(BlockQuest({}, kPatience).next(Nanos(0)).is_over);
}

TEST_CASE("when all are silent it is over, and it never takes long") {
  BlockQuest quest(kThree, kPatience);
  Nanos now{};
  bool is_over = false;
  std::vector<NodeId> asked;
  while (!is_over) {
    const auto step = quest.next(now);
    if (step.ask) asked.push_back(*step.ask);
    is_over = step.is_over;
    REQUIRE(step.look_at > now);
    if (!is_over) now = step.look_at;
  }
  CHECK(asked == kThree);
  CHECK(now == 2 * kPatience + Nanos(bootstrap::kSilentPeerMax));
}

TEST_CASE("silent ones do not keep many from being asked for ever") {
  std::vector<NodeId> many;
  for (std::uint32_t i = 0; i < 8; ++i) many.push_back(NodeId{i});
  BlockQuest quest(many, kPatience);
  Nanos now{};
  std::size_t asked = 0, dropped = 0;
  while (true) {
    const auto step = quest.next(now);
    asked += step.ask ? 1 : 0;
    dropped += step.dropped.size();
    CHECK(asked - dropped <= bootstrap::kAskedAtOnceMax);
    if (step.is_over) break;
    REQUIRE(now < seconds(20));
    now = step.look_at;
  }
  CHECK(asked == many.size());
}

TEST_CASE("patience is four times the usual, within bounds, and who fails is out for longer") {
  PeerManners manners;
  CHECK(manners.patience() == Nanos(bootstrap::kPatienceFirst));
  manners.note_block(NodeId{1}, milliseconds(1));
  CHECK(manners.patience() == Nanos(bootstrap::kPatienceMin));
  for (int i = 0; i < 100; ++i) manners.note_block(NodeId{1}, milliseconds(100));
  CHECK(manners.patience() > milliseconds(390));
  for (int i = 0; i < 100; ++i) manners.note_block(NodeId{1}, seconds(100));
  CHECK(manners.patience() == Nanos(bootstrap::kPatienceMax));

  Nanos now = seconds(1000), last{};
  for (int i = 0; i < 10; ++i) {
    manners.note_failure(NodeId{2}, now);
    manners.note_failure(NodeId{2}, now + Nanos(1));  // of the same trouble
    Nanos out{};
    while (manners.is_out(NodeId{2}, now + out)) out += milliseconds(100);
    CHECK(out >= last);
    CHECK(out <= Nanos(bootstrap::kPeerOutMax) + milliseconds(100));
    last = out;
    now += out;
  }
  CHECK(last >= Nanos(bootstrap::kPeerOutMax));
  manners.note_block(NodeId{2}, milliseconds(1));
  manners.note_failure(NodeId{2}, now);
  CHECK_FALSE(manners.is_out(NodeId{2}, now + Nanos(bootstrap::kPeerOutFirst)));
  CHECK_FALSE(manners.is_out(NodeId{3}, now));
}

}  // namespace block_quest_test
