#include "cli/top/facts.h"

#include <algorithm>

#include "supervisor/core/report/report.h"
#include "supervisor/core/report/words.h"
#include "supervisor/core/status/metric_watch.h"

namespace robustrun::cli {
namespace {

constexpr std::size_t kLossesKept = 256;
constexpr std::size_t kIncidentsKept = 1000;

bool is_loss(const std::string& name) {
  return supervisor::metric_role(name) == supervisor::MetricRole::kLoss;
}

std::vector<double> losses_of(const std::vector<supervisor::JournalEntry>& journal) {
  std::vector<double> losses;
  for (const supervisor::JournalEntry& entry : journal) {
    const auto* event = std::get_if<supervisor::Event>(&entry.what);
    const auto* progress =
        event != nullptr ? std::get_if<supervisor::Progress>(&event->body) : nullptr;
    if (progress == nullptr) continue;
    const auto found = std::ranges::find_if(progress->metric_names, is_loss);
    const auto index = static_cast<std::size_t>(found - progress->metric_names.begin());
    if (index < progress->metric_values.size()) losses.push_back(progress->metric_values[index]);
  }
  if (losses.size() > kLossesKept) {
    losses.erase(losses.begin(), losses.end() - static_cast<std::ptrdiff_t>(kLossesKept));
  }
  return losses;
}

}  // namespace

RunFacts facts_of(const std::vector<supervisor::JournalEntry>& journal,
                  const std::function<bool(const std::string& path)>& exists) {
  RunFacts facts;
  supervisor::RunReport report = supervisor::build_report(journal);
  facts.ettr = report.time.ettr;
  facts.ettr_last_hour = report.time.ettr_last_hour;
  const std::size_t dropped =
      report.incidents.size() - std::min(report.incidents.size(), kIncidentsKept);
  for (std::size_t i = dropped; i < report.incidents.size(); ++i) {
    const supervisor::Incident& each = report.incidents[i];
    facts.incidents.push_back(
        {each.at, each.attempt, each.rank, supervisor::failure_words(each), each.verdict});
  }
  facts.losses = losses_of(journal);
  facts.timeline = std::move(report.time.timeline);
  if (auto logs = logs_of(journal, std::nullopt, exists)) facts.logs = *std::move(logs);
  return facts;
}

std::optional<double> loss_of(const std::vector<wire::Metric>& metrics) {
  const auto found = std::ranges::find_if(
      metrics, [](const wire::Metric& metric) { return is_loss(metric.name); });
  return found == metrics.end() ? std::nullopt : std::optional(found->value);
}

}  // namespace robustrun::cli
