#include "cli/placement/wishes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"
#include "cli/options/values.h"

namespace robustrun::cli {
namespace {

using base::Errc;
using base::fail;
using base::Result;

// Puts the option as the user wrote it in front of a parser's error.
std::unexpected<base::Error> cannot_wish(const Settings& settings, OptionId id,
                                         std::string_view why) {
  constexpr std::string_view kAgain = "cannot use ";
  if (why.starts_with(kAgain)) why.remove_prefix(kAgain.size());
  return fail(Errc::kInvalidArgument, fmt::format("cannot use {}: {}", settings.written(id), why));
}

std::uint32_t size_of(const topo::Parallel& parallel, topo::GroupKind kind) {
  switch (kind) {
    case topo::GroupKind::kTp: return parallel.tp;
    case topo::GroupKind::kCp: return parallel.cp;
    case topo::GroupKind::kEp: return parallel.ep;
    case topo::GroupKind::kDp: return parallel.dp;
    case topo::GroupKind::kPp: return parallel.pp;
  }
  return 1;
}

base::Status read_order(const Settings& settings, topo::Parallel& parallel) {
  const std::string text = settings.text(OptionId::kRankOrder);
  auto order = topo::parse_rank_order(text);
  if (!order) return cannot_wish(settings, OptionId::kRankOrder, order.error().what);
  const auto named = base::split(text, '-');
  for (const topo::GroupKind kind : *order) {
    if (std::ranges::find(named, to_string(kind)) != named.end()) continue;
    if (size_of(parallel, kind) == 1) continue;
    return cannot_wish(settings, OptionId::kRankOrder,
                       fmt::format("it lacks {}, which has more than one rank", to_string(kind)));
  }
  parallel.order = *std::move(order);
  return {};
}

}  // namespace

Result<PlacementWishes> placement_wishes(const Settings& settings) {
  PlacementWishes wishes;
  if (const std::string text = settings.text(OptionId::kParallel); !text.empty()) {
    auto parallel = topo::parse_parallel(text);
    if (!parallel) return cannot_wish(settings, OptionId::kParallel, parallel.error().what);
    wishes.parallel = *std::move(parallel);
  }
  RR_TRY(read_order(settings, wishes.parallel));
  if (settings.has(OptionId::kAffinity)) {
    wishes.affinity = parse_number(settings.text(OptionId::kAffinity));
    if (!wishes.affinity || *wishes.affinity > 1) {
      return cannot_wish(settings, OptionId::kAffinity, "it must be a number from 0 to 1");
    }
  }
  if (const std::string text = settings.text(OptionId::kModel); !text.empty()) {
    auto model = topo::parse_model(text);
    if (!model) return cannot_wish(settings, OptionId::kModel, model.error().what);
    wishes.model = *model;
  }
  if (const std::string text = settings.text(OptionId::kTraffic); !text.empty()) {
    auto traffic = topo::parse_traffic(text);
    if (!traffic) return cannot_wish(settings, OptionId::kTraffic, traffic.error().what);
    wishes.traffic = *traffic;
  }
  wishes.rerank = RR_TRY(topo::parse_rerank(settings.text(OptionId::kRerank)));
  return wishes;
}

Result<topo::Traffic> traffic_of_job(const Settings& settings, const PlacementWishes& wishes,
                                     const topo::Parallel& resolved) {
  topo::Traffic traffic;
  if (wishes.model) {
    auto of_model = topo::traffic_of(*wishes.model, resolved);
    if (!of_model) return cannot_wish(settings, OptionId::kModel, of_model.error().what);
    traffic = *of_model;
  }
  for (std::size_t kind = 0; kind < traffic.bytes.size(); ++kind) {
    if (wishes.traffic.bytes[kind] > 0) traffic.bytes[kind] = wishes.traffic.bytes[kind];
  }
  return traffic;
}

}  // namespace robustrun::cli
