#include "topo/solve/bands.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace robustrun::topo {
namespace {

struct Band {
  std::vector<std::uint32_t> switches;
  std::uint32_t height = 0;  // rows
};

struct Cut {
  bool snake = false;    // mix large and small switches instead of equal ones
  bool divided = false;  // a strip may end within a column
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

  // The fewest bands that hold all rows, of the largest switches.
  [[nodiscard]] std::optional<std::vector<Band>> make(std::uint32_t per_band, Cut cut) const {
    const std::uint32_t most = problem_.switches / per_band;
    for (std::uint32_t count = 1; count <= std::min(most, rows_.count()); ++count) {
      if (room_of(count * per_band) < problem_.places()) continue;
      std::vector<Band> bands(count);
      for (std::uint32_t i = 0; i < count * per_band; ++i) {
        const std::uint32_t lap = i / count;
        const std::uint32_t step = i % count;
        const std::uint32_t to = !cut.snake ? i / per_band : lap % 2 == 0 ? step : count - 1 - step;
        bands[to].switches.push_back(largest_first_[i]);
      }
      std::uint32_t height = 0;
      for (Band& band : bands) height += band.height = height_of(band, cut);
      if (height >= rows_.count()) return bands;
    }
    return std::nullopt;
  }

  [[nodiscard]] Assignment fill(const std::vector<Band>& bands, Cut cut) const {
    std::vector<std::uint32_t> switch_of(rows_.count() * columns_.count());  // by cell
    std::vector<std::uint32_t> divided(columns_.count(),
                                       0);  // by column: number of strips that end in it
    std::uint32_t row = 0;
    for (const Band& band : bands) {
      const std::uint32_t height = std::min(band.height, rows_.count() - row);
      if (height == 0) break;
      const std::vector<std::uint32_t> cells = cells_of(band, height, cut);
      const std::uint32_t shift = cut.divided ? best_shift(cells, height, divided) : 0;
      std::uint32_t cell = 0;  // column by column
      for (std::size_t i = 0; i < cells.size(); ++i) {
        for (std::uint32_t end = cell + cells[i]; cell < end; ++cell) {
          const std::uint32_t column = (cell / height + shift) % columns_.count();
          switch_of[(row + cell % height) * columns_.count() + column] = band.switches[i];
        }
        if (cell % height != 0) ++divided[(cell / height + shift) % columns_.count()];
      }
      RR_ASSERT(cell == height * columns_.count());
      row += height;
    }
    Assignment assignment(problem_.places());
    for (PlaceIndex place = 0; place < assignment.size(); ++place) {
      assignment[place] =
          switch_of[rows_.block_of[place] * columns_.count() + columns_.block_of[place]];
    }
    return assignment;
  }

 private:
  // Number of columns of a band that a switch holds.
  [[nodiscard]] std::uint32_t strip(std::uint32_t at, std::uint32_t height) const {
    return height == 0 ? 0 : problem_.capacities[at] / (per_cell_ * height);
  }

  // By switch of the band: its number of cells; the sum is the band's size.
  [[nodiscard]] std::vector<std::uint32_t> cells_of(const Band& band, std::uint32_t height,
                                                    Cut cut) const {
    std::vector<std::uint32_t> cells;
    std::uint32_t left = height * columns_.count();
    for (const std::uint32_t at : band.switches) {
      const std::uint32_t most =
          cut.divided ? problem_.capacities[at] / per_cell_ : strip(at, height) * height;
      cells.push_back(std::min(most, left));
      left -= cells.back();
    }
    return cells;
  }

  // The column at which the band begins, so that columns divided here are whole in the other bands:
  // a column that is divided in two bands touches two more switches.
  [[nodiscard]] std::uint32_t best_shift(const std::vector<std::uint32_t>& cells,
                                         std::uint32_t height,
                                         const std::vector<std::uint32_t>& divided) const {
    constexpr std::uint32_t kTries = 64;
    std::uint32_t best = 0;
    std::uint32_t fewest = 0xffffffff;
    for (std::uint32_t shift = 0; shift < std::min(kTries, columns_.count()); ++shift) {
      std::uint32_t most = 0;
      std::uint32_t end = 0;
      for (const std::uint32_t count : cells) {
        end += count;
        if (end % height == 0) continue;
        most = std::max(most, divided[(end / height + shift) % columns_.count()] + 1);
      }
      if (most >= fewest) continue;
      fewest = most;
      best = shift;
    }
    return best;
  }

  [[nodiscard]] std::uint64_t room_of(std::uint32_t switches) const {
    std::uint64_t room = 0;
    for (std::uint32_t i = 0; i < switches; ++i) room += problem_.capacities[largest_first_[i]];
    return room;
  }

  [[nodiscard]] std::uint32_t height_of(const Band& band, Cut cut) const {
    std::uint64_t room = 0;
    for (const std::uint32_t at : band.switches) room += problem_.capacities[at] / per_cell_;
    auto height =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(room / columns_.count(), rows_.count()));
    for (; height > 0 && !cut.divided; --height) {
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
  for (const Cut cut : {Cut{false, false}, Cut{true, false}, Cut{false, true}, Cut{true, true}}) {
    if (const auto made = bands.make(per_band, cut)) found.push_back(bands.fill(*made, cut));
  }
  return found;
}

}  // namespace robustrun::topo
