#pragma once
// Decides which source the next sample comes from, so that the sources' numbers of samples follow
// the weights at every moment, not only on average. Pure.
//
// Tijdeman's rule ("The chairman assignment problem", Discrete Mathematics 32, 1980): of the
// sources that are due, takes the one whose deadline is nearest. With k sources and constant
// weights, the number of samples drawn from a source differs from its share of all draws by at most
// 1 - 1/(2k-2). While weights change, the difference can be a little larger.

#include <cstdint>
#include <span>
#include <vector>

namespace robustrun::loader {

class Mixture {
 public:
  // The unit of `owed`: kOne stands for one sample.
  static constexpr std::int64_t kOne = std::int64_t{1} << 40U;

  // `owed`: for each source, its share of all earlier draws minus its samples drawn; the sum is 0.
  explicit Mixture(std::vector<std::int64_t> owed) : owed_(std::move(owed)), share_(owed_.size()) {}

  // Sets the weights from now on, one per source; their sum is above 0. A source with weight 0 is
  // not drawn.
  void set_weights(std::span<const std::uint64_t> weights);
  // Returns the next sample's source. Weights must have been set.
  std::uint32_t draw();
  // Undoes the last draw(), which gave `source`.
  void take_back(std::uint32_t source);

  [[nodiscard]] const std::vector<std::int64_t>& owed() const { return owed_; }

 private:
  std::vector<std::int64_t> owed_;
  std::vector<std::int64_t> share_;  // by source: what each draw adds to owed_; the sum is kOne
  std::int64_t slack_ = 0;  // a source is due if it is owed at least this; 0: no weights yet
};

}  // namespace robustrun::loader
