#include "cli/text/sim_site_text.h"

#include <fmt/format.h>

#include "base/core/text.h"
#include "base/core/words.h"

namespace robustrun::cli {
namespace {

using simulator::in_seconds;
using simulator::SeenRate;
using simulator::SeenTime;
using simulator::Site;
using simulator::Stage;

constexpr std::size_t kRunsNamed = 8;
constexpr std::size_t kStageWidth = 46;

std::string named_runs(const Site& site) {
  std::string names;
  for (std::size_t i = 0; i < site.runs.size() && i < kRunsNamed; ++i) {
    names += (i == 0 ? "" : ", ") + base::printable(site.runs[i]);
  }
  if (site.runs.size() > kRunsNamed) {
    names += fmt::format(" and {} more", site.runs.size() - kRunsNamed);
  }
  return names;
}

std::string rate_row(const char* name, const SeenRate& rate) {
  return fmt::format("  {:<14}{:>7}{:>14.4g}   {:.3g} to {:.3g}\n", name, rate.count,
                     rate.per_node_day.mean, rate.per_node_day.low, rate.per_node_day.high);
}

std::string time_row(const char* name, const SeenTime& time) {
  return fmt::format("  {:<{}}{:>12}{:>9}\n", name, kStageWidth,
                     fmt::format("{:.4g} s", in_seconds(time.median)), time.samples);
}

// Calls `row` for each time, in the order of the tables.
template <class Row>
void for_times(const Site& site, Row&& row) {
  for (std::size_t i = 0; i < simulator::kStages; ++i) {
    const auto stage = static_cast<Stage>(i);
    row(words_of(stage), site.of(stage));
  }
  row("step", site.step);
  row(site.every_is_guessed ? "between checkpoints (twice the repeated steps)"
                            : "between checkpoints",
      site.checkpoint_every);
  row("a rank waits for a checkpoint", site.checkpoint_stall);
}

std::string rate_json(const SeenRate& rate) {
  return fmt::format(R"({{"count":{},"per_node_day":{},"low":{},"high":{}}})", rate.count,
                     rate.per_node_day.mean, rate.per_node_day.low, rate.per_node_day.high);
}

}  // namespace

std::string site_text(const Site& site) {
  std::string out =
      fmt::format("Journals of {}, {:.4g} node-hours: {}\n", base::counted(site.runs.size(), "run"),
                  24 * site.node_days, named_runs(site));
  out += "  failures        count  per node-day   95 % interval (Poisson)\n";
  for (std::size_t i = 0; i < simulator::kKinds; ++i) {
    out += rate_row(kind_name(static_cast<simulator::FaultKind>(i)), site.by_kind[i]);
  }
  out += rate_row("all", site.all);
  out += fmt::format("  {:<{}}{:>12}{:>9}\n", "times", kStageWidth, "median", "samples");
  std::string unknown;
  for_times(site, [&](const char* name, const SeenTime& time) {
    if (time.samples > 0) {
      out += time_row(name, time);
    } else {
      unknown += (unknown.empty() ? "" : "; ") + std::string(name);
    }
  });
  if (!unknown.empty()) out += "  Not in the journals: " + unknown + ".\n";
  for (const std::string& doubt : doubts_of(site)) out += "  " + doubt + "\n";
  return out + "\n";
}

std::string site_json(const Site& site) {
  std::string runs, kinds, times, doubts;
  for (const std::string& run : site.runs) {
    runs += (runs.empty() ? "" : ",") + base::json_string(run);
  }
  for (std::size_t i = 0; i < simulator::kKinds; ++i) {
    kinds +=
        fmt::format("{}\"{}\":{}", kinds.empty() ? "" : ",",
                    kind_name(static_cast<simulator::FaultKind>(i)), rate_json(site.by_kind[i]));
  }
  for_times(site, [&](const char* name, const SeenTime& time) {
    if (time.samples == 0) return;
    times += fmt::format(R"({}{{"name":{},"median_s":{},"samples":{}}})", times.empty() ? "" : ",",
                         base::json_string(name), in_seconds(time.median), time.samples);
  });
  for (const std::string& doubt : doubts_of(site)) {
    doubts += (doubts.empty() ? "" : ",") + base::json_string(doubt);
  }
  return fmt::format(
      R"({{"runs":[{}],"node_hours":{},"failures":{},"kinds":{{{}}},"on_purpose":{},"unclear":{},)"
      R"("by_user":{},"times":[{}],"doubts":[{}]}})",
      runs, 24 * site.node_days, rate_json(site.all), kinds, site.on_purpose, site.unclear,
      site.by_user, times, doubts);
}

}  // namespace robustrun::cli
