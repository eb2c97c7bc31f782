#include "cli/text/sim_replay_text.h"

#include <fmt/format.h>

#include "base/core/text.h"
#include "base/core/words.h"
#include "cli/text/sim_site_text.h"
#include "cli/text/sim_text.h"
#include "simulator/study_figures.h"

namespace robustrun::cli {
namespace {

using simulator::in_seconds;
using simulator::KnownFigure;
using simulator::Replay;

std::string times_words(const ReplayShown& shown) {
  if (shown.calibrated_by_itself) {
    return "Times: medians of this run's own incidents by kind; other runs (--from-journal) "
           "are a harder test.\n";
  }
  return fmt::format("Times: medians of {}, without this one.\n",
                     base::counted(shown.site.runs.size(), "other run"));
}

std::string left_out(const Replay& replay) {
  std::string out;
  const std::pair<std::uint32_t, const char*> those[] = {
      {replay.while_starting, "failures while workers started"},
      {replay.stalls, "stalls that resolved themselves"},
      {replay.by_user, "user orders"}};
  for (const auto& [count, what] : those) {
    if (count > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, what);
  }
  return out.empty() ? out : "Not replayed: " + out + ".\n";
}

double points(const Replay& replay) { return 100 * (replay.simulated_ettr - replay.real_ettr); }

}  // namespace

std::string replay_text(const ReplayShown& shown) {
  const Replay& replay = shown.replay;
  std::string out = fmt::format(
      "Replay of run {}: {} and {}, {:.4g} s, {}\n{}\n", base::printable(replay.name),
      base::counted(replay.nodes, "machine"), base::counted(replay.spares, "spare"),
      in_seconds(replay.duration), base::counted(replay.played, "failure"), times_words(shown));
  out += fmt::format("{:<14}{:>12}{:>14}\n", "", "real", "simulated");
  for (const simulator::ReplayRow& row : replay.rows) {
    if (row.real == base::Nanos{} && row.simulated == base::Nanos{}) continue;
    out += fmt::format("{:<14}{:>10.3f} s{:>12.3f} s\n", row.spent, in_seconds(row.real),
                       in_seconds(row.simulated));
  }
  out += fmt::format("{:<14}{:>12}{:>14}\n", "failures", replay.played, replay.simulated);
  out += fmt::format("{:<14}{:>10.2f} %{:>12.2f} %   {:+.2f} points\n", "ETTR",
                     100 * replay.real_ettr, 100 * replay.simulated_ettr, points(replay));
  out += left_out(replay);
  if (replay.start_is_copied) out += "No journal has a start: the start of this run is used.\n";
  out += "\nAssumptions and sources\n";
  for (const simulator::Origin origin :
       {simulator::Origin::kGiven, simulator::Origin::kMeasured, simulator::Origin::kPublished,
        simulator::Origin::kAssumed}) {
    for (const KnownFigure& one : shown.figures) {
      if (one.origin != origin) continue;
      out +=
          fmt::format("  {:<10}{}: {} ({})\n", to_string(origin), one.name, one.value, one.source);
    }
  }
  return out;
}

std::string replay_json(const ReplayShown& shown) {
  const Replay& replay = shown.replay;
  std::string rows, figures;
  for (const simulator::ReplayRow& row : replay.rows) {
    rows +=
        fmt::format(R"({}{{"spent":"{}","real_s":{},"simulated_s":{}}})", rows.empty() ? "" : ",",
                    row.spent, in_seconds(row.real), in_seconds(row.simulated));
  }
  for (const KnownFigure& one : shown.figures) {
    figures += (figures.empty() ? "" : ",") + figure_json(one);
  }
  return fmt::format(
      R"({{"version":1,"run":{},"nodes":{},"spares":{},"duration_s":{},"real_ettr":{},)"
      R"("simulated_ettr":{},"points":{},"failures_played":{},"failures_simulated":{},)"
      R"("not_played":{{"while_starting":{},"stalls":{},"by_user":{}}},"rows":[{}],)"
      R"("calibrated_by_itself":{},"start_is_copied":{},"journals":{},"figures":[{}]}})"
      "\n",
      base::json_string(replay.name), replay.nodes, replay.spares, in_seconds(replay.duration),
      replay.real_ettr, replay.simulated_ettr, points(replay), replay.played, replay.simulated,
      replay.while_starting, replay.stalls, replay.by_user, rows, shown.calibrated_by_itself,
      replay.start_is_copied, site_json(shown.site), figures);
}

}  // namespace robustrun::cli
