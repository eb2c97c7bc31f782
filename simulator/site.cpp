#include "simulator/site.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/core/words.h"

namespace robustrun::simulator {
namespace {

SeenTime median_time(std::vector<Nanos> times) {
  if (times.empty()) return {};
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return {*middle, static_cast<std::uint32_t>(times.size())};
}

// The pace of most steps: the weighted median.
SeenTime median_step(std::vector<PaceSeen> paces) {
  std::ranges::sort(paces, {}, &PaceSeen::step);
  std::uint64_t all = 0;
  for (const PaceSeen& pace : paces) all += pace.steps;
  std::uint64_t passed = 0;
  for (const PaceSeen& pace : paces) {
    passed += pace.steps;
    if (passed > all / 2) return {pace.step, static_cast<std::uint32_t>(paces.size())};
  }
  return {};
}

SeenRate rate_of(std::uint32_t count, double node_days) {
  SeenRate rate{count, {}};
  if (node_days <= 0) return rate;
  const Interval seen = poisson_interval(count);
  rate.per_node_day = {seen.mean / node_days, seen.low / node_days, seen.high / node_days};
  return rate;
}

void count_faults(const std::vector<RunRecord>& records, Site& site) {
  std::array<std::uint32_t, kKinds> counts{};
  double slows = 0;
  std::uint32_t slow = 0;
  for (const RunRecord& record : records) {
    for (const SeenFault& fault : record.faults) {
      if (fault.slows > 1) {
        slows += fault.slows;
        ++slow;
      }
      if (fault.on_purpose) {
        ++site.on_purpose;
        continue;
      }
      ++counts[index(fault.kind)];
      site.unclear += fault.is_unclear ? 1 : 0;
    }
  }
  if (slow > 0) site.slow_factor = slows / slow;
  std::uint32_t all = 0;
  for (std::size_t i = 0; i < kKinds; ++i) {
    site.by_kind[i] = rate_of(counts[i], site.node_days);
    all += counts[i];
  }
  site.all = rate_of(all, site.node_days);
}

// Without notes, half of the steps between two checkpoints are lost on average.
void time_checkpoints(const std::vector<RunRecord>& records, Site& site) {
  std::vector<Nanos> stalls;
  std::vector<std::uint64_t> between, again;
  for (const RunRecord& record : records) {
    if (record.checkpoint_stall) stalls.push_back(*record.checkpoint_stall);
    between.insert(between.end(), record.checkpoint_steps.begin(), record.checkpoint_steps.end());
    again.insert(again.end(), record.steps_again.begin(), record.steps_again.end());
  }
  site.checkpoint_stall = median_time(std::move(stalls));
  if (site.step.samples == 0) return;
  const auto steps_long = [&site](double steps) {
    const Nanos cycle = from_seconds(steps * in_seconds(site.step.median));
    return std::max(site.step.median, cycle - site.checkpoint_stall.median);
  };
  if (!between.empty()) {
    const auto middle = between.begin() + static_cast<std::ptrdiff_t>(between.size() / 2);
    std::ranges::nth_element(between, middle);
    site.checkpoint_every = {steps_long(static_cast<double>(*middle)),
                             static_cast<std::uint32_t>(between.size())};
  } else if (!again.empty()) {
    double sum = 0;
    for (const std::uint64_t steps : again) sum += static_cast<double>(steps);
    site.checkpoint_every = {steps_long(2 * sum / static_cast<double>(again.size())),
                             static_cast<std::uint32_t>(again.size())};
    site.every_is_guessed = true;
  }
}

// A script is ready to train one step before its first one is done.
SeenTime without_step(SeenTime seen, const SeenTime& step) {
  seen.median = std::max(Nanos{}, seen.median - step.median);
  return seen;
}

// Never replaces a value that the user gave.
void put(Figure<Nanos>& figure, const SeenTime& seen, const char* what) {
  if (seen.samples == 0 || figure.origin == Origin::kGiven) return;
  figure = {seen.median, Origin::kMeasured,
            fmt::format("journals: {}, median of {}", what, seen.samples)};
}

void put(Figure<Nanos>& figure, const Site& site, Stage stage) {
  put(figure, site.of(stage), words_of(stage));
}

}  // namespace

Site site_of(const std::vector<RunRecord>& records) {
  Site site;
  double most = -1;
  std::array<std::vector<Nanos>, kStages> times;
  std::vector<PaceSeen> paces;
  for (const RunRecord& record : records) {
    site.runs.push_back(record.name);
    site.node_days += record.node_days;
    site.by_user += record.by_user;
    if (record.node_days > most && record.nodes > 0) {
      most = record.node_days;
      site.nodes = record.nodes;
    }
    for (std::size_t i = 0; i < kStages; ++i) {
      times[i].insert(times[i].end(), record.times[i].begin(), record.times[i].end());
    }
    paces.insert(paces.end(), record.paces.begin(), record.paces.end());
  }
  count_faults(records, site);
  for (std::size_t i = 0; i < kStages; ++i) site.times[i] = median_time(std::move(times[i]));
  site.is_warm = site.of(Stage::kScriptWarm).samples > site.of(Stage::kScript).samples;
  site.step = median_step(std::move(paces));
  time_checkpoints(records, site);
  return site;
}

void use_rates(const Site& site, FailureModel& model) {
  const std::string exposure = fmt::format("{:.4g} node-hours", 24 * site.node_days);
  model.name = "journals";
  model.about = fmt::format("{}, {}", base::counted(site.runs.size(), "run"), exposure);
  if (site.all.count == 0) return;
  const Interval& rate = site.all.per_node_day;
  model.per_node_day = {rate.mean, Origin::kMeasured,
                        fmt::format("journals: {} in {}; 95 % interval {:.3g} to {:.3g}",
                                    site.all.count, exposure, rate.low, rate.high)};
  for (std::size_t i = 0; i < kKinds; ++i) model.mix.value[i] = site.by_kind[i].count;
  model.mix.origin = Origin::kMeasured;
  model.mix.source = fmt::format("journals: counts of {}", site.all.count);
  if (site.slow_factor > 1) {
    model.slow_factor = {site.slow_factor, Origin::kMeasured, "journals: mean of slow machines"};
  }
  put(model.slow_for, site, Stage::kSlowFor);
}

void use_times(const Site& site, JobTerms& job, OwnTimes& own) {
  const bool is_own_pace = job.step.origin != Origin::kGiven;
  put(job.step, site.step, "steps");
  // The load is not counted twice if the start is known to include it.
  if (site.script().samples > 0 && job.start.origin != Origin::kGiven) {
    put(job.start, without_step(site.script(), site.step),
        words_of(site.is_warm ? Stage::kScriptWarm : Stage::kScript));
    const SeenTime& cold = site.of(Stage::kScript);
    if (site.is_warm && cold.samples > 0) {
      put(job.start_cold.emplace(), without_step(cold, site.step), words_of(Stage::kScript));
    }
    if (job.load.origin != Origin::kGiven) {
      job.load = {Nanos{}, Origin::kMeasured, "journals: a part of the script's start"};
    }
    if (job.residual.origin != Origin::kGiven) {
      job.residual = {Nanos{}, Origin::kMeasured, "journals: the whole of a restart is in them"};
    }
  }
  put(job.checkpoint_every, site.checkpoint_every,
      site.every_is_guessed ? "twice the mean of steps done again" : "steps between checkpoints");
  put(job.checkpoint_stall, site.checkpoint_stall, "a rank waits for a checkpoint");
  put(own.worker_death, site, Stage::kWorkerDeath);
  put(own.machine_death, site, Stage::kMachineDeath);
  put(own.hang_suspected, site, Stage::kHangSuspected);
  put(own.hang_convicted, site, Stage::kHangConvicted);
  // Measured with the steps of these journals, and so includes them.
  if (is_own_pace && site.step.samples > 0 && site.of(Stage::kHangSuspected).samples > 0) {
    own.hang_steps = {0, Origin::kMeasured, "journals: in the times of hangs"};
  }
  put(own.stop, site, Stage::kStop);
  put(own.stop_hung,
      own.stop.origin == Origin::kMeasured && site.of(Stage::kStopHung).samples == 0
          ? site.of(Stage::kStop)
          : site.of(Stage::kStopHung),
      words_of(Stage::kStopHung));
  put(own.start, site, Stage::kStart);
  put(own.agent, site, Stage::kAgent);
  put(own.check, site, Stage::kCheck);
}

std::vector<std::string> doubts_of(const Site& site) {
  std::vector<std::string> doubts;
  if (site.all.count == 0) {
    doubts.push_back(fmt::format(
        "No failures in {:.4g} node-hours: at most {:.3g} per node-day (95 %). Rate and mix are "
        "not from the journals.",
        24 * site.node_days, site.all.per_node_day.high));
  } else if (site.all.count < kFewFailures) {
    doubts.push_back(fmt::format(
        "Too few failures ({}) to know their rate or mix: anything from {:.3g} to {:.3g} per "
        "node-day may be true.",
        site.all.count, site.all.per_node_day.low, site.all.per_node_day.high));
  }
  if (site.on_purpose > 0) {
    doubts.push_back(fmt::format(
        "{} failures were injected: they do not count for rates, but for times.", site.on_purpose));
  }
  if (site.unclear > 0) {
    doubts.push_back(
        fmt::format("The cause of {} failures is unknown: they count as passing.", site.unclear));
  }
  if (site.by_user > 0) {
    doubts.push_back(fmt::format("Users stopped or restarted runs {} times: that is not simulated.",
                                 site.by_user));
  }
  if (site.step.samples == 0) {
    doubts.emplace_back("The journals tell of no steps: step time and checkpoints are not known.");
  }
  return doubts;
}

}  // namespace robustrun::simulator
