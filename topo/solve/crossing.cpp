#include "topo/solve/crossing.h"

#include <algorithm>

namespace robustrun::topo {
namespace {

class Relaxation {
 public:
  Relaxation(const Matrix& matrix, const std::vector<std::uint32_t>& sizes, std::uint32_t per_row,
             std::uint32_t per_column)
      : matrix_(matrix),
        sizes_(sizes),
        row_touches_(static_cast<double>(per_row) * matrix.rows),
        column_touches_(static_cast<double>(per_column) * matrix.columns) {}

  // The sum is convex in the prices, so a ternary search in each finds nearly its least value.
  [[nodiscard]] double least() const {
    return search(static_cast<double>(matrix_.columns * matrix_.per_cell), [this](double row) {
      return search(static_cast<double>(matrix_.rows * matrix_.per_cell),
                    [&](double column) { return most_held(row, column); });
    });
  }

 private:
  template <class Value>
  static double search(double high, Value value) {
    constexpr int kSteps = 14;
    double low = 0;
    double least = std::min(value(low), value(high));
    for (int step = 0; step < kSteps; ++step) {
      const double third = (high - low) / 3;
      const double left = value(low + third);
      const double right = value(high - third);
      least = std::min({least, left, right});
      (left < right ? high : low) = left < right ? high - third : low + third;
    }
    return least;
  }

  [[nodiscard]] double most_held(double row_price, double column_price) const {
    double sum = row_price * row_touches_ + column_price * column_touches_;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      if (i > 0 && sizes_[i] == sizes_[i - 1]) {
        sum += newest_;
        continue;
      }
      newest_ = most_of_one(sizes_[i], row_price, column_price);
      sum += newest_;
    }
    return sum;
  }

  // For a number of rows, tries the number of columns that fill the switch, and one less: in
  // between, the held amount grows evenly.
  [[nodiscard]] double most_of_one(std::uint32_t size, double row_price,
                                   double column_price) const {
    double most = 0;
    for (std::uint32_t x = 1; x <= std::min(matrix_.rows, size); ++x) {
      const std::uint32_t in_column = x * matrix_.per_cell;
      const std::uint32_t full = std::min(size / in_column, matrix_.columns);
      for (const std::uint32_t y : {full, std::min(full + 1, matrix_.columns)}) {
        const double held = std::min(size, in_column * y);
        most = std::max(most, held - row_price * x - column_price * y);
      }
    }
    return most;
  }

  const Matrix& matrix_;
  const std::vector<std::uint32_t>& sizes_;
  double row_touches_;
  double column_touches_;
  mutable double newest_ = 0;
};

}  // namespace

bool may_cross(const Matrix& matrix, const std::vector<std::uint32_t>& sizes, std::uint32_t per_row,
               std::uint32_t per_column) {
  constexpr double kRounding = 1e-6;
  const Relaxation relaxation(matrix, sizes, per_row, per_column);
  return relaxation.least() > matrix.blocks() - 1 + kRounding;
}

}  // namespace robustrun::topo
