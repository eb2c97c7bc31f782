// The fetch of one block from peers, with a clock that the test moves.
#include "bootstrap/store/fetch_plan.h"

#include <doctest/doctest.h>

#include <vector>

#include "bootstrap/store/limits.h"
#include "bootstrap/store/peer_latency.h"

namespace fetch_plan_test {

using namespace robustrun;
using base::Nanos;
using base::NodeId;
using bootstrap::FetchPlan;
using bootstrap::PeerLatency;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr Nanos kPatience = milliseconds(50);
const std::vector<NodeId> kThree{NodeId{1}, NodeId{2}, NodeId{3}};

}  // namespace

TEST_CASE("the second peer is asked when the first is silent, and not before") {
  FetchPlan plan(kThree, kPatience);
  CHECK(plan.next(Nanos(0)).ask == NodeId{1});
  const auto early = plan.next(milliseconds(49));
  CHECK_FALSE(early.ask);
  CHECK(early.look_at == kPatience);
  CHECK(early.late.empty());
  const auto late = plan.next(milliseconds(50));
  CHECK(late.ask == NodeId{2});
  CHECK(late.late == std::vector{NodeId{1}});
  CHECK_FALSE(late.is_over);
}

TEST_CASE("signs of life keep others from being asked") {
  FetchPlan plan(kThree, kPatience);
  CHECK(plan.next(Nanos(0)).ask == NodeId{1});
  Nanos now = milliseconds(30);
  plan.on_sign(NodeId{1}, now);
  for (int i = 0; i < 100; ++i) {
    now += Nanos(bootstrap::kSignEvery) + milliseconds(30);  // a busy peer's delay
    CHECK_FALSE(plan.next(now).ask);
    plan.on_sign(NodeId{1}, now);
  }
  now += bootstrap::kSignPatience;
  CHECK(plan.next(now).ask == NodeId{2});
}

TEST_CASE("a peer that only sends signs of life is given up") {
  FetchPlan plan({NodeId{1}}, kPatience);
  CHECK(plan.next(Nanos(0)).ask == NodeId{1});
  for (Nanos now{}; now < Nanos(bootstrap::kSlowPeerMax); now += bootstrap::kSignEvery) {
    plan.on_sign(NodeId{1}, now);
    CHECK_FALSE(plan.next(now).is_over);
  }
  const auto step = plan.next(bootstrap::kSlowPeerMax);
  CHECK(step.is_over);
  CHECK(step.dropped == std::vector{NodeId{1}});
}

TEST_CASE(
    "if a peer lacks the block, the next is asked at once; after the last the fetch is over") {
  FetchPlan plan(kThree, kPatience);
  for (const NodeId node : kThree) {
    CHECK(plan.next(Nanos(5)).ask == node);
    plan.on_end(node);
  }
  CHECK(plan.next(Nanos(5)).is_over);
  CHECK(FetchPlan({}, kPatience).next(Nanos(0)).is_over);
}

TEST_CASE("if all peers are silent, the fetch is over soon") {
  FetchPlan plan(kThree, kPatience);
  Nanos now{};
  bool is_over = false;
  std::vector<NodeId> asked;
  while (!is_over) {
    const auto step = plan.next(now);
    if (step.ask) asked.push_back(*step.ask);
    is_over = step.is_over;
    REQUIRE(step.look_at > now);
    if (!is_over) now = step.look_at;
  }
  CHECK(asked == kThree);
  CHECK(now == 2 * kPatience + Nanos(bootstrap::kSilentPeerMax));
}

TEST_CASE("silent peers do not keep others from being asked forever") {
  std::vector<NodeId> many;
  for (std::uint32_t i = 0; i < 8; ++i) many.push_back(NodeId{i});
  FetchPlan plan(many, kPatience);
  Nanos now{};
  std::size_t asked = 0, dropped = 0;
  while (true) {
    const auto step = plan.next(now);
    asked += step.ask ? 1 : 0;
    dropped += step.dropped.size();
    CHECK(asked - dropped <= bootstrap::kAskedAtOnceMax);
    if (step.is_over) break;
    REQUIRE(now < seconds(20));
    now = step.look_at;
  }
  CHECK(asked == many.size());
}

TEST_CASE(
    "patience is four times the usual latency, within bounds, and failing peers back off longer") {
  PeerLatency latency;
  CHECK(latency.patience() == Nanos(bootstrap::kPatienceFirst));
  latency.note_block(NodeId{1}, milliseconds(1));
  CHECK(latency.patience() == Nanos(bootstrap::kPatienceMin));
  for (int i = 0; i < 100; ++i) latency.note_block(NodeId{1}, milliseconds(100));
  CHECK(latency.patience() > milliseconds(390));
  for (int i = 0; i < 100; ++i) latency.note_block(NodeId{1}, seconds(100));
  CHECK(latency.patience() == Nanos(bootstrap::kPatienceMax));

  Nanos now = seconds(1000), last{};
  for (int i = 0; i < 10; ++i) {
    latency.note_failure(NodeId{2}, now);
    latency.note_failure(NodeId{2}, now + Nanos(1));  // part of the same failure
    Nanos out{};
    while (latency.is_out(NodeId{2}, now + out)) out += milliseconds(100);
    CHECK(out >= last);
    CHECK(out <= Nanos(bootstrap::kPeerOutMax) + milliseconds(100));
    last = out;
    now += out;
  }
  CHECK(last >= Nanos(bootstrap::kPeerOutMax));
  latency.note_block(NodeId{2}, milliseconds(1));
  latency.note_failure(NodeId{2}, now);
  CHECK_FALSE(latency.is_out(NodeId{2}, now + Nanos(bootstrap::kPeerOutFirst)));
  CHECK_FALSE(latency.is_out(NodeId{3}, now));
}

}  // namespace fetch_plan_test
