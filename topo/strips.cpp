#include "topo/strips.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

#include "topo/blocks.h"

namespace robustrun::topo {
namespace {

struct Strip {
  std::vector<std::uint32_t> switches;
  std::uint64_t room = 0;
};

// The largest switches, dealt out there and back until the strips hold all columns.
std::optional<std::vector<Strip>> deal(const LevelProblem& problem, std::uint32_t count,
                                       std::uint32_t columns) {
  std::vector<std::uint32_t> order(problem.switches);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater{},
                           [&](std::uint32_t at) { return problem.capacities[at]; });
  const std::uint32_t height = (problem.places() + columns - 1) / columns;
  std::vector<Strip> strips(count);
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    const std::uint32_t step = i % count;
    Strip& strip = strips[i / count % 2 == 0 ? step : count - 1 - step];
    strip.switches.push_back(order[i]);
    strip.room += problem.capacities[order[i]];
    std::uint64_t held = 0;
    for (const Strip& one : strips) held += one.room / height;
    if (held >= columns) return strips;
  }
  return std::nullopt;
}

}  // namespace

Assignment fill_strips(const LevelProblem& problem, std::uint32_t across,
                       std::uint32_t along_family, std::uint32_t count) {
  RR_ASSERT(problem.classes == 1);
  const Shape& shape = *problem.shape;
  const std::uint32_t columns = shape.families[along_family].size;  // a row meets each once
  auto strips = columns < count ? std::nullopt : deal(problem, count, columns);
  if (!strips) return {};
  // By place: its strip. Columns follow one another in the order of their groups.
  std::vector<std::uint32_t> strip_of(problem.places());
  const Blocks by_column = along(shape, shape.families[across]);
  const std::uint32_t height = (problem.places() + columns - 1) / columns;
  std::uint32_t column = 0;
  std::uint32_t begin = 0;
  for (std::uint32_t s = 0; s < count; ++s) {
    const auto most = static_cast<std::uint32_t>((*strips)[s].room / height);
    column = std::min(column + most, columns);
    const auto end = static_cast<std::uint32_t>(std::uint64_t{column} * problem.places() / columns);
    for (std::uint32_t i = begin; i < end; ++i) strip_of[by_column.places[i]] = s;
    begin = end;
  }
  RR_ASSERT(begin == problem.places());
  Assignment assignment(problem.places());
  std::vector<std::uint32_t> used(count, 0);  // by strip: its switches that are full
  std::vector<std::uint32_t> room = problem.capacities;
  for (const PlaceIndex place : along(shape, shape.families[along_family]).places) {
    const Strip& strip = (*strips)[strip_of[place]];
    std::uint32_t& next = used[strip_of[place]];
    while (room[strip.switches[next]] == 0) ++next;
    assignment[place] = strip.switches[next];
    --room[assignment[place]];
  }
  return assignment;
}

}  // namespace robustrun::topo
