#include "cli/text/sim_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/core/words.h"
#include "simulator/study_figures.h"

namespace robustrun::cli {
namespace {

using simulator::Account;
using simulator::Phase;
using simulator::PolicyResult;
using simulator::Study;
using simulator::StudyRequest;

constexpr std::size_t kLabelWidth = 28;
constexpr std::size_t kColumnWidth = 19;

std::string span_words(base::Nanos time) {
  const double value = simulator::in_seconds(time);
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
  return out + fmt::format("One failure every {}. Unexplained per incident, for all policies: {}\n",
                           span_words(study.between_failures), span_words(job.residual.value));
}

std::string policies_table(const Study& study) {
  std::string out = fmt::format("\n{:<{}}{:>9}  {:<18}{:>14}{:>11}{:>14}{:>18}\n", "", kColumnWidth,
                                "ETTR", "95 % interval", "lost/incident", "incidents",
                                "started anew", "checkpoint every");
  for (const PolicyResult& one : study.policies) {
    out += fmt::format("{:<{}}{:>7.2f} %  {:<18}{:>14}{:>11}{:>14}{:>18}\n", one.name, kColumnWidth,
                       100 * one.ettr.mean,
                       fmt::format("{:.2f} to {:.2f}", 100 * one.ettr.low, 100 * one.ettr.high),
                       span_words(simulator::from_seconds(one.lost_s.mean)), one.sum.incidents,
                       one.gave_up, span_words(one.checkpoints.every));
  }
  return out + "Lost per incident: without checkpoints and without what is unexplained.\n";
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
      const double share =
          simulator::in_seconds(one.sum.at(phase)) / simulator::in_seconds(one.sum.total);
      out += fmt::format("{:>{}.3f}", 100 * share, kColumnWidth);
    }
    out += '\n';
  }
  return out;
}

std::string spares_table(const Study& study) {
  const std::string rule = fmt::format("ByteRobust's rule (99 % of days): {}.\n", study.standbys);
  if (study.spares.empty()) return "\nSpares worth having: --spares auto finds it out. " + rule;
  std::string out = "\nSpares      ETTR   ETTR per machine, spares counted\n";
  for (const simulator::SparesResult& one : study.spares) {
    out += fmt::format("{:>6}  {:>6.2f} %   {:>6.2f} %{}\n", one.spares, 100 * one.ettr.mean,
                       100 * one.per_machine, one.spares == study.best_spares ? "   most" : "");
  }
  return out + fmt::format("Worth having: {}. ", study.best_spares) + rule;
}

std::string intervals_table(const StudyRequest& request, const Study& study) {
  if (study.intervals.empty()) return {};
  std::string out = "\nCheckpoint every      ETTR of robustrun\n";
  for (const simulator::IntervalResult& one : study.intervals) {
    out += fmt::format("{:>16}  {:>6.2f} %{}\n", span_words(one.every), 100 * one.ettr,
                       one.every == study.best_interval ? "   best of these" : "");
  }
  return out + fmt::format("Young and Daly's: {}. Asked for: {}.\n", span_words(study.young_daly),
                           span_words(request.job.checkpoint_every.value));
}

// The stage times of the policies that are compared are many.
bool is_of_another(const StudyRequest& request, const std::string& name) {
  return std::ranges::any_of(request.compared, [&](const simulator::PublishedPolicy* policy) {
    return name.starts_with(policy->name + ":");
  });
}

std::string figures_table(const StudyRequest& request) {
  const auto figures = figures_of(request);
  std::string out = "\nWhat this rests on\n";
  for (const simulator::Origin origin :
       {simulator::Origin::kGiven, simulator::Origin::kMeasured, simulator::Origin::kPublished,
        simulator::Origin::kAssumed}) {
    for (const simulator::KnownFigure& one : figures) {
      if (one.origin != origin || is_of_another(request, one.name)) continue;
      out +=
          fmt::format("  {:<10}{}: {} ({})\n", to_string(origin), one.name, one.value, one.source);
    }
  }
  for (const simulator::PublishedPolicy* policy : request.compared) {
    out += fmt::format("{}: {}\n", policy->name, policy->about);
  }
  return out +
         "Their stage times: --json. Measured: in the journals where it says so, else on small "
         "jobs "
         "of two processors (docs/figures.md), not at this scale.\n";
}

}  // namespace

std::string sim_text(const StudyRequest& request, const Study& study) {
  std::string out = request.site ? site_text(*request.site) : std::string();
  out += heading(request, study) + policies_table(study) + phases_table(study) +
         spares_table(study) + intervals_table(request, study);
  out += fmt::format("\nClosed form (arXiv 2410.21680) with robustrun's mean pause: {:.2f} %\n",
                     100 * study.closed_ettr);
  return out + figures_table(request);
}

}  // namespace robustrun::cli
