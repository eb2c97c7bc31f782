#include "supervisor/core/report/checkpoints.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/core/words.h"
#include "supervisor/core/report/facts.h"
#include "supervisor/core/report/incident.h"
#include "supervisor/core/report/page.h"

namespace robustrun::supervisor {
namespace {

using What = CheckpointNoted::What;

void take_load(const Facts& facts, base::Nanos at, const CheckpointNoted& noted,
               std::vector<LoadReport>& loads) {
  const auto found = std::ranges::find_if(loads, [&](const LoadReport& load) {
    return load.attempt == noted.attempt.value && load.step == noted.id.step &&
           load.source == noted.source;
  });
  if (found != loads.end()) {
    found->ranks = std::max(found->ranks, noted.ranks);
    return;
  }
  loads.push_back(
      {noted.attempt.value, elapsed(facts.first_at, at), noted.id.step, noted.source, noted.ranks});
}

// The median of the attempts' medians, each as often as it had saves.
base::Nanos median_of(std::vector<std::pair<base::Nanos, std::uint64_t>> weighted) {
  std::ranges::sort(weighted);
  std::uint64_t all = 0;
  for (const auto& [median, count] : weighted) all += count;
  std::uint64_t passed = 0;
  for (const auto& [median, count] : weighted) {
    passed += count;
    if (passed > all / 2) return median;
  }
  return {};
}

std::string bytes_words(std::uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (value < 1e6) return fmt::format("{:.4g} kB", value / 1e3);
  return value < 1e9 ? fmt::format("{:.4g} MB", value / 1e6)
                     : fmt::format("{:.4g} GB", value / 1e9);
}

}  // namespace

std::optional<CheckpointReport> checkpoint_report(const Facts& facts) {
  if (facts.checkpoints.empty() && facts.copies_saved.empty() && facts.copies_lost.empty()) {
    return std::nullopt;
  }
  CheckpointReport report;
  std::map<std::uint32_t, const CheckpointNoted*> saves, commits;  // the newest of each attempt
  for (const auto& [at, noted] : facts.checkpoints) {
    if (noted->what == What::kSaved) saves[noted->attempt.value] = noted;
    if (noted->what == What::kLoaded) take_load(facts, at, *noted, report.loads);
    if (noted->what != What::kCommitted) continue;
    commits[noted->attempt.value] = noted;
    report.last_committed_step = noted->id.step;
  }
  std::vector<std::pair<base::Nanos, std::uint64_t>> medians;
  for (const auto& [attempt, noted] : saves) {
    report.saves += noted->count;
    report.bytes += noted->bytes;
    report.blocking = later(report.blocking, noted->blocking);
    report.blocking_most = std::max(report.blocking_most, noted->blocking_most);
    medians.emplace_back(noted->blocking_median, noted->count);
  }
  for (const auto& [attempt, noted] : commits) report.committed += noted->count;
  report.blocking_median = median_of(std::move(medians));
  for (const Decision* decision : facts.set_aside) report.set_aside.push_back(decision->text);
  for (const HeldCopiesSaved* answer : facts.copies_saved) {
    report.copies_saved += answer->saved;
    report.copies_not_saved += static_cast<std::uint32_t>(answer->errors.size());
  }
  for (const Decision* lost : facts.copies_lost) report.copies_lost.push_back(lost->text);
  return report;
}

void describe_checkpoints(const Facts& facts, Incident& incident) {
  for (const auto& [at, noted] : facts.checkpoints) {
    const bool is_before = noted->attempt.value <= incident.attempt;
    if (is_before && noted->what == What::kCommitted) incident.committed_step = noted->id.step;
    if (is_before || noted->what != What::kLoaded) continue;
    incident.loaded_step = noted->id.step;
    incident.loaded_from = noted->source;
    break;  // of the next attempt that loads any
  }
  if (!incident.committed_step || !incident.step_before) return;
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (*incident.committed_step > kMost || *incident.step_before < 0) return;
  const std::int64_t since =
      *incident.step_before - static_cast<std::int64_t>(*incident.committed_step);
  incident.steps_since_commit = std::max<std::int64_t>(0, since);
}

std::string checkpoint_words(const CheckpointReport& report) {
  std::string text = fmt::format("{} saved", report.saves);
  if (report.last_committed_step) {
    text += fmt::format(", {} committed, the last at step {}", report.committed,
                        *report.last_committed_step);
  } else {
    text += ", none committed";
  }
  if (report.saves == 0) return text;
  return text + fmt::format(
                    "; {} written; the job waited {} for them: {} for one (median), {} "
                    "at most",
                    bytes_words(report.bytes), base::duration_words(report.blocking),
                    base::duration_words(report.blocking_median),
                    base::duration_words(report.blocking_most));
}

std::string saved_copies_words(const CheckpointReport& report) {
  if (report.copies_saved + report.copies_not_saved == 0) return {};
  std::string text = fmt::format(
      "{} saved from the memory of other nodes",
      report.copies_saved == 1 ? "1 copy" : fmt::format("{} copies", report.copies_saved));
  if (report.copies_not_saved > 0) text += fmt::format(", {} not", report.copies_not_saved);
  return text;
}

std::vector<std::string> load_words(const CheckpointReport& report) {
  std::vector<std::string> lines;
  for (const LoadReport& load : report.loads) {
    lines.push_back(fmt::format("attempt {} resumed from step {}{}, {} after the start: {}",
                                load.attempt, load.step,
                                load.source.empty() ? "" : ", from " + load.source,
                                base::duration_words(load.at), base::counted(load.ranks, "rank")));
  }
  return lines;
}

std::vector<MovedCheckpoint> moved_checkpoints(const Facts& facts) {
  std::vector<MovedCheckpoint> list;
  for (const auto& [at, moved] : facts.moved) {
    list.push_back({moved->attempt.value, elapsed(facts.first_at, at), moved->path, moved->moved_to,
                    moved->evidence});
  }
  return list;
}

std::string in_words(const MovedCheckpoint& moved) {
  return fmt::format("{} was half-written ({}): moved to {}", moved.path, moved.evidence,
                     moved.moved_to);
}

}  // namespace robustrun::supervisor
