#include "cli/text/data_plan_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/core/text.h"
#include "base/core/words.h"

namespace robustrun::cli {
namespace {

using base::json_string;

constexpr int kDataPlanVersion = 1;

// Means over the steps.
struct Means {
  loader::Imbalance planned{0, 0};
  loader::Imbalance in_order{0, 0};
  double bound = 0;
  double padding = 0;
  double padding_in_order = 0;
};

Means means_of(const std::vector<loader::StepFigures>& steps) {
  Means means;
  const auto count = static_cast<double>(steps.size());
  for (const loader::StepFigures& step : steps) {
    means.planned.step += step.planned.step / count;
    means.planned.micro += step.planned.micro / count;
    means.in_order.step += step.in_order.step / count;
    means.in_order.micro += step.in_order.micro / count;
    means.bound += step.bound / count;
    means.padding += step.padding / count;
    means.padding_in_order += step.padding_in_order / count;
  }
  return means;
}

// 1,234 · 56.7 k · 8.9 M · 1.2 G
std::string amount(std::uint64_t number) {
  const auto value = static_cast<double>(number);
  if (number >= 1'000'000'000) return fmt::format("{:.1f} G", value / 1e9);
  if (number >= 1'000'000) return fmt::format("{:.1f} M", value / 1e6);
  if (number >= 10'000) return fmt::format("{:.1f} k", value / 1e3);
  return fmt::format("{}", number);
}

std::uint64_t tokens_of(const loader::SourceIndex& source) {
  return std::accumulate(source.lengths.begin(), source.lengths.end(), std::uint64_t{0});
}

std::uint64_t samples_drawn(const DataPlanShown& shown) {
  std::uint64_t drawn = 0;
  for (const loader::SourceCursor& source : shown.end.sources) drawn += source.position;
  return drawn;
}

double share_given(const DataPlanShown& shown, std::size_t source) {
  const std::uint64_t drawn = samples_drawn(shown);
  if (drawn == 0) return 0;
  return static_cast<double>(shown.end.sources[source].position) / static_cast<double>(drawn);
}

double epochs(const DataPlanShown& shown, std::size_t source) {
  return static_cast<double>(shown.end.sources[source].position) /
         static_cast<double>(shown.sources[source].lengths.size());
}

std::string sources_table(const DataPlanShown& shown) {
  std::size_t width = 6;
  for (const loader::Source& source : shown.spec.sources) {
    width = std::max(width, source.name.size());
  }
  std::string out = fmt::format("{:<{}}  {:<8}{:>9}{:>10}{:>9}{:>10}{:>10}\n", "source", width,
                                "format", "samples", "tokens", "epochs", "asked", "given");
  for (std::size_t i = 0; i < shown.sources.size(); ++i) {
    const loader::SourceIndex& index = shown.sources[i];
    out += fmt::format(
        "{:<{}}  {:<8}{:>9}{:>10}{:>9.2f}{:>8.2f} %{:>8.2f} %\n", shown.spec.sources[i].name, width,
        loader::to_string(shown.spec.sources[i].format), amount(index.lengths.size()),
        (index.estimated ? "~" : "") + amount(tokens_of(index)), epochs(shown, i),
        100 * shown.asked[i], 100 * share_given(shown, i));
  }
  return out;
}

}  // namespace

std::string data_plan_text(const DataPlanShown& shown) {
  const auto& batch = shown.spec.batch;
  const Means means = means_of(shown.steps);
  std::string out = fmt::format("{}: {}, each {} tokens in {} of {}\n\n", shown.path,
                                base::counted(shown.steps.size(), "step"),
                                amount(std::uint64_t{batch.bins} * batch.context),
                                base::counted(batch.bins, "sequence"), batch.context);
  out += sources_table(shown);
  const auto row = [](const char* name, double step, double micro, double padding) {
    return fmt::format("{:<26}{:>12.3f}{:>18.3f}{:>9.2f} %\n", name, step, micro, 100 * padding);
  };
  out += fmt::format("\n{}, {} micro-batch{} each: time of the slowest rank over the mean\n",
                     base::counted(shown.ranks, "rank"), batch.micro, batch.micro == 1 ? "" : "es");
  out += fmt::format("{:<26}{:>12}{:>18}{:>11}\n", "ranks wait for each other", "once a step",
                     "per micro-batch", "padding");
  out += row("in the order of arrival", means.in_order.step, means.in_order.micro,
             means.padding_in_order);
  out += row("planned", means.planned.step, means.planned.micro, means.padding);
  out += fmt::format("{:<26}{:>12.3f}{:>18.3f}\n", "at best (longest document)", means.bound,
                     means.bound);
  const bool once = shown.spec.balance.sync == loader::Sync::kStep;
  out += fmt::format("Planned for ranks that wait {} (balance.sync = \"{}\").\n",
                     once ? "once a step" : "at every micro-batch",
                     loader::to_string(shown.spec.balance.sync));
  out +=
      fmt::format("\n{} left for the next step", base::counted(shown.end.carry.size(), "document"));
  if (shown.end.dropped > 0) out += fmt::format(", {} dropped", shown.end.dropped);
  out += fmt::format(". Planning a step took {:.2f} ms. Digest of step {}: {:016x}\n",
                     shown.plan_ms, shown.end.step - 1, shown.digest);
  const bool estimated = std::ranges::any_of(
      shown.sources, [](const loader::SourceIndex& source) { return source.estimated; });
  if (estimated) out += "~: estimated from bytes (bytes_per_token)\n";
  return out;
}

std::string data_plan_json(const DataPlanShown& shown) {
  const Means means = means_of(shown.steps);
  const auto imbalance = [](const loader::Imbalance& one) {
    return fmt::format("{{\"step\": {:.6f}, \"micro\": {:.6f}}}", one.step, one.micro);
  };
  std::vector<std::string> sources;
  for (std::size_t i = 0; i < shown.sources.size(); ++i) {
    const loader::SourceIndex& index = shown.sources[i];
    sources.push_back(fmt::format(
        "{{\"name\": {}, \"format\": \"{}\", \"files\": {}, \"samples\": {}, \"tokens\": {}, "
        "\"estimated\": {}, \"drawn\": {}, \"asked\": {:.6f}, \"given\": {:.6f}}}",
        json_string(shown.spec.sources[i].name), loader::to_string(shown.spec.sources[i].format),
        index.files.size(), index.lengths.size(), tokens_of(index), index.estimated,
        shown.end.sources[i].position, shown.asked[i], share_given(shown, i)));
  }
  return fmt::format(
      "{{\"version\": {}, \"file\": {}, \"ranks\": {}, \"steps\": {}, \"sequences\": {}, "
      "\"context\": {}, \"micro\": {}, \"sync\": \"{}\", \"sources\": [{}], \"planned\": {}, "
      "\"in_order\": {}, \"bound\": {:.6f}, \"padding\": {:.6f}, "
      "\"padding_in_order\": {:.6f}, \"carried\": {}, \"dropped\": {}, "
      "\"plan_ms\": {:.4f}, \"digest\": \"{:016x}\"}}\n",
      kDataPlanVersion, json_string(shown.path), shown.ranks, shown.steps.size(),
      shown.spec.batch.bins, shown.spec.batch.context, shown.spec.batch.micro,
      loader::to_string(shown.spec.balance.sync), base::join(sources, ", "),
      imbalance(means.planned), imbalance(means.in_order), means.bound, means.padding,
      means.padding_in_order, shown.end.carry.size(), shown.end.dropped, shown.plan_ms,
      shown.digest);
}

}  // namespace robustrun::cli
