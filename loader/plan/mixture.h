#pragma once
// Which source the next sample comes from, so that counts follow the weights at every moment, not
// only on average. Pure.
//
// Tijdeman's rule ("The chairman assignment problem", Discrete Mathematics 32, 1980): of the
// sources that are due, the one whose deadline is nearest. For k sources with constant weights,
// what a source was given differs from what it was owed by at most 1 - 1/(2k-2) samples. The rule
// assumes that the current weights stay; while they change, the difference can be a little larger.

#include <cstdint>
#include <span>
#include <vector>

namespace robustrun::loader {

class Mixture {
 public:
  // One sample in the integers of `owed`.
  static constexpr std::int64_t kOne = std::int64_t{1} << 40U;

  // What each source was owed minus what it was given, in 1/kOne samples; the sum is 0.
  explicit Mixture(std::vector<std::int64_t> owed) : owed_(std::move(owed)), share_(owed_.size()) {}

  // The weights from now on, one per source; their sum is above 0. A weight of 0 draws nothing
  // more.
  void set_weights(std::span<const std::uint64_t> weights);
  // The next sample's source. Weights must have been set.
  std::uint32_t draw();
  // Undoes the last draw(), which gave `source`.
  void take_back(std::uint32_t source);

  [[nodiscard]] const std::vector<std::int64_t>& owed() const { return owed_; }

 private:
  std::vector<std::int64_t> owed_;
  std::vector<std::int64_t> share_;  // by source: what each draw adds to owed_; the sum is kOne
  std::int64_t slack_ = 0;  // a source that is owed less is not due; 0: no weights yet
};

}  // namespace robustrun::loader
