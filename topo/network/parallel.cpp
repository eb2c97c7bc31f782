#include "topo/network/parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/core/text.h"
#include "topo/limits.h"
#include "topo/network/complaint.h"

namespace robustrun::topo {
namespace {

using base::Errc;
using base::fail;
using base::Result;

constexpr std::array<std::string_view, kGroupKinds> kNames = {"tp", "cp", "ep", "dp", "pp"};

std::optional<GroupKind> kind_named(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<GroupKind>(found - kNames.begin());
}

std::uint32_t& size_of(Parallel& parallel, GroupKind kind) {
  switch (kind) {
    case GroupKind::kTp: return parallel.tp;
    case GroupKind::kCp: return parallel.cp;
    case GroupKind::kEp: return parallel.ep;
    case GroupKind::kDp: return parallel.dp;
    case GroupKind::kPp: return parallel.pp;
  }
  RR_ASSERT(false);
}

std::string in_words(const Parallel& parallel) {
  return fmt::format("tp={},cp={},pp={}", parallel.tp, parallel.cp, parallel.pp);
}

}  // namespace

std::vector<GroupKind> default_rank_order() {
  return {GroupKind::kTp, GroupKind::kCp, GroupKind::kEp, GroupKind::kDp, GroupKind::kPp};
}

std::string_view to_string(GroupKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

Result<Parallel> parse_parallel(std::string_view text) {
  Parallel parallel;
  std::array<bool, kGroupKinds> seen{};
  for (const std::string_view item : base::split(text, ',')) {
    const auto equals = item.find('=');
    const std::string_view name = base::trim(item.substr(0, equals));
    const auto kind = kind_named(name);
    if (equals == std::string_view::npos || !kind) {
      return bad(item,
                 "a size is KIND=NUMBER, and the kinds are tp, cp, ep, dp and pp, as in "
                 "tp=8,pp=4,dp=auto");
    }
    if (std::exchange(seen[static_cast<std::size_t>(*kind)], true)) {
      return bad(text, fmt::format("{} is given twice", name));
    }
    const std::string_view value = base::trim(item.substr(equals + 1));
    if (value == "auto" && *kind == GroupKind::kDp) continue;
    const auto size = base::parse_int<std::uint32_t>(value);
    if (!size || *size == 0 || *size > kParallelMax) {
      return bad(item, *kind == GroupKind::kDp ? "the size is a number of 1 or more, or auto"
                                               : "the size is a number of 1 or more");
    }
    size_of(parallel, *kind) = *size;
  }
  return parallel;
}

Result<std::vector<GroupKind>> parse_rank_order(std::string_view text) {
  std::vector<GroupKind> order;
  for (const std::string_view name : base::split(text, '-')) {
    const auto kind = kind_named(name);
    if (!kind) return bad(text, "an order names tp, cp, ep, dp and pp, as in tp-cp-ep-dp-pp");
    if (std::ranges::find(order, *kind) != order.end()) {
      return bad(text, fmt::format("{} is given twice", name));
    }
    order.push_back(*kind);
  }
  for (std::uint8_t i = 0; i < kGroupKinds; ++i) {
    const auto kind = static_cast<GroupKind>(i);
    if (std::ranges::find(order, kind) == order.end()) order.push_back(kind);
  }
  return order;
}

std::uint32_t least_world(const Parallel& parallel) {
  const std::uint64_t least = std::uint64_t{parallel.tp} * parallel.cp * parallel.pp;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(least, 0xffffffff));
}

Result<Parallel> resolve(const Parallel& parallel, std::uint32_t world) {
  const std::uint32_t least = least_world(parallel);
  if (world == 0 || world % least != 0) {
    return fail(Errc::kInvalidArgument,
                fmt::format("cannot divide {} ranks by {}: not a multiple of {}; change the sizes "
                            "or the number of nodes",
                            world, in_words(parallel), least));
  }
  Parallel resolved = parallel;
  if (parallel.dp == 0) resolved.dp = world / least;
  if (std::uint64_t{least} * resolved.dp != world) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("cannot divide {} ranks by {},dp={}: that makes {}; dp=auto takes the "
                    "rest",
                    world, in_words(parallel), resolved.dp, std::uint64_t{least} * resolved.dp));
  }
  if (std::uint64_t{resolved.dp} * resolved.cp % resolved.ep != 0) {
    return fail(Errc::kInvalidArgument,
                fmt::format("cannot divide by ep={}: dp * cp is {} * {}, not a multiple of it",
                            resolved.ep, resolved.dp, resolved.cp));
  }
  return resolved;
}

}  // namespace robustrun::topo
