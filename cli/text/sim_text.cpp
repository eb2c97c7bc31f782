#include "cli/text/sim_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/core/text.h"
#include "base/core/words.h"
#include "cli/text/sim_site_text.h"

namespace robustrun::cli {
namespace {

using base::json_string;
using simulator::in_seconds;
using simulator::Phase;
using simulator::PolicyResult;
using simulator::Study;
using simulator::StudyRequest;

constexpr std::size_t kLabelWidth = 28;
constexpr std::size_t kColumnWidth = 19;
constexpr int kJsonVersion = 1;

std::string span_words(base::Nanos time) {
  const double value = in_seconds(time);
  if (value >= 2 * 86400.0) return fmt::format("{:.1f} days", value / 86400);
  if (value >= 2 * 3600.0) return fmt::format("{:.1f} h", value / 3600);
  if (value >= 120) return fmt::format("{:.1f} min", value / 60);
  return fmt::format("{:.3g} s", value);
}

std::string heading(const StudyRequest& request, const Study& study) {
  const simulator::JobTerms& job = request.job;
  std::string out = fmt::format(
      "{} machines of {} GPUs and {}, {}, {}\nFailures: {}: {}\n", job.nodes, job.gpus_per_node,
      base::counted(study.spares_used, "spare"), span_words(job.duration),
      base::counted(request.seeds, "seed"), request.failures.name, request.failures.about);
  if (study.between_failures == base::Nanos::max()) return out + "No failures.\n";
  return out +
         fmt::format("One failure every {}. Unexplained time per incident, for all policies: {}\n",
                     span_words(study.between_failures), span_words(job.residual.value));
}

std::string policies_table(const Study& study) {
  std::string out =
      fmt::format("\n{:<{}}{:>9}  {:<18}{:>14}{:>11}{:>14}{:>18}\n", "", kColumnWidth, "ETTR",
                  "95 % interval", "lost/incident", "incidents", "resubmitted", "checkpoint every");
  for (const PolicyResult& one : study.policies) {
    out += fmt::format("{:<{}}{:>7.2f} %  {:<18}{:>14}{:>11}{:>14}{:>18}\n", one.name, kColumnWidth,
                       100 * one.ettr.mean,
                       fmt::format("{:.2f} to {:.2f}", 100 * one.ettr.low, 100 * one.ettr.high),
                       span_words(simulator::from_seconds(one.lost_s.mean)), one.sum.incidents,
                       one.gave_up, span_words(one.checkpoints.every));
  }
  return out + "Lost per incident: without checkpoints and unexplained time.\n";
}

std::string phases_table(const Study& study) {
  std::string out = fmt::format("\n{:<{}}", "Where the time goes, percent", kLabelWidth);
  for (const PolicyResult& one : study.policies)
    out += fmt::format("{:>{}}", one.name, kColumnWidth);
  out += '\n';
  for (std::size_t i = 0; i < simulator::kPhases; ++i) {
    const auto phase = static_cast<Phase>(i);
    out += fmt::format("{:<{}}", words_of(phase), kLabelWidth);
    for (const PolicyResult& one : study.policies) {
      const double share = in_seconds(one.sum.at(phase)) / in_seconds(one.sum.total);
      out += fmt::format("{:>{}.3f}", 100 * share, kColumnWidth);
    }
    out += '\n';
  }
  return out;
}

std::string spares_table(const Study& study) {
  const std::string rule = fmt::format("ByteRobust's rule (99 % of days): {}.\n", study.standbys);
  if (study.spares.empty()) return "\nRecommended spares: use --spares auto. " + rule;
  std::string out = "\nSpares      ETTR   ETTR per machine, spares counted\n";
  for (const simulator::SparesResult& one : study.spares) {
    out += fmt::format("{:>6}  {:>6.2f} %   {:>6.2f} %{}\n", one.spares, 100 * one.ettr.mean,
                       100 * one.per_machine, one.spares == study.best_spares ? "   best" : "");
  }
  return out + fmt::format("Recommended spares: {}. ", study.best_spares) + rule;
}

std::string intervals_table(const Study& study) {
  if (study.intervals.empty()) return {};
  std::string out = "\nCheckpoint every      ETTR of robustrun\n";
  for (const simulator::IntervalResult& one : study.intervals) {
    out += fmt::format("{:>16}  {:>6.2f} %{}\n", span_words(one.every), 100 * one.ettr,
                       one.every == study.best_interval ? "   best of these" : "");
  }
  return out + fmt::format("Optimal (Young and Daly): {}. Simulated: {}.\n",
                           span_words(study.young_daly),
                           span_words(study.policies.front().checkpoints.every));
}

// Whether a figure is a stage time of a compared policy; there are many of these.
bool is_stage_time(const StudyRequest& request, const std::string& name) {
  return std::ranges::any_of(request.compared, [&](const simulator::PublishedPolicy* policy) {
    return name.starts_with(policy->name + ":");
  });
}

std::string figures_table(const StudyRequest& request) {
  const auto figures = figures_of(request);
  std::string out = "\nAssumptions and sources\n";
  for (const simulator::Origin origin :
       {simulator::Origin::kGiven, simulator::Origin::kMeasured, simulator::Origin::kPublished,
        simulator::Origin::kAssumed}) {
    for (const simulator::KnownFigure& one : figures) {
      if (one.origin != origin || is_stage_time(request, one.name)) continue;
      out +=
          fmt::format("  {:<10}{}: {} ({})\n", to_string(origin), one.name, one.value, one.source);
    }
  }
  for (const simulator::PublishedPolicy* policy : request.compared) {
    out += fmt::format("{}: {}\n", policy->name, policy->about);
  }
  return out +
         "Stage times of the policies: --json. Measured: in the journals where named, else on "
         "small "
         "jobs of two processors (docs/figures.md), not at this scale.\n";
}

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

std::string sim_text(const StudyRequest& request, const Study& study) {
  std::string out = request.site ? site_text(*request.site) : std::string();
  out += heading(request, study) + policies_table(study) + phases_table(study) +
         spares_table(study) + intervals_table(study);
  out += fmt::format("\nClosed form (arXiv 2410.21680) with robustrun's mean pause: {:.2f} %\n",
                     100 * study.closed_ettr);
  return out + figures_table(request);
}

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
