#include "loader/plan/permutation.h"

#include <bit>

#include "base/core/result.h"

namespace robustrun::loader {
namespace {

constexpr unsigned kRounds = 4;

unsigned half_bits_for(std::uint64_t size) {
  const auto bits = static_cast<unsigned>(std::bit_width(size - 1));
  return bits < 2 ? 1 : (bits + 1) / 2;
}

}  // namespace

std::uint64_t mixed_key(std::uint64_t key, std::uint64_t number) {
  std::uint64_t mixed = key + 0x9E3779B97F4A7C15U * (number + 1);
  mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9U;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBU;
  return mixed ^ (mixed >> 31U);
}

Permutation::Permutation(std::uint64_t key, std::uint64_t size)
    : key_(key),
      size_(size),
      half_bits_(half_bits_for(size)),
      half_mask_((std::uint64_t{1} << half_bits_) - 1) {
  RR_ASSERT(size >= 1);
}

std::uint64_t Permutation::round(std::uint64_t half, unsigned number) const {
  return mixed_key(key_ ^ half, number) & half_mask_;
}

std::uint64_t Permutation::at(std::uint64_t index) const {
  RR_ASSERT(index < size_);
  do {
    std::uint64_t left = index >> half_bits_;
    std::uint64_t right = index & half_mask_;
    for (unsigned number = 0; number < kRounds; ++number) {
      const std::uint64_t next = left ^ round(right, number);
      left = right;
      right = next;
    }
    index = (left << half_bits_) | right;
  } while (index >= size_);
  return index;
}

std::uint64_t Permutation::inverse(std::uint64_t value) const {
  RR_ASSERT(value < size_);
  do {
    std::uint64_t left = value >> half_bits_;
    std::uint64_t right = value & half_mask_;
    for (unsigned number = kRounds; number-- > 0;) {
      const std::uint64_t before = right ^ round(left, number);
      right = left;
      left = before;
    }
    value = (left << half_bits_) | right;
  } while (value >= size_);
  return value;
}

}  // namespace robustrun::loader
