#pragma once
// Packs pieces (documents or parts of them) into bins of equal capacity. Lengths and capacity are
// in tokens. Pure.

#include <cstdint>
#include <span>
#include <vector>

namespace robustrun::loader {

inline constexpr std::uint32_t kLeft = 0xFFFFFFFFU;  // the piece is in no bin
// For each piece, the index of its bin, or kLeft.
using Packing = std::vector<std::uint32_t>;

// Takes the pieces in the given order, each into the current bin or the next one. The first piece
// for which no bin remains is left out, and so are all pieces after it. Here and below, lengths are
// between 1 and `capacity`.
[[nodiscard]] Packing next_fit(std::span<const std::uint32_t> lengths, std::uint32_t capacity,
                               std::uint32_t bins);

// Takes the pieces in the given order, each into the fullest bin that has room (best-fit). Leaves
// out pieces for which no bin has room.
[[nodiscard]] Packing best_fit_in_order(std::span<const std::uint32_t> lengths,
                                        std::uint32_t capacity, std::uint32_t bins);

// As best_fit_in_order(), but takes the first `urgent` pieces before all others, and of each of
// these two sets the longest piece first (best-fit decreasing).
[[nodiscard]] Packing best_fit(std::span<const std::uint32_t> lengths, std::uint32_t capacity,
                               std::uint32_t bins, std::size_t urgent = 0);

// As best_fit(), but takes the costliest piece first, and puts each into the cheapest bin that has
// room (LPT with a limit on tokens). The bins' costs are nearly equal, but there is more padding.
[[nodiscard]] Packing even_cost(std::span<const std::uint32_t> lengths,
                                std::span<const std::uint64_t> costs, std::uint32_t capacity,
                                std::uint32_t bins, std::size_t urgent = 0);

}  // namespace robustrun::loader
