#include "topo/solve/strips.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

#include "topo/solve/blocks.h"

namespace robustrun::topo {
namespace {

struct Strip {
  std::vector<std::uint32_t> switches;
  std::uint64_t room = 0;
};

// Deals out the largest switches in alternating order until `suffices`.
template <class Suffices>
std::optional<std::vector<Strip>> deal(const LevelProblem& problem, std::uint32_t count,
                                       Suffices suffices) {
  std::vector<std::uint32_t> order(problem.switches);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater{},
                           [&](std::uint32_t at) { return problem.capacities[at]; });
  std::vector<Strip> strips(count);
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    const std::uint32_t step = i % count;
    Strip& strip = strips[i / count % 2 == 0 ? step : count - 1 - step];
    strip.switches.push_back(order[i]);
    strip.room += problem.capacities[order[i]];
    if (suffices(strips)) return strips;
  }
  return std::nullopt;
}

// `strip_of`: by place. Fills each strip's switches in the order of the family's groups.
Assignment fill_along(const LevelProblem& problem, const Family& family,
                      const std::vector<Strip>& strips,
                      const std::vector<std::uint32_t>& strip_of) {
  Assignment assignment(problem.places());
  std::vector<std::uint32_t> full(strips.size(), 0);  // by strip: number of full switches
  std::vector<std::uint32_t> room = problem.capacities;
  for (const PlaceIndex place : along(*problem.shape, family).places) {
    const Strip& strip = strips[strip_of[place]];
    std::uint32_t& next = full[strip_of[place]];
    while (room[strip.switches[next]] == 0) ++next;
    assignment[place] = strip.switches[next];
    --room[assignment[place]];
  }
  return assignment;
}

// Number of ranks from one stage to the next.
std::uint32_t stage_stride(const Parallel& parallel) {
  std::uint32_t stride = 1;
  for (const GroupKind kind : parallel.order) {
    if (kind == GroupKind::kPp) return stride;
    if (kind == GroupKind::kTp) stride *= parallel.tp;
    if (kind == GroupKind::kCp) stride *= parallel.cp;
    if (kind == GroupKind::kDp) stride *= parallel.dp;
  }
  RR_ASSERT(false);
}

}  // namespace

Assignment fill_strips(const LevelProblem& problem, std::uint32_t across,
                       std::uint32_t along_family, std::uint32_t count) {
  RR_ASSERT(problem.classes == 1);
  const Shape& shape = *problem.shape;
  const std::uint32_t columns = shape.families[along_family].size;  // a row meets each once
  if (columns < count) return {};
  const std::uint32_t height = (problem.places() + columns - 1) / columns;
  const auto strips = deal(problem, count, [&](const std::vector<Strip>& dealt) {
    std::uint64_t held = 0;
    for (const Strip& one : dealt) held += one.room / height;
    return held >= columns;
  });
  if (!strips) return {};
  std::vector<std::uint32_t> strip_of(problem.places());
  const Blocks by_column = along(shape, shape.families[across]);
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
  return fill_along(problem, shape.families[along_family], *strips, strip_of);
}

Assignment fill_phases(const LevelProblem& problem) {
  const Shape& shape = *problem.shape;
  const auto pp = std::ranges::find(shape.families, GroupKind::kPp, &Family::kind);
  if (problem.classes > 1 || shape.parallel.dp == 0 || pp == shape.families.end()) return {};
  const std::uint32_t slots = shape.slots.front();
  const std::uint32_t stride = stage_stride(shape.parallel);
  const std::uint32_t step = std::gcd(stride, slots);  // phases are its multiples
  const std::uint32_t count = slots / step;
  if (count < 2 || stride < slots) return {};
  std::vector<std::uint32_t> strip_of(problem.places());
  std::vector<std::uint64_t> wanted(count, 0);
  for (PlaceIndex place = 0; place < problem.places(); ++place) {
    strip_of[place] = place * slots % stride % slots / step;
    ++wanted[strip_of[place]];
  }
  const auto strips = deal(problem, count, [&](const std::vector<Strip>& dealt) {
    for (std::uint32_t s = 0; s < count; ++s) {
      if (dealt[s].room < wanted[s]) return false;
    }
    return true;
  });
  return strips ? fill_along(problem, *pp, *strips, strip_of) : Assignment{};
}

}  // namespace robustrun::topo
