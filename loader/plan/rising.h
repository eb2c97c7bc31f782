#pragma once
// A multiset of numbers, for best-fit packing: takes the least number that is large enough. The
// numbers lie in short sorted arrays, which is quicker than a balanced tree: add() and take() cost
// binary searches and a move of at most kArrayMax numbers (and, rarely, of the list of arrays).
// Pure.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace robustrun::loader {

class Rising {
 public:
  void add(std::uint64_t number) {
    if (arrays_.empty()) {
      arrays_.push_back({number});
      return;
    }
    std::size_t at = array_of(number);
    if (at == arrays_.size()) --at;
    if (arrays_[at].size() == kArrayMax) {
      split(at);
      if (number > arrays_[at].back()) ++at;
    }
    auto& array = arrays_[at];
    array.insert(std::ranges::lower_bound(array, number), number);
  }

  // Removes and returns the least number that is not below `least`.
  std::optional<std::uint64_t> take(std::uint64_t least) {
    const std::size_t at = array_of(least);
    if (at == arrays_.size()) return std::nullopt;
    auto& array = arrays_[at];
    const auto found = std::ranges::lower_bound(array, least);
    const std::uint64_t number = *found;
    array.erase(found);
    if (array.empty()) arrays_.erase(arrays_.begin() + static_cast<std::ptrdiff_t>(at));
    return number;
  }

 private:
  using Array = std::vector<std::uint64_t>;
  static constexpr std::size_t kArrayMax = 256;

  // Index of the first array whose last number is not below `number`.
  [[nodiscard]] std::size_t array_of(std::uint64_t number) const {
    const auto found = std::ranges::lower_bound(arrays_, number, {},
                                                [](const Array& array) { return array.back(); });
    return static_cast<std::size_t>(found - arrays_.begin());
  }

  void split(std::size_t at) {
    const auto middle = arrays_[at].begin() + static_cast<std::ptrdiff_t>(kArrayMax / 2);
    Array later(middle, arrays_[at].end());
    arrays_[at].erase(middle, arrays_[at].end());
    arrays_.insert(arrays_.begin() + static_cast<std::ptrdiff_t>(at) + 1, std::move(later));
  }

  std::vector<Array> arrays_;  // none is empty
};

}  // namespace robustrun::loader
