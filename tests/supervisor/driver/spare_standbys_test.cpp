#include "supervisor/driver/spare_standbys.h"

#include <doctest/doctest.h>

#include "wire/messages/limits.h"

namespace spare_standbys_test {

using namespace robustrun;
using base::Attempt;
using base::Generation;
using base::NodeId;
using supervisor::SpareStandbys;

namespace {

constexpr NodeId kFirst{0}, kLast{1}, kSpare{2};
constexpr Generation kOne{1}, kTwo{2};

wire::StartWorkers order(std::uint32_t attempt, std::uint32_t group_rank, std::uint32_t version) {
  wire::StartWorkers start;
  start.attempt = Attempt{attempt};
  start.slots.emplace_back().rank = {group_rank};
  start.group_rank = group_rank;
  start.group_world_size = 2;
  if (version != 0) start.version = wire::WorkerVersion{.number = version};
  return start;
}

void begin(SpareStandbys& relay, std::uint32_t attempt, std::uint32_t version = 0) {
  relay.note_start(kFirst, order(attempt, 0, version));
  relay.note_start(kLast, order(attempt, 1, version));
}

}  // namespace

TEST_CASE("a spare is told once what the workers of the last node import") {
  SpareStandbys relay;
  begin(relay, 0);
  CHECK_FALSE(relay.tell(kSpare, kOne));
  relay.note_modules({Attempt{0}, "list"});
  const auto told = relay.tell(kSpare, kOne);
  REQUIRE(told);
  CHECK(told->list == "list");
  CHECK(told->like.group_rank == 1);
  CHECK_FALSE(relay.tell(kSpare, kOne));
  CHECK(relay.tell(NodeId{3}, kOne));
}

TEST_CASE("another agent, or one whose connection broke, is told again") {
  SpareStandbys relay;
  begin(relay, 0);
  relay.note_modules({Attempt{0}, "list"});
  CHECK(relay.tell(kSpare, kOne));
  CHECK(relay.tell(kSpare, kTwo));
  CHECK_FALSE(relay.tell(kSpare, kTwo));
  relay.forget(kSpare);
  CHECK(relay.tell(kSpare, kTwo));
}

TEST_CASE("the same list of another attempt is no news, another list is") {
  SpareStandbys relay;
  begin(relay, 0);
  relay.note_modules({Attempt{0}, "list"});
  CHECK(relay.tell(kSpare, kOne));
  begin(relay, 1);
  relay.note_modules({Attempt{1}, "list"});
  CHECK_FALSE(relay.tell(kSpare, kOne));
  relay.note_modules({Attempt{1}, "longer list"});
  CHECK(relay.tell(kSpare, kOne)->list == "longer list");
}

TEST_CASE("an earlier run's list does not replace a list, a worker's list replaces it") {
  SpareStandbys relay;
  begin(relay, 0);
  relay.note_modules({Attempt{0}, "earlier", true});
  CHECK(relay.tell(kSpare, kOne)->list == "earlier");
  relay.note_modules({Attempt{0}, "own"});
  CHECK(relay.tell(kSpare, kOne)->list == "own");
  begin(relay, 1);
  relay.note_modules({Attempt{1}, "earlier", true});
  CHECK_FALSE(relay.tell(kSpare, kOne));
  begin(relay, 2, 1);
  relay.note_modules({Attempt{2}, "earlier", true});
  CHECK(relay.tell(kSpare, kOne)->list == "earlier");
}

TEST_CASE("late lists, empty ones and too long ones are not passed on") {
  SpareStandbys relay;
  relay.note_modules({Attempt{0}, "before any order"});
  begin(relay, 1);
  relay.note_modules({Attempt{0}, "late"});
  relay.note_modules({Attempt{1}, ""});
  relay.note_modules({Attempt{1}, std::string(wire::kModulesBytesMax + 1, 'x')});
  CHECK_FALSE(relay.tell(kSpare, kOne));
}

TEST_CASE("another version ends what spares have, until its workers tell") {
  SpareStandbys relay;
  begin(relay, 0);
  relay.note_modules({Attempt{0}, "list"});
  CHECK(relay.tell(kSpare, kOne));
  begin(relay, 1, 1);
  const auto none = relay.tell(kSpare, kOne);
  REQUIRE(none);
  CHECK(none->list.empty());
  CHECK_FALSE(relay.tell(kSpare, kOne));
  CHECK_FALSE(relay.tell(NodeId{3}, kOne));  // it has nothing to end
  relay.note_modules({Attempt{1}, "list"});
  const auto told = relay.tell(kSpare, kOne);
  REQUIRE(told);
  CHECK(told->list == "list");
  CHECK(told->like.version->number == 1);
}

TEST_CASE("a spare that got workers, and is one again later, is told again") {
  SpareStandbys relay;
  begin(relay, 0);
  relay.note_modules({Attempt{0}, "list"});
  CHECK(relay.tell(kSpare, kOne));
  relay.note_start(kFirst, order(1, 0, 0));
  relay.note_start(kSpare, order(1, 1, 0));
  CHECK(relay.tell(kSpare, kOne));
}

}  // namespace spare_standbys_test
