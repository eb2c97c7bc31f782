#include "supervisor/console/rank_layout.h"

#include <fmt/core.h>

#include <map>

namespace robustrun::supervisor {

namespace {

using topo::GroupKind;

std::uint32_t size_of(const topo::Parallel& parallel, GroupKind kind) {
  switch (kind) {
    case GroupKind::kTp: return parallel.tp;
    case GroupKind::kCp: return parallel.cp;
    case GroupKind::kEp: return 1;  // takes its ranks from dp and cp: no digit of its own
    case GroupKind::kDp: return parallel.dp;
    case GroupKind::kPp: return parallel.pp;
  }
  return 1;
}

// Ranks that agree in every digit but that of `kind`, found by what is left of the rank without it.
void add_groups(const topo::Parallel& parallel, GroupKind kind, std::uint32_t world,
                std::vector<tracer::RankGroup>& groups) {
  std::uint32_t stride = 1;
  for (const GroupKind faster : parallel.order) {
    if (faster == kind) break;
    stride *= size_of(parallel, faster);
  }
  const std::uint32_t size = size_of(parallel, kind);
  std::map<std::uint32_t, std::vector<base::Rank>> by_first;
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    by_first[rank - rank / stride % size * stride].push_back({rank});
  }
  std::size_t number = 0;
  for (auto& [first, ranks] : by_first) {
    groups.push_back({fmt::format("{}_{}", to_string(kind), number++), std::move(ranks)});
  }
}

}  // namespace

std::vector<tracer::RankGroup> rank_layout(const topo::Parallel& parallel, std::uint32_t world) {
  if (topo::least_world(parallel) <= 1) return {};
  const auto resolved = topo::resolve(parallel, world);
  if (!resolved) return {};
  std::vector<tracer::RankGroup> groups;
  for (const GroupKind kind : resolved->order) {
    if (size_of(*resolved, kind) > 1) add_groups(*resolved, kind, world, groups);
  }
  return groups;
}

}  // namespace robustrun::supervisor
