#include "topo/solve/level_solver.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/core/text.h"
#include "topo/limits.h"
#include "topo/solve/bands.h"
#include "topo/solve/blocks.h"
#include "topo/solve/bound.h"
#include "topo/solve/exact.h"
#include "topo/solve/fill.h"
#include "topo/solve/improve.h"
#include "topo/solve/strips.h"

namespace robustrun::topo {
namespace {

// Blocks of one set of families.
struct Way {
  std::uint32_t families = 0;
  bool overlap = false;  // the groups form a chain, so no block stays whole
  Blocks blocks;
};

class LevelSolver {
 public:
  explicit LevelSolver(const LevelProblem& problem) : problem_(problem) {
    best_.bound = lower_bound(problem, false);
  }

  LevelSolution run(bool thorough) {
    make_ways();
    for (const Way& way : ways_) try_fillings(way);
    if (!thorough) return std::move(best_);
    if (!is_best()) try_bands();
    if (!is_best()) best_.bound = std::max(best_.bound, lower_bound(problem_, true));
    if (!is_best()) try_strips();
    if (!is_best()) try_strides();
    if (!is_best()) try_exchange();
    if (!is_best()) try_all();
    return std::move(best_);
  }

 private:
  [[nodiscard]] bool is_best() const { return best_.cost.worst <= best_.bound; }

  // Skips sets of families with the same blocks as another set.
  void make_ways() {
    const auto count = static_cast<std::uint32_t>(problem_.shape->families.size());
    for (std::uint32_t families = 0; families < 1U << count; ++families) {
      Way way{families, false, blocks_of(*problem_.shape, families)};
      const bool known = std::ranges::any_of(
          ways_, [&](const Way& other) { return other.blocks.block_of == way.blocks.block_of; });
      if (!known) ways_.push_back(std::move(way));
    }
    for (std::uint32_t f = 0; f < count; ++f) {
      if (blocks_of(*problem_.shape, 1U << f).even_size() % problem_.places() != 0) continue;
      ways_.push_back({1U << f, true, along(*problem_.shape, problem_.shape->families[f])});
    }
  }

  void try_fillings(const Way& way) {
    const std::string kinds = in_words(way.families);
    const bool single = way.blocks.count() == problem_.places();
    if (!single) {
      consider(fill_whole(problem_, way.blocks),
               [&] { return kinds + " groups kept whole, switches filled one after another"; });
    }
    consider(fill_packed(problem_, way.blocks, 1),
             [&] { return side_by_side(way) + "the fewest switches, filled one after another"; });
  }

  void try_strides() {
    for (const Way& way : ways_) {
      for (std::uint32_t stride = 2; stride < std::min(problem_.switches, kStridesMax); ++stride) {
        Assignment filled = fill_packed(problem_, way.blocks, stride);
        if (filled.empty()) continue;
        consider(std::move(filled),
                 [&] { return side_by_side(way) + "large and small switches mixed"; });
      }
    }
  }

  template <class How>
  void consider(Assignment assignment, How how) {
    const Cost cost = cost_of(problem_, assignment);
    if (!best_.assignment.empty() && cost >= best_.cost) return;
    best_.assignment = std::move(assignment);
    best_.cost = cost;
    best_.how = how();
  }

  void try_bands() {
    if (problem_.classes > 1) return;
    for (const Way& rows : ways_) {
      for (const Way& columns : ways_) {
        if (rows.overlap || columns.overlap) continue;
        if (!blocks_cross(rows.blocks, columns.blocks)) continue;
        for (std::uint32_t per_band = 2; per_band <= problem_.switches; ++per_band) {
          if (lightest(rows.families) * per_band >= best_.cost.worst) break;
          for (Assignment& bands : fill_bands(problem_, rows.blocks, columns.blocks, per_band)) {
            consider(std::move(bands), [&] {
              return fmt::format("bands of {} groups over {} switches each",
                                 in_words(rows.families), per_band);
            });
          }
        }
      }
    }
  }

  void try_strips() {
    if (problem_.classes > 1) return;
    if (Assignment filled = fill_phases(problem_); !filled.empty()) {
      consider(std::move(filled),
               [] { return "stages that begin at the same slot together, along the pipelines"; });
    }
    const auto families = static_cast<std::uint32_t>(problem_.weights.size());
    for (std::uint32_t across = 0; across < families; ++across) {
      for (std::uint32_t along = 0; along < families; ++along) {
        if (along == across) continue;
        for (std::uint32_t strips = 2; strips < problem_.switches; ++strips) {
          if (problem_.weights[along] * strips >= best_.cost.worst) break;
          Assignment filled = fill_strips(problem_, across, along, strips);
          if (filled.empty()) continue;
          consider(std::move(filled), [&] {
            return fmt::format("{} strips across {} groups, switches filled along each", strips,
                               in_words(1U << along));
          });
        }
      }
    }
  }

  void try_exchange() {
    if (problem_.places() > kExchangePlacesMax) return;
    const std::uint64_t steps =
        std::min(kExchangeStepsMax, kExchangeStepsPerPlace * problem_.places());
    const std::string before = best_.how;
    consider(improve(problem_, best_.assignment, best_.bound, steps),
             [&] { return before + ", then improved by exchange"; });
  }

  void try_all() {
    if (problem_.places() > kExactPlacesMax) return;
    Exact exact = search_exact(problem_, best_.assignment, best_.bound, kExactStepsMax);
    consider(std::move(exact.assignment), [] { return std::string("all placements searched"); });
    if (!exact.proven) return;
    best_.searched = true;
    best_.bound = best_.cost.worst;
  }

  // The least cost per switch of a divided group of these families.
  [[nodiscard]] std::int64_t lightest(std::uint32_t families) const {
    std::int64_t weight = 0;
    for (std::uint32_t f = 0; f < problem_.weights.size(); ++f) {
      if ((families >> f & 1U) == 0) continue;
      weight = weight == 0 ? problem_.weights[f] : std::min(weight, problem_.weights[f]);
    }
    return weight;
  }

  [[nodiscard]] std::string side_by_side(const Way& way) const {
    return way.families == 0 ? "" : in_words(way.families) + " groups side by side, ";
  }

  [[nodiscard]] std::string in_words(std::uint32_t families) const {
    std::vector<std::string> names;
    for (std::uint32_t f = 0; f < problem_.weights.size(); ++f) {
      if ((families >> f & 1U) != 0) {
        names.emplace_back(to_string(problem_.shape->families[f].kind));
      }
    }
    return base::join(names, " and ");
  }

  const LevelProblem& problem_;
  std::vector<Way> ways_;
  LevelSolution best_;
};

}  // namespace

LevelSolution solve_level(const LevelProblem& problem, bool thorough) {
  return LevelSolver(problem).run(thorough);
}

}  // namespace robustrun::topo
