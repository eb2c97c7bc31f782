#include "topo/solve/blocks.h"

#include <numeric>

namespace robustrun::topo {
namespace {

// Disjoint sets; the smallest member represents each.
class Sets {
 public:
  explicit Sets(std::uint32_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  std::uint32_t find(std::uint32_t one) {
    while (parent_[one] != one) one = parent_[one] = parent_[parent_[one]];
    return one;
  }
  void join(std::uint32_t a, std::uint32_t b) {
    a = find(a);
    b = find(b);
    if (a < b) {
      parent_[b] = a;
    } else {
      parent_[a] = b;
    }
  }

 private:
  std::vector<std::uint32_t> parent_;
};

}  // namespace

std::uint32_t Blocks::even_size() const {
  for (std::uint32_t block = 1; block < count(); ++block) {
    if (size(block) != size(0)) return 0;
  }
  return size(0);
}

Blocks blocks_of(const Shape& shape, std::uint32_t families) {
  Sets sets(shape.places());
  for (std::uint32_t f = 0; f < shape.families.size(); ++f) {
    if ((families >> f & 1U) == 0) continue;
    const Family& family = shape.families[f];
    for (std::uint32_t g = 0; g < family.groups(); ++g) {
      const auto group = family.group(g);
      for (const PlaceIndex place : group.subspan(1)) sets.join(group.front(), place);
    }
  }
  Blocks blocks;
  blocks.block_of.resize(shape.places());
  std::vector<std::uint32_t> number(shape.places());
  std::vector<std::uint32_t> sizes;
  for (PlaceIndex place = 0; place < shape.places(); ++place) {
    const std::uint32_t head = sets.find(place);
    if (head == place) {
      number[place] = static_cast<std::uint32_t>(sizes.size());
      sizes.push_back(0);
    }
    blocks.block_of[place] = number[head];
    ++sizes[number[head]];
  }
  blocks.first.push_back(0);
  for (const std::uint32_t size : sizes) blocks.first.push_back(blocks.first.back() + size);
  blocks.places.resize(shape.places());
  std::vector<std::uint32_t> next(blocks.first.begin(), blocks.first.end() - 1);
  for (PlaceIndex place = 0; place < shape.places(); ++place) {
    blocks.places[next[blocks.block_of[place]]++] = place;
  }
  return blocks;
}

Blocks along(const Shape& shape, const Family& family) {
  constexpr std::uint32_t kNone = 0xffffffff;
  Blocks blocks;
  blocks.block_of.assign(shape.places(), kNone);
  const auto append = [&](PlaceIndex place) {
    if (blocks.block_of[place] != kNone) return;
    blocks.block_of[place] = static_cast<std::uint32_t>(blocks.places.size());
    blocks.first.push_back(blocks.block_of[place]);
    blocks.places.push_back(place);
  };
  for (const PlaceIndex place : family.places) append(place);
  for (PlaceIndex place = 0; place < shape.places(); ++place) append(place);
  blocks.first.push_back(shape.places());
  return blocks;
}

}  // namespace robustrun::topo
