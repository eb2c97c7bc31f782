// One look at all workers: whose answers count, and when it is over.
#include "supervisor/watch/observation.h"

#include <doctest/doctest.h>

#include <boost/asio/post.hpp>
#include <map>
#include <optional>

#include "supervisor/limits.h"
#include "tests/support/loop.h"
#include "wire/messages/field_codec.h"

namespace robustrun::supervisor::test::observation_test {
namespace {

using namespace std::chrono_literals;

struct Look {
  explicit Look(base::Nanos within = 1h, std::optional<base::NodeId> asks_ras = {},
                std::optional<base::LocalRank> use_of = {}) {
    Observation::Plan plan;
    plan.question = {7, base::Attempt{2}, true, within, false, use_of};
    plan.nodes = {{{4}, "alpha", {{0}, {1}}}, {{5}, "beta", {{2}}}};
    if (use_of) plan.nodes.pop_back();
    plan.world_size = 3;
    plan.ras = asks_ras;
    Observation::Hands hands;
    hands.send = [this](base::NodeId node, const wire::Message& message) {
      told.emplace(node.value, std::get<wire::Observe>(message));
    };
    hands.done = [this](tracer::FleetSnapshot fleet, wire::RasAnswer answer) {
      CHECK_FALSE(result.has_value());
      result = std::move(fleet);
      ras = std::move(answer);
    };
    look = Observation::begin(loop.executor(), std::move(plan), std::move(hands));
  }

  void answer(std::uint32_t node, std::uint32_t local_rank, std::uint64_t steps,
              std::uint64_t number = 7, std::uint32_t attempt = 2) const {
    tracer::RankSnapshot snapshot;
    snapshot.rank.value = 99;  // an agent does not decide its ranks
    snapshot.node = "elsewhere";
    snapshot.steps = steps;
    look->on_report({node}, {number, {attempt}, {local_rank}, 2, wire::encode(snapshot)});
  }
  bool is_over() {
    return loop.run_until([this] { return result.has_value(); });
  }

  robustrun::test::Loop loop{};
  std::map<std::uint32_t, wire::Observe> told;
  std::optional<tracer::FleetSnapshot> result;
  wire::RasAnswer ras;
  std::shared_ptr<Observation> look;
};

TEST_CASE("after a drop nothing is called, not even what all answers had set off") {
  Look look;
  look.answer(5, 0, 30);
  look.answer(4, 1, 20);
  look.answer(4, 0, 10);
  look.look->drop();
  bool is_later = false;
  boost::asio::post(look.loop.executor(), [&] { is_later = true; });
  REQUIRE(look.loop.run_until([&] { return is_later; }));
  CHECK_FALSE(look.result);
}

TEST_CASE("every agent is asked, and the answers come back by rank") {
  Look look;
  REQUIRE(look.told.size() == 2);
  CHECK(look.told.at(4).number == 7);
  CHECK(look.told.at(5).evidence);
  look.answer(5, 0, 30);
  look.answer(4, 1, 20);
  look.answer(4, 0, 10);
  REQUIRE(look.is_over());
  CHECK(look.result->world_size == 3);
  REQUIRE(look.result->ranks.size() == 3);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    CHECK(look.result->ranks[rank].rank.value == rank);
    CHECK(look.result->ranks[rank].steps == 10 * (rank + 1));
  }
  CHECK(look.result->ranks[1].node == "alpha");
  CHECK(look.result->ranks[1].local_rank.value == 1);
}

TEST_CASE("a look at what one rank uses is over with its answer, or with its node") {
  Look look(1h, {}, base::LocalRank{1});
  REQUIRE(look.told.size() == 1);
  CHECK(look.told.at(4).use_of == base::LocalRank{1});
  look.answer(4, 1, 20);
  REQUIRE(look.is_over());
  REQUIRE(look.result->ranks.size() == 1);
  CHECK(look.result->ranks[0].rank.value == 1);
  Look lost(1h, {}, base::LocalRank{1});
  lost.look->on_agent_lost({4});
  REQUIRE(lost.is_over());
  CHECK(lost.result->ranks.empty());
}

TEST_CASE("one node asks NCCL's RAS, and the look waits for what it says") {
  Look look(1h, base::NodeId{5});
  CHECK_FALSE(look.told.at(4).ras);
  CHECK(look.told.at(5).ras);
  look.answer(5, 0, 30);
  look.answer(4, 1, 20);
  look.answer(4, 0, 10);
  look.look->on_report({4}, wire::RasAnswer{7, {2}, "of a node that was not asked", {}, false});
  look.look->on_report({5}, wire::RasAnswer{6, {2}, "of another look", {}, false});
  look.look->on_report({5}, wire::RasAnswer{7, {1}, "of another attempt", {}, false});
  look.loop.run_for(20ms);
  CHECK_FALSE(look.result.has_value());
  SUBCASE("a report") {
    look.look->on_report({5}, wire::RasAnswer{7, {2}, "a report", {}, true});
    look.look->on_report({5}, wire::RasAnswer{7, {2}, "a second one", {}, false});
    REQUIRE(look.is_over());
    CHECK(look.ras.report == "a report");
    CHECK(look.ras.is_shared);
  }
  SUBCASE("nothing") {
    look.look->on_report({5}, wire::RasAnswer{7, {2}, {}, "no process listens there", false});
    REQUIRE(look.is_over());
    CHECK(look.ras.report.empty());
  }
  SUBCASE("it is lost") {
    look.look->on_agent_lost({5});
    REQUIRE(look.is_over());
    CHECK(look.ras.report.empty());
  }
  CHECK(look.result->ranks.size() == 3);
}

TEST_CASE("a RAS that says nothing in time is done without") {
  Look look(1ms, base::NodeId{4});
  look.answer(4, 0, 10);
  look.answer(4, 1, 20);
  look.answer(5, 0, 30);
  REQUIRE(look.is_over());
  CHECK(look.result->ranks.size() == 3);
  CHECK(look.ras.report.empty());
}

TEST_CASE("an agent that does not answer is left out when the time is over") {
  Look look(1ms);
  look.answer(4, 0, 10);
  REQUIRE(look.is_over());
  REQUIRE(look.result->ranks.size() == 1);
  CHECK(look.result->world_size == 3);
}

TEST_CASE("a node that is lost meanwhile has dead ranks") {
  Look look;
  look.answer(4, 0, 10);
  look.look->on_agent_lost({4});
  look.look->on_agent_lost({4});
  look.answer(5, 0, 30);
  REQUIRE(look.is_over());
  REQUIRE(look.result->ranks.size() == 3);
  CHECK(look.result->ranks[0].life == tracer::Life::kUnknown);  // it had answered
  CHECK(look.result->ranks[1].life == tracer::Life::kDead);
  CHECK(look.result->ranks[1].end == "its node is lost");
}

TEST_CASE("answers of other looks, attempts, nodes and ranks, and second ones, do not count") {
  Look look;
  look.answer(4, 0, 1, 6);
  look.answer(4, 0, 1, 7, 1);
  look.answer(9, 0, 1);
  look.answer(4, 2, 1);
  look.answer(4, 0, 10);
  look.answer(4, 0, 11);
  look.answer(4, 1, 20);
  CHECK_FALSE(look.result.has_value());
  look.answer(5, 0, 30);
  REQUIRE(look.is_over());
  CHECK(look.result->ranks[0].steps == 10);
}

TEST_CASE("an answer that cannot be read stands for a rank of which nothing is known") {
  Look look;
  look.look->on_report({4}, {7, {2}, {0}, 2, "\x0f\xff"});
  look.look->on_report({4}, {7, {2}, {1}, 2, std::string(kSnapshotBytesMax + 1, 'x')});
  look.answer(5, 0, 30);
  REQUIRE(look.is_over());
  CHECK(look.result->ranks.size() == 3);
  CHECK(look.result->ranks[0].comms.empty());
}

TEST_CASE("once it is dropped nothing is reported") {
  Look look(1ms);
  look.look->drop();
  look.look.reset();
  look.loop.run_for(50ms);
  CHECK_FALSE(look.result.has_value());
}

}  // namespace
}  // namespace robustrun::supervisor::test::observation_test
