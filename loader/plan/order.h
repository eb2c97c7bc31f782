#pragma once
// The order in which one source is read in one epoch: position → sample in O(1), each sample once.
// Pure.
//
// The source is cut into blocks of neighbouring samples, and the blocks are permuted. A window is a
// few consecutive permuted blocks; the samples within a window are permuted again. So samples far
// from each other are mixed, while a reader needs only the blocks of one window.

#include <cstdint>
#include <vector>

#include "loader/plan/permutation.h"

namespace robustrun::loader {

class Order {
 public:
  // `samples`: number of samples of the source. `block`: samples in a block. `window`: blocks in a
  // window. All are at least 1.
  Order(std::uint64_t key, std::uint64_t samples, std::uint64_t block, std::uint64_t window);

  // `position` is below the number of samples. Quick if the last call was for the same window.
  [[nodiscard]] std::uint64_t sample(std::uint64_t position);

 private:
  struct Window {
    std::uint64_t begin = 0;  // positions
    std::uint64_t end = 0;
    std::uint64_t first_slot = 0;
    std::uint64_t end_slot = 0;
    Permutation within{0, 1};
    std::vector<std::uint64_t> blocks;  // by slot; empty if there are many
  };
  [[nodiscard]] Window window_of(std::uint64_t position) const;
  // Number of samples before the block in `slot`. Only the source's last block can have fewer
  // samples.
  [[nodiscard]] std::uint64_t samples_before(std::uint64_t slot) const;

  std::uint64_t key_;
  std::uint64_t samples_;
  std::uint64_t block_;
  std::uint64_t window_;
  std::uint64_t blocks_;
  Permutation permutation_;  // slot → block
  std::uint64_t short_slot_;  // slot of the source's last block
  Window last_;  // window of the last call of sample()
};

}  // namespace robustrun::loader
