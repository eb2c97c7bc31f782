#include "topo/bands.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace robustrun::topo {
namespace {

struct Band {
  std::vector<std::uint32_t> switches;
  std::uint32_t height = 0;  // rows
};

class Bands {
 public:
  Bands(const LevelProblem& problem, const Blocks& rows, const Blocks& columns)
      : problem_(problem),
        rows_(rows),
        columns_(columns),
        per_cell_(problem.places() / (rows.count() * columns.count())),
        largest_first_(problem.switches) {
    std::iota(largest_first_.begin(), largest_first_.end(), 0);
    std::ranges::stable_sort(largest_first_, std::greater{},
                             [&](std::uint32_t at) { return problem.capacities[at]; });
  }

  // The fewest bands that hold all rows; of the largest switches, neighbours in size together, or
  // large ones with small ones.
  [[nodiscard]] std::optional<std::vector<Band>> cut(std::uint32_t per_band, bool snake) const {
    const std::uint32_t most = problem_.switches / per_band;
    for (std::uint32_t count = 1; count <= std::min(most, rows_.count()); ++count) {
      if (room_of(count * per_band) < problem_.places()) continue;
      std::vector<Band> bands(count);
      for (std::uint32_t i = 0; i < count * per_band; ++i) {
        const std::uint32_t lap = i / count;
        const std::uint32_t step = i % count;
        const std::uint32_t to = !snake ? i / per_band : lap % 2 == 0 ? step : count - 1 - step;
        bands[to].switches.push_back(largest_first_[i]);
      }
      std::uint32_t height = 0;
      for (Band& band : bands) height += band.height = height_of(band);
      if (height >= rows_.count()) return bands;
    }
    return std::nullopt;
  }

  [[nodiscard]] Assignment fill(const std::vector<Band>& bands) const {
    std::vector<std::uint32_t> strip_of(rows_.count() * columns_.count());  // by cell: switch
    std::uint32_t row = 0;
    for (const Band& band : bands) {
      const std::uint32_t end = std::min(row + band.height, rows_.count());
      std::uint32_t column = 0;
      for (const std::uint32_t at : band.switches) {
        const std::uint32_t until = std::min(column + strip(at, end - row), columns_.count());
        for (std::uint32_t r = row; r < end; ++r) {
          for (std::uint32_t c = column; c < until; ++c) strip_of[r * columns_.count() + c] = at;
        }
        column = until;
      }
      RR_ASSERT(end == row || column == columns_.count());
      row = end;
    }
    Assignment assignment(problem_.places());
    for (PlaceIndex place = 0; place < assignment.size(); ++place) {
      assignment[place] =
          strip_of[rows_.block_of[place] * columns_.count() + columns_.block_of[place]];
    }
    return assignment;
  }

 private:
  // Columns that a switch takes of a band.
  [[nodiscard]] std::uint32_t strip(std::uint32_t at, std::uint32_t height) const {
    return height == 0 ? 0 : problem_.capacities[at] / (per_cell_ * height);
  }

  [[nodiscard]] std::uint64_t room_of(std::uint32_t switches) const {
    std::uint64_t room = 0;
    for (std::uint32_t i = 0; i < switches; ++i) room += problem_.capacities[largest_first_[i]];
    return room;
  }

  [[nodiscard]] std::uint32_t height_of(const Band& band) const {
    std::uint64_t room = 0;
    for (const std::uint32_t at : band.switches) room += problem_.capacities[at];
    auto height = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        room / (std::uint64_t{per_cell_} * columns_.count()), rows_.count()));
    for (; height > 0; --height) {
      std::uint32_t columns = 0;
      for (const std::uint32_t at : band.switches) columns += strip(at, height);
      if (columns >= columns_.count()) break;
    }
    return height;
  }

  const LevelProblem& problem_;
  const Blocks& rows_;
  const Blocks& columns_;
  std::uint32_t per_cell_;
  std::vector<std::uint32_t> largest_first_;
};

}  // namespace

bool blocks_cross(const Blocks& rows, const Blocks& columns) {
  const std::uint64_t cells = std::uint64_t{rows.count()} * columns.count();
  const std::size_t places = rows.places.size();
  if (rows.count() < 2 || columns.count() < 2 || cells > places || places % cells != 0) {
    return false;
  }
  std::vector<std::uint32_t> met(cells, 0);
  for (PlaceIndex place = 0; place < places; ++place) {
    ++met[std::uint64_t{rows.block_of[place]} * columns.count() + columns.block_of[place]];
  }
  return std::ranges::all_of(met, [&](std::uint32_t count) { return count == places / cells; });
}

std::vector<Assignment> fill_bands(const LevelProblem& problem, const Blocks& rows,
                                   const Blocks& columns, std::uint32_t per_band) {
  RR_ASSERT(problem.classes == 1 && per_band > 0);
  const Bands bands(problem, rows, columns);
  std::vector<Assignment> found;
  for (const bool snake : {false, true}) {
    if (const auto cut = bands.cut(per_band, snake)) found.push_back(bands.fill(*cut));
  }
  return found;
}

}  // namespace robustrun::topo
