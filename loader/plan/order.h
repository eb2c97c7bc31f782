#pragma once
// In which order one source is read in one epoch: position → sample in O(1), each sample once.
// Pure.
//
// Blocks of neighbouring samples are permuted. A window of permuted blocks is then read in an order
// of its own, so that samples far from each other are mixed, while a reader has few blocks open.

#include <cstdint>
#include <vector>

#include "loader/plan/permutation.h"

namespace robustrun::loader {

class Order {
 public:
  // `samples`: of the source; `block`: samples in a block; `window`: blocks in a window. All at
  // least 1.
  Order(std::uint64_t key, std::uint64_t samples, std::uint64_t block, std::uint64_t window);

  // `position` below the number of samples. Quick if the last position was of the same window.
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
  // Samples before the block that is read as number `slot`: all blocks are full but the last one.
  [[nodiscard]] std::uint64_t samples_before(std::uint64_t slot) const;

  std::uint64_t key_;
  std::uint64_t samples_;
  std::uint64_t block_;
  std::uint64_t window_;
  std::uint64_t blocks_;
  Permutation permutation_;  // slot → block
  std::uint64_t short_slot_;  // where the last block is read
  Window last_;  // that a sample was asked of
};

}  // namespace robustrun::loader
