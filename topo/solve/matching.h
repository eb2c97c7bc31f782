#pragma once
// Maximum bipartite matching. Pure.
//
// The algorithm of Hopcroft and Karp (SIAM J. Comput. 2, 1973), which works in phases along
// shortest augmenting paths that do not touch each other. It enlarges an existing matching: a
// matched vertex stays matched, perhaps with another partner. Rows of bits process 64 edges at a
// time.

#include <cstdint>
#include <vector>

#include "topo/solve/bit_rows.h"

namespace robustrun::topo {

constexpr std::uint32_t kUnmatched = 0xffffffff;

struct Matching {
  std::vector<std::uint32_t> right_of;  // by left vertex: its partner; kUnmatched: none
  std::vector<std::uint32_t> left_of;   // by right vertex: its partner
  explicit Matching(std::size_t size) : right_of(size, kUnmatched), left_of(size, kUnmatched) {}

  void join(std::uint32_t left, std::uint32_t right) {
    right_of[left] = right;
    left_of[right] = left;
  }
  [[nodiscard]] bool is_complete() const;
};

// Makes the matching maximum. `edges`: by left vertex, its possible partners. Existing partners in
// `matching` need no edge. O(sqrt(n) * n * n / 64).
void enlarge(Matching& matching, const BitRows& edges);

}  // namespace robustrun::topo
