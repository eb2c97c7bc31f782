#include "topo/solve/matching.h"

#include <algorithm>
#include <bit>

#include "base/core/result.h"

namespace robustrun::topo {
namespace {

class Enlarger {
 public:
  Enlarger(Matching& matching, const BitRows& edges)
      : matching_(matching), edges_(edges), layer_(matching.right_of.size()) {}

  // False: no augmenting path exists, the matching is maximum.
  bool phase() {
    if (!layer_lefts()) return false;
    fresh_.assign((layer_.size() + 63) / 64, ~std::uint64_t{0});
    for (std::uint32_t left = 0; left < layer_.size(); ++left) {
      if (matching_.right_of[left] == kUnmatched) follow(left);
    }
    return true;
  }

 private:
  static constexpr std::uint32_t kFar = 0xffffffff;

  // Numbers the lefts by their distance from unmatched lefts, up to the nearest free right. False:
  // no free right can be reached.
  bool layer_lefts() {
    std::ranges::fill(layer_, kFar);
    std::vector<std::uint32_t> now;
    for (std::uint32_t left = 0; left < layer_.size(); ++left) {
      if (matching_.right_of[left] != kUnmatched) continue;
      layer_[left] = 0;
      now.push_back(left);
    }
    fresh_.assign((layer_.size() + 63) / 64, ~std::uint64_t{0});
    last_ = kFar;
    for (std::uint32_t depth = 0; !now.empty() && last_ == kFar; ++depth) {
      std::vector<std::uint32_t> next;
      for (const std::uint32_t left : now) {
        each_fresh(left, [&](std::uint32_t right) {
          const std::uint32_t behind = matching_.left_of[right];
          if (behind == kUnmatched) {
            last_ = depth;
          } else if (layer_[behind] == kFar) {
            layer_[behind] = depth + 1;
            next.push_back(behind);
          }
          return false;
        });
      }
      now = std::move(next);
    }
    return last_ != kFar;
  }

  // Searches from `root` down the layers for a free right; then flips the path. Iterative: paths
  // may be as long as there are places.
  void follow(std::uint32_t root) {
    std::vector<std::uint32_t> lefts = {root};
    std::vector<std::uint32_t> rights;  // the right taken from each of `lefts`
    while (!lefts.empty()) {
      const std::uint32_t left = lefts.back();
      const std::uint32_t right = step_from(left);
      if (right == kUnmatched) {  // dead end
        layer_[left] = kFar;
        lefts.pop_back();
        if (!rights.empty()) rights.pop_back();
        continue;
      }
      rights.push_back(right);
      if (matching_.left_of[right] == kUnmatched) break;
      lefts.push_back(matching_.left_of[right]);
    }
    for (std::size_t i = lefts.size(); i-- > 0;) matching_.join(lefts[i], rights[i]);
  }

  // A right that was not tried in this phase, and that is free or leads one layer down; marks it as
  // tried.
  std::uint32_t step_from(std::uint32_t left) {
    std::uint32_t found = kUnmatched;
    const std::uint32_t depth = layer_[left];
    each_in(left, [&](std::uint32_t right) {
      const std::uint32_t behind = matching_.left_of[right];
      const bool leads = behind == kUnmatched ? depth == last_ : layer_[behind] == depth + 1;
      if (leads) found = right;
      return leads;
    });
    if (found != kUnmatched) fresh_[found / 64] &= ~(std::uint64_t{1} << (found % 64));
    return found;
  }

  // Calls `what` for each fresh right of `left` until it returns true; each_fresh removes them.
  template <class What>
  void each_in(std::uint32_t left, What what) {
    const auto row = edges_.row(left);
    for (std::size_t w = 0; w < row.size(); ++w) {
      for (std::uint64_t bits = row[w] & fresh_[w]; bits != 0; bits &= bits - 1) {
        if (what(static_cast<std::uint32_t>(w * 64) +
                 static_cast<std::uint32_t>(std::countr_zero(bits)))) {
          return;
        }
      }
    }
  }
  template <class What>
  void each_fresh(std::uint32_t left, What what) {
    each_in(left, what);
    const auto row = edges_.row(left);
    for (std::size_t w = 0; w < row.size(); ++w) fresh_[w] &= ~row[w];
  }

  Matching& matching_;
  const BitRows& edges_;
  std::vector<std::uint32_t> layer_;  // by left
  std::vector<std::uint64_t> fresh_;  // rights not yet tried in this phase
  std::uint32_t last_ = kFar;  // the layer of the lefts with free rights
};

}  // namespace

bool Matching::is_complete() const {
  return std::ranges::find(right_of, kUnmatched) == right_of.end();
}

void enlarge(Matching& matching, const BitRows& edges) {
  RR_ASSERT(matching.right_of.size() == matching.left_of.size());
  Enlarger enlarger(matching, edges);
  while (enlarger.phase()) {
  }
}

}  // namespace robustrun::topo
