#include "cli/plan/loss.h"

#include <doctest/doctest.h>

namespace plan_loss_test {

using namespace robustrun;
using namespace robustrun::cli;

namespace {

// Rows of two, a minipod each, and a spare in the second one.
PlacementPlan two_rows() {
  PlacementPlan plan;
  plan.cluster.levels.push_back({"minipod", 0, {{"pod0", 0}, {"pod1", 0}}});
  plan.cluster.leaf_of = {0, 0, 1, 1, 1, 0};
  for (const char* name : {"a1", "a2", "b1", "b2", "b3", "a3"}) {
    plan.cluster.nodes.push_back({name, 8, "", "", ""});
  }
  plan.cluster.nodes.back().slots = 4;
  plan.parallel.tp = 8;
  plan.parallel.pp = 2;
  plan.objective.kinds.of_kind = {0, 0, 0, 0, topo::kWhole};
  plan.objective.levels = {topo::kWhole};
  plan.places = 4;
  plan.spares = 1;
  plan.placement.nodes = {0, 2, 1, 3};
  plan.placement.spares = {4};
  plan.placement.shape.slots = {8, 8, 8, 8};
  return plan;
}

}  // namespace

TEST_CASE("the replacement of a lost node is shown with its ranks and the reason") {
  const PlacementPlan plan = two_rows();
  const auto loss = plan_loss(plan, 2, base::SystemClock());
  REQUIRE(loss);
  CHECK(loss_text(plan, *loss) ==
        "Without b1: b3 takes the place of b1: both are below minipod pod1.\n"
        "  place 1 (ranks 8-15): b3\n");
  const std::string json = loss_json(plan, *loss);
  CHECK(json.starts_with(R"({"lost":"b1","changes":[{"place":1,"name":"b3"}],"why":)"));
}

TEST_CASE("without a spare of its size the place stays vacant") {
  PlacementPlan plan = two_rows();
  plan.placement.spares = {5};  // a smaller machine
  const auto loss = plan_loss(plan, 0, base::SystemClock());
  REQUIRE(loss);
  CHECK(loss_text(plan, *loss) == "Without a1: no spare of its size; the run waits or shrinks.\n");
}

TEST_CASE("a node without a place cannot be lost") {
  const PlacementPlan plan = two_rows();
  const auto loss = plan_loss(plan, 4, base::SystemClock());
  REQUIRE(!loss);
  CHECK(loss.error().what == "cannot lose b3: it has no place in this plan");
}

}  // namespace plan_loss_test
