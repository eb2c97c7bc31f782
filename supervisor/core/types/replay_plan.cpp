#include "supervisor/core/types/replay_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

namespace robustrun::supervisor {
namespace {

std::set<Machine> members_of(const std::vector<ReplayGroup>& groups,
                             std::span<const std::size_t> which) {
  std::set<Machine> all;
  for (const std::size_t number : which) {
    all.insert(groups[number].members.begin(), groups[number].members.end());
  }
  return all;
}

// Suspects that are the only one in a failing group.
void note_certain(const std::vector<ReplayGroup>& groups, std::span<const std::size_t> failed,
                  const std::set<Machine>& suspects, std::set<Machine>& certain) {
  for (const std::size_t number : failed) {
    std::vector<Machine> here;
    std::ranges::copy_if(groups[number].members, std::back_inserter(here),
                         [&](Machine machine) { return suspects.contains(machine); });
    if (here.size() == 1) certain.insert(here.front());
  }
}

std::vector<Machine> in_order(const std::set<Machine>& machines) {
  return {machines.begin(), machines.end()};
}

}  // namespace

Obstacle replay_obstacle(std::uint32_t machines, std::uint32_t unit) {
  RR_ASSERT(unit >= 1);
  const std::uint64_t needed = std::max<std::uint64_t>(2, std::uint64_t{unit} * unit);
  if (machines >= needed) return {};
  return {Obstacle::Kind::kTooFewToReplay, machines, needed, unit};
}

base::Result<ReplayShape> replay_shape(std::uint32_t machines, std::uint32_t unit) {
  if (const Obstacle obstacle = replay_obstacle(machines, unit)) {
    return base::fail(base::Errc::kInvalidArgument, in_words(obstacle));
  }
  const auto squared = [](std::uint64_t side) { return side * side; };
  std::uint32_t m = unit;
  while (squared(m + unit) <= machines) m += unit;
  return ReplayShape{m, (machines + m - 1) / m};
}

std::vector<ReplayGroup> replay_groups(ReplayShape shape, std::uint32_t machines,
                                       ReplayPhase phase) {
  RR_ASSERT(shape.m >= 1 && shape.m <= shape.n);
  std::vector<ReplayGroup> groups(shape.n);
  for (Machine x = 0; x < machines; ++x) {
    groups[phase == ReplayPhase::kHorizontal ? x / shape.m : x % shape.n].members.push_back(x);
  }
  return groups;
}

bool fill_group(std::vector<ReplayGroup>& groups, std::size_t which,
                std::span<const std::uint8_t> passed, ReplayShape shape) {
  RR_ASSERT(which < groups.size() && passed.size() == groups.size());
  ReplayGroup& group = groups[which];
  group.helpers.clear();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (i == which || passed[i] == 0) continue;
    for (const Machine machine : groups[i].members) {
      if (group.members.size() + group.helpers.size() >= shape.m) return true;
      group.helpers.push_back(machine);
    }
  }
  return group.members.size() + group.helpers.size() >= shape.m;
}

ReplayVerdict intersect(const std::vector<ReplayGroup>& horizontal,
                        const std::vector<ReplayGroup>& vertical,
                        std::span<const std::size_t> failed_horizontal,
                        std::span<const std::size_t> failed_vertical) {
  using Kind = ReplayVerdict::Kind;
  if (failed_horizontal.empty() && failed_vertical.empty()) return {};
  const std::set<Machine> across = members_of(horizontal, failed_horizontal);
  const std::set<Machine> down = members_of(vertical, failed_vertical);
  std::set<Machine> either = across;
  either.insert(down.begin(), down.end());
  if (across.empty() || down.empty()) return {Kind::kOnePhase, in_order(either), {}};
  std::set<Machine> shared;
  std::ranges::set_intersection(across, down, std::inserter(shared, shared.end()));
  if (shared.empty()) return {Kind::kNothingShared, in_order(either), {}};
  std::set<Machine> certain;
  note_certain(horizontal, failed_horizontal, shared, certain);
  note_certain(vertical, failed_vertical, shared, certain);
  return {shared.size() == 1 ? Kind::kOne : Kind::kSeveral, in_order(shared), in_order(certain)};
}

}  // namespace robustrun::supervisor
