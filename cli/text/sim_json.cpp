// The study as one JSON object: docs/sim.md. Times are seconds, shares 0 to 1.

#include <fmt/format.h>

#include "base/core/text.h"
#include "cli/text/sim_text.h"
#include "simulator/study_figures.h"

namespace robustrun::cli {
namespace {

using base::json_string;
using simulator::in_seconds;

constexpr int kJsonVersion = 1;

std::string interval_json(const simulator::Interval& value) {
  return fmt::format(R"({{"mean":{},"low":{},"high":{}}})", value.mean, value.low, value.high);
}

void join_json(std::string& list, const std::string& item) {
  list += (list.empty() ? "" : ",") + item;
}

std::string policy_json(const simulator::PolicyResult& one) {
  std::string phases;
  for (std::size_t i = 0; i < simulator::kPhases; ++i) {
    const auto phase = static_cast<simulator::Phase>(i);
    join_json(phases, fmt::format("\"{}\":{}", to_string(phase), one.sum.at(phase).count()));
  }
  return fmt::format(
      R"({{"name":{},"about":{},"ettr":{},"lost_per_incident_s":{},"incidents":{},)"
      R"("started_anew":{},"checkpoint_every_s":{},"checkpoint_save_s":{},"total_ns":{},)"
      R"("phases_ns":{{{}}}}})",
      json_string(one.name), json_string(one.about), interval_json(one.ettr),
      interval_json(one.lost_s), one.sum.incidents, one.gave_up, in_seconds(one.checkpoints.every),
      in_seconds(one.checkpoints.stall), one.sum.total.count(), phases);
}

std::string figures_json(const simulator::StudyRequest& request) {
  std::string list;
  for (const simulator::KnownFigure& one : figures_of(request)) join_json(list, figure_json(one));
  return list;
}

}  // namespace

std::string figure_json(const simulator::KnownFigure& figure) {
  return fmt::format(R"({{"name":{},"value":{},"origin":"{}","source":{}}})",
                     json_string(figure.name), json_string(figure.value), to_string(figure.origin),
                     json_string(figure.source));
}

std::string sim_json(const simulator::StudyRequest& request, const simulator::Study& study) {
  std::string policies, spares, intervals;
  for (const auto& one : study.policies) join_json(policies, policy_json(one));
  for (const auto& one : study.spares) {
    join_json(spares, fmt::format(R"({{"spares":{},"ettr":{},"per_machine":{}}})", one.spares,
                                  interval_json(one.ettr), one.per_machine));
  }
  for (const auto& one : study.intervals) {
    join_json(intervals,
              fmt::format(R"({{"every_s":{},"ettr":{}}})", in_seconds(one.every), one.ettr));
  }
  const bool fails = study.between_failures != base::Nanos::max();
  return fmt::format(
      R"({{"version":{},"nodes":{},"gpus_per_node":{},"spares":{},"duration_s":{},"seeds":{},)"
      R"("first_seed":{},"failures":{},"between_failures_s":{},"residual_s":{},"policies":[{}],)"
      R"("spares_tried":[{}],"best_spares":{},"standbys_by_rule":{},"intervals":[{}],)"
      R"("best_interval_s":{},"young_daly_s":{},"closed_form_ettr":{},"journals":{},)"
      R"("figures":[{}]}})"
      "\n",
      kJsonVersion, request.job.nodes, request.job.gpus_per_node, study.spares_used,
      in_seconds(request.job.duration), request.seeds, request.first_seed,
      json_string(request.failures.name),
      fails ? fmt::format("{}", in_seconds(study.between_failures)) : "null",
      in_seconds(request.job.residual.value), policies, spares,
      study.spares.empty() ? "null" : fmt::format("{}", study.best_spares), study.standbys,
      intervals, in_seconds(study.best_interval), in_seconds(study.young_daly), study.closed_ettr,
      request.site ? site_json(*request.site) : "null", figures_json(request));
}

}  // namespace robustrun::cli
