#pragma once
// Pairs as many as possible of one side with one of the other side each. Pure.
//
// Hopcroft and Karp (SIAM J. Comput. 2, 1973): in phases, along shortest alternating paths that do
// not touch each other. A matching that is there already is enlarged; whoever has a partner keeps
// one, and the shortest paths change the fewest partners. Rows of bits take 64 edges at a time.

#include <cstdint>
#include <vector>

#include "topo/solve/bit_rows.h"

namespace robustrun::topo {

constexpr std::uint32_t kUnmatched = 0xffffffff;

struct Matching {
  std::vector<std::uint32_t> right_of;  // by left; kUnmatched: nobody
  std::vector<std::uint32_t> left_of;   // by right
  explicit Matching(std::size_t size) : right_of(size, kUnmatched), left_of(size, kUnmatched) {}

  void join(std::uint32_t left, std::uint32_t right) {
    right_of[left] = right;
    left_of[right] = left;
  }
  [[nodiscard]] bool is_complete() const;
};

// `edges`: by left, whom it may have. Partners that `matching` has already need no edge.
// O(sqrt(n) * n * n / 64).
void enlarge(Matching& matching, const BitRows& edges);

}  // namespace robustrun::topo
