#include "loader/plan/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "loader/plan/wide.h"

namespace robustrun::loader {
namespace {

constexpr std::uint64_t kStepCostMax = std::uint64_t{1} << 62U;  // sums of costs fit in 64 bits
constexpr std::uint64_t kCostMax = 1'000'000'000;  // of one token, in millionths

std::unexpected<base::Error> refuse(std::string what) {
  return base::fail(base::Errc::kInvalidArgument, std::move(what));
}

base::Status check_recipe(const Source& source) {
  const Recipe& recipe = source.recipe;
  if (source.format == Format::kMegatron) {
    if (recipe == Recipe{}) return {};
    return refuse(
        fmt::format("source {} has tokens, so it has no column, tokenizer, transform or "
                    "end",
                    source.name));
  }
  if (!recipe.tokenizer.empty() && !recipe.transform.empty()) {
    return refuse(
        fmt::format("source {} has a tokenizer and a transform; choose one of them", source.name));
  }
  if (recipe.end && *recipe.end > std::uint32_t{std::numeric_limits<std::int32_t>::max()}) {
    return refuse(fmt::format("end = {} of source {} is no token", *recipe.end, source.name));
  }
  const std::size_t colon = recipe.transform.find(':');
  const bool named = colon != std::string::npos && colon > 0 && colon + 1 < recipe.transform.size();
  if (!recipe.transform.empty() && !named) {
    return refuse(fmt::format("transform = \"{}\" of source {} is not of the form module:function",
                              recipe.transform, source.name));
  }
  return {};
}

base::Status check_source(const Source& source) {
  if (source.name.empty()) return refuse("a source has no name");
  if (source.paths.empty()) return refuse(fmt::format("source {} has no paths", source.name));
  if (source.bytes_per_token == 0) {
    return refuse(fmt::format("bytes_per_token of source {} must be at least 1", source.name));
  }
  RR_TRY(check_recipe(source));
  if (source.weight.empty()) {
    return refuse(fmt::format("source {} is missing in [mixture]", source.name));
  }
  for (std::size_t i = 0; i < source.weight.size(); ++i) {
    if (source.weight[i].weight > kWeightMax) {
      return refuse(
          fmt::format("a weight of source {} is above {}", source.name, kWeightMax / 1'000'000));
    }
    if (i > 0 && source.weight[i].step <= source.weight[i - 1].step) {
      return refuse(fmt::format("steps of source {} in [mixture] must ascend: {} after {}",
                                source.name, source.weight[i].step, source.weight[i - 1].step));
    }
  }
  return {};
}

// Between its points a sum of linear functions is zero only if it is zero at both ends.
base::Status check_sum(const Spec& spec) {
  std::vector<std::uint64_t> steps{0};
  for (const Source& source : spec.sources) {
    for (const WeightPoint& point : source.weight) steps.push_back(point.step);
  }
  for (const std::uint64_t step : steps) {
    if (std::ranges::all_of(spec.sources,
                            [&](const Source& one) { return weight_at(one, step) == 0; })) {
      return refuse(fmt::format("the weights in [mixture] sum to 0 at step {}", step));
    }
  }
  return {};
}

}  // namespace

base::Status check(const Spec& spec) {
  if (spec.sources.empty()) return refuse("there is no [[source]]");
  if (spec.cache.empty()) return refuse("cache must name a folder");
  if (spec.sources.size() > kSourcesMax) {
    return refuse(fmt::format("{} sources are more than {}", spec.sources.size(), kSourcesMax));
  }
  for (std::size_t i = 0; i < spec.sources.size(); ++i) {
    RR_TRY(check_source(spec.sources[i]));
    for (std::size_t j = 0; j < i; ++j) {
      if (spec.sources[j].name == spec.sources[i].name) {
        return refuse(fmt::format("two sources have the name {}", spec.sources[i].name));
      }
    }
  }
  RR_TRY(check_sum(spec));
  const auto& batch = spec.batch;
  if (batch.context == 0 || batch.context > kContextMax) {
    return refuse(fmt::format("batch.context must be between 1 and {}", kContextMax));
  }
  if (batch.bins == 0 || batch.bins > kBinsPerStepMax) {
    return refuse(fmt::format("a step must have between 1 and {} sequences of batch.context tokens",
                              kBinsPerStepMax));
  }
  if (batch.micro == 0) return refuse("batch.micro must be at least 1");
  if (spec.shuffle.block == 0 || spec.shuffle.window == 0) {
    return refuse("shuffle.block and shuffle.window must be at least 1");
  }
  if (spec.balance.linear > kCostMax || spec.balance.square > kCostMax ||
      spec.balance.linear + spec.balance.square == 0) {
    return refuse("balance.cost needs an a or b above 0, at most 1000 and 1");
  }
  const auto square = static_cast<Wide>(spec.balance.square) * batch.context * batch.context / 1000;
  if ((square + spec.balance.linear * batch.context) * batch.bins > kStepCostMax) {
    return refuse("balance.cost is too large for a step of this size");
  }
  return {};
}

base::Result<std::uint32_t> bins_of(std::uint64_t tokens, std::uint32_t context) {
  if (tokens == 0 || context == 0) return refuse("[batch] needs tokens and context");
  if (tokens % context != 0 || tokens / context > kBinsPerStepMax) {
    return refuse(
        fmt::format("batch.tokens = {} must be a multiple of batch.context = {}, at most {} "
                    "times",
                    tokens, context, kBinsPerStepMax));
  }
  return static_cast<std::uint32_t>(tokens / context);
}

base::Status check_ranks(const Spec& spec, std::uint32_t ranks) {
  const std::uint64_t share = std::uint64_t{ranks} * spec.batch.micro;
  if (share != 0 && spec.batch.bins % share == 0) return {};
  return refuse(fmt::format(
      "{} ranks with {} micro-batches each cannot share the {} sequences of a step equally; choose "
      "batch.tokens as a multiple of {} x {}",
      ranks, spec.batch.micro, spec.batch.bins, share, spec.batch.context));
}

std::uint64_t weight_at(const Source& source, std::uint64_t step) {
  const auto after = std::ranges::find_if(
      source.weight, [step](const WeightPoint& point) { return point.step > step; });
  if (after == source.weight.begin()) return after->weight;
  const WeightPoint& from = *std::prev(after);
  if (after == source.weight.end()) return from.weight;
  const auto run = static_cast<Wide>(after->step - from.step);
  const auto done = static_cast<Wide>(step - from.step);
  const Wide rise = static_cast<Wide>(after->weight) - static_cast<Wide>(from.weight);
  return static_cast<std::uint64_t>(static_cast<Wide>(from.weight) + rise * done / run);
}

std::string_view to_string(Format format) {
  switch (format) {
    case Format::kMegatron: return "megatron";
    case Format::kJsonLines: return "jsonl";
    case Format::kParquet: return "parquet";
    case Format::kArrow: return "arrow";
  }
  return "";
}

std::string_view to_string(Pack pack) { return pack == Pack::kNextFit ? "next-fit" : "best-fit"; }

std::string_view to_string(Leftover leftover) {
  switch (leftover) {
    case Leftover::kCarry: return "carry";
    case Leftover::kPad: return "pad";
    case Leftover::kDrop: return "drop";
  }
  return "";
}

std::string_view to_string(Long longer) {
  switch (longer) {
    case Long::kSplit: return "split";
    case Long::kTruncate: return "truncate";
    case Long::kRefuse: return "error";
  }
  return "";
}

std::string_view to_string(Sync sync) { return sync == Sync::kStep ? "step" : "micro"; }

}  // namespace robustrun::loader
