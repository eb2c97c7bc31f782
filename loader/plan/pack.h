#pragma once
// Documents into bins of equal capacity. Pure.

#include <cstdint>
#include <span>
#include <vector>

namespace robustrun::loader {

// Where each piece lies: an index into the bins, or kLeft if it fits in none.
inline constexpr std::uint32_t kLeft = 0xFFFFFFFFU;
using Packing = std::vector<std::uint32_t>;

// Takes the pieces in the given order, each into the current bin or the next one. The first piece
// for which no bin remains is left out, and so are all after it. Lengths are between 1 and
// `capacity`.
[[nodiscard]] Packing next_fit(std::span<const std::uint32_t> lengths, std::uint32_t capacity,
                               std::uint32_t bins);

// Takes the pieces in the given order, each into the fullest bin that has room (best-fit).
[[nodiscard]] Packing best_fit_in_order(std::span<const std::uint32_t> lengths,
                                        std::uint32_t capacity, std::uint32_t bins);

// As best_fit_in_order(), but the longest piece first (best-fit decreasing), and the first `urgent`
// pieces before all others.
[[nodiscard]] Packing best_fit(std::span<const std::uint32_t> lengths, std::uint32_t capacity,
                               std::uint32_t bins, std::size_t urgent = 0);

// Takes the costliest piece first, each into the cheapest bin that has room (LPT under a cap on
// tokens); again the first `urgent` pieces before all others. This evens the cost of bins at the
// price of more padding.
[[nodiscard]] Packing even_cost(std::span<const std::uint32_t> lengths,
                                std::span<const std::uint64_t> costs, std::uint32_t capacity,
                                std::uint32_t bins, std::size_t urgent = 0);

}  // namespace robustrun::loader
