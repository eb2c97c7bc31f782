#include "topo/solve/bound.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "topo/limits.h"
#include "topo/solve/blocks.h"
#include "topo/solve/crossing.h"

namespace robustrun::topo {
namespace {

constexpr std::uint32_t kNever = 0xffffffff;

// The number of `sizes` (descending) needed to hold `wanted`.
std::uint32_t switches_for(const std::vector<std::uint32_t>& sizes, std::uint64_t wanted) {
  std::uint64_t held = 0;
  for (std::uint32_t i = 0; i < sizes.size(); ++i) {
    held += sizes[i];
    if (held >= wanted) return i + 1;
  }
  return kNever;
}

// The least value over all ways to put `wanted` below the switches.
double sum_of_roots(const std::vector<std::uint32_t>& sizes, std::uint32_t wanted) {
  double roots = 0;
  for (const std::uint32_t size : sizes) {
    const std::uint32_t taken = std::min(size, wanted);
    roots += std::sqrt(static_cast<double>(taken));
    wanted -= taken;
  }
  return roots;
}

// Rounded up; a bound may be too small, never too large.
std::uint32_t whole_number(double bound) {
  constexpr double kRounding = 1e-6;
  return static_cast<std::uint32_t>(std::ceil(bound - kRounding));
}

// Least product of switches per row and switches per column, for a matrix of `wanted` blocks.
std::uint32_t least_product(const std::vector<std::uint32_t>& sizes, std::uint32_t wanted) {
  const double roots = sum_of_roots(sizes, wanted);
  return whole_number(roots * roots / wanted);
}

// Number of blocks that each group of the family meets: the maximum, and whether all agree.
struct Meetings {
  std::uint32_t most = 0;
  bool even = true;
};

Meetings meetings(const Family& family, const Blocks& blocks) {
  Meetings result;
  std::vector<std::uint32_t> seen_in(blocks.count(), 0);
  for (std::uint32_t g = 0; g < family.groups(); ++g) {
    std::uint32_t met = 0;
    for (const PlaceIndex place : family.group(g)) {
      if (std::exchange(seen_in[blocks.block_of[place]], g + 1) != g + 1) ++met;
    }
    result.even = result.even && (g == 0 || met == result.most);
    result.most = std::max(result.most, met);
  }
  return result;
}

// The bound if exactly the families of one set are whole.
class Supposed {
 public:
  Supposed(const LevelProblem& problem, std::uint32_t whole, bool sharp)
      : problem_(problem), whole_(whole), sharp_(sharp), blocks_(blocks_of(*problem.shape, whole)) {
    std::uint32_t smallest = blocks_.size(0);
    for (std::uint32_t b = 1; b < blocks_.count(); ++b) {
      smallest = std::min(smallest, blocks_.size(b));
    }
    even_ = blocks_.even_size() != 0;
    for (const std::uint32_t nodes : problem.totals()) sizes_.push_back(nodes / smallest);
    std::ranges::sort(sizes_, std::greater{});
  }

  std::int64_t cost() const {
    constexpr std::int64_t kImpossible = std::numeric_limits<std::int64_t>::max();
    const std::uint32_t in_use = switches_for(sizes_, blocks_.count());
    if (in_use == kNever) return kImpossible;
    std::int64_t sum = 0;
    std::vector<One> others;
    for (std::uint32_t f = 0; f < problem_.weights.size(); ++f) {
      if ((whole_ >> f & 1U) != 0) continue;
      const Meetings met = meetings(family(f), blocks_);
      const std::uint32_t touched = switches_for(sizes_, met.most);
      if (touched == kNever) return kImpossible;
      const std::uint32_t groups = family(f).groups();
      const std::uint32_t share = covers_all(family(f)) ? (in_use + groups - 1) / groups : 0;
      others.push_back({f, met, std::max({2U, touched, share})});
      sum += problem_.weights[f] * others.back().touched;
    }
    std::int64_t best = sum;
    for (std::size_t i = 0; i < others.size(); ++i) {
      for (std::size_t k = i + 1; k < others.size(); ++k) {
        best = std::max(best, sum + together(others[i], others[k]));
      }
    }
    return best;
  }

 private:
  struct One {
    std::uint32_t family;
    Meetings met;
    std::uint32_t touched;  // lower bound
  };

  [[nodiscard]] const Family& family(std::uint32_t f) const { return problem_.shape->families[f]; }

  // Each used switch is touched by at least one group.
  [[nodiscard]] bool covers_all(const Family& one) const {
    std::vector<bool> seen(problem_.places(), false);
    for (const PlaceIndex place : one.places) seen[place] = true;
    return std::ranges::find(seen, false) == seen.end();
  }

  // The cost of two families together beyond their separate costs.
  [[nodiscard]] std::int64_t together(const One& f, const One& g) const {
    const Matrix matrix = matrix_of(f, g);
    const bool known = matrix.blocks() != 0;
    const std::uint32_t product =
        known ? least_product(sizes_, matrix.blocks()) : product_of_ranks(f.family, g.family);
    const bool sharp = sharp_ && known;
    const std::int64_t wf = problem_.weights[f.family];
    const std::int64_t wg = problem_.weights[g.family];
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    for (std::uint32_t a = f.touched; a <= std::max(f.touched, problem_.switches); ++a) {
      const std::int64_t for_rows = wf * (a - f.touched);
      std::uint32_t b = std::max(g.touched, (product + a - 1) / a);
      while (sharp && b < problem_.switches && for_rows + wg * (b - g.touched) < best &&
             !may_cross(matrix, sizes_, a, b)) {
        ++b;
      }
      best = std::min(best, for_rows + wg * (b - g.touched));
      if (b == g.touched) break;
    }
    return best;
  }

  // Groups that overlap in nodes still cross in ranks: among ranks of one tensor-parallel
  // coordinate, each group of one family meets each of the other in one rank, and every node has at
  // least floor(slots / tp) of these ranks. 1: unknown.
  [[nodiscard]] std::uint32_t product_of_ranks(std::uint32_t f, std::uint32_t g) const {
    const Shape& shape = *problem_.shape;
    const Parallel& parallel = shape.parallel;
    const std::uint64_t ranks = std::uint64_t{parallel.dp} * parallel.cp * parallel.pp;
    const std::uint32_t slots = *std::ranges::min_element(shape.slots);
    const bool cross = family(f).kind == GroupKind::kDp && family(g).kind == GroupKind::kPp;
    if (whole_ != 0 || !cross || ranks == 0 || slots < parallel.tp) return 1;
    const double roots = sum_of_roots(sizes_, shape.places());
    const std::uint32_t in_node = slots / parallel.tp;
    return whole_number(roots * roots * in_node / static_cast<double>(ranks));
  }

  // A matrix of blocks with the groups of both families as rows and columns; empty: they form none.
  [[nodiscard]] Matrix matrix_of(const One& f, const One& g) const {
    if (!even_ || !f.met.even || !g.met.even) return {};
    const std::uint32_t size = blocks_.size(0);
    const Blocks rows = blocks_of(*problem_.shape, whole_ | 1U << f.family);
    const Blocks columns = blocks_of(*problem_.shape, whole_ | 1U << g.family);
    // A row must be one group, not a chain of several.
    if (rows.even_size() != f.met.most * size || columns.even_size() != g.met.most * size)
      return {};
    const Blocks matrices = blocks_of(*problem_.shape, whole_ | 1U << f.family | 1U << g.family);
    const std::uint32_t places = matrices.even_size();
    if (places == 0) return {};
    const std::uint64_t cells =
        (std::uint64_t{places} / rows.even_size()) * (places / columns.even_size());
    if (cells > places / size || places / size % cells != 0) return {};
    const auto per_cell = static_cast<std::uint32_t>(places / cells);
    std::vector<std::uint32_t> met(columns.count(), 0);
    for (std::uint32_t row = 0; row < rows.count(); ++row) {
      const auto in_row = [&](std::uint32_t i) {
        return columns.block_of[rows.places[rows.first[row] + i]];
      };
      for (std::uint32_t i = 0; i < rows.size(row); ++i) ++met[in_row(i)];
      for (std::uint32_t i = 0; i < rows.size(row); ++i) {
        if (met[in_row(i)] != per_cell) return {};
      }
      for (std::uint32_t i = 0; i < rows.size(row); ++i) met[in_row(i)] = 0;
    }
    return {places / rows.even_size(), places / columns.even_size(), per_cell / size};
  }

  const LevelProblem& problem_;
  std::uint32_t whole_;
  bool sharp_;
  Blocks blocks_;
  bool even_ = false;
  std::vector<std::uint32_t> sizes_;  // of the switches, in blocks, descending
};

}  // namespace

std::int64_t lower_bound(const LevelProblem& problem, bool sharp) {
  sharp = sharp && problem.places() <= kCrossingPlacesMax;
  const auto families = static_cast<std::uint32_t>(problem.shape->families.size());
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  for (std::uint32_t whole = 0; whole < 1U << families; ++whole) {
    best = std::min(best, Supposed(problem, whole, sharp).cost());
    if (best == 0) break;
  }
  return best;
}

}  // namespace robustrun::topo
