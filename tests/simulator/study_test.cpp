// The complete study: recommended spares and checkpoint intervals.

#include "simulator/study.h"
#include "simulator/study_figures.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace robustrun::simulator::study_test {
namespace {

StudyRequest request() {
  StudyRequest request;
  request.failures = *preset("rsc-1");
  request.failures.mix.value = {0, 1, 0, 0, 0, 0, 0};  // machine deaths need no fault table
  request.job.nodes = 100;
  request.job.duration = hours(24 * 60);
  request.job.step.value = seconds(1);
  request.job.start.value = seconds(30);
  request.job.load.value = seconds(10);
  request.job.checkpoint_every.value = minutes(10);
  request.job.checkpoint_stall.value = seconds(20);
  request.seeds = 4;
  request.most_spares = 6;
  request.seeds_for_spares = 2;
  request.chooses_spares = true;
  for (const PublishedPolicy& policy : published_policies()) request.compared.push_back(&policy);
  return request;
}

TEST_CASE("a study recommends a number of spares and a checkpoint interval") {
  const Study study = run_study(request());
  REQUIRE(study.spares.size() == 7);
  CHECK(study.spares[2].ettr.mean > study.spares[0].ettr.mean);
  CHECK(study.best_spares >= 1);
  CHECK(study.best_spares < 6);
  CHECK(study.spares_used == study.best_spares);
  CHECK(study.standbys == standbys_for(request().failures, 100));
  REQUIRE(study.intervals.size() > 3);
  // The optimum is flat, but far from it either side is worse.
  CHECK(study.best_interval >= study.young_daly / 4);
  CHECK(study.best_interval <= study.young_daly * 4);
  const double best = std::ranges::max_element(study.intervals, {}, &IntervalResult::ettr)->ettr;
  CHECK(study.intervals.front().ettr < best);
  CHECK(study.intervals.back().ettr < best);
}

TEST_CASE("on request each policy saves at its own best interval") {
  StudyRequest best = request();
  best.chooses_spares = false;
  best.seeds_for_spares = 0;
  best.job.spares = 2;
  const Study given = run_study(best);
  best.chooses_intervals = true;
  const Study chosen = run_study(best);
  REQUIRE(chosen.policies.size() == given.policies.size());
  for (std::size_t i = 0; i < chosen.policies.size(); ++i) {
    CAPTURE(chosen.policies[i].name);
    CHECK(chosen.policies[i].ettr.mean >= given.policies[i].ettr.mean - 0.001);
  }
  CHECK(chosen.policies[0].checkpoints.every == chosen.best_interval);
  // torchrun's usual 30 minutes are not its best.
  CHECK(chosen.policies[1].checkpoints.every != given.policies[1].checkpoints.every);
  CHECK(chosen.policies[1].ettr.mean > given.policies[1].ettr.mean);
  CHECK(chosen.policies[0].ettr.mean > chosen.policies[1].ettr.mean);
}

TEST_CASE(
    "robustrun is first, all meet the same failures, and the same request gives the same study") {
  const Study one = run_study(request()), two = run_study(request());
  REQUIRE(one.policies.size() == 5);
  CHECK(one.policies.front().name == "robustrun");
  for (std::size_t i = 0; i < one.policies.size(); ++i) {
    CHECK(one.policies[i].ettr.mean == two.policies[i].ettr.mean);
    CHECK(one.policies[i].ettr.low <= one.policies[i].ettr.mean);
    CHECK(one.policies[i].sum.total == 4 * request().job.duration);
  }
  CHECK(one.policies[0].lost_s.mean < one.policies[1].lost_s.mean);
  StudyRequest other = request();
  other.first_seed = 100;
  CHECK(run_study(other).policies[0].ettr.mean != one.policies[0].ettr.mean);
}

TEST_CASE("every figure names its source") {
  const auto figures = figures_of(request());
  REQUIRE(figures.size() > 40);
  for (const Origin origin : {Origin::kMeasured, Origin::kPublished, Origin::kAssumed}) {
    CHECK(std::ranges::find(figures, origin, &KnownFigure::origin) != figures.end());
  }
  for (const KnownFigure& one : figures) {
    CAPTURE(one.name);
    const bool is_a_test_value = one.source.empty();  // those of request()
    CHECK((!is_a_test_value || one.name.find(':') == std::string::npos));
  }
}

}  // namespace
}  // namespace robustrun::simulator::study_test
