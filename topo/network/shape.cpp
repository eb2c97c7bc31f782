// Groups are enumerated by their first rank, the one with 0 in all digits of the kind; the others
// are at sums of the digits' strides. A node holds many ranks, so most groups touch the same places
// as another one: only the first of these is kept, and counted.

#include "topo/network/shape.h"

#include <algorithm>
#include <numeric>

#include "topo/limits.h"

namespace robustrun::topo {
namespace {

struct Digit {
  GroupKind kind;
  std::uint32_t size;
  std::uint32_t stride;
};

// The digits of the dense layout, or of the experts' layout.
std::vector<Digit> layout_of(const Parallel& parallel, bool experts) {
  std::vector<Digit> digits;
  std::uint32_t stride = 1;
  for (const GroupKind kind : parallel.order) {
    std::uint32_t size = 1;
    switch (kind) {
      case GroupKind::kTp: size = parallel.tp; break;
      case GroupKind::kCp: size = experts ? 1 : parallel.cp; break;
      case GroupKind::kEp: size = experts ? parallel.ep : 1; break;
      case GroupKind::kDp:
        size = experts ? parallel.dp * parallel.cp / parallel.ep : parallel.dp;
        break;
      case GroupKind::kPp: size = parallel.pp; break;
    }
    digits.push_back({kind, size, stride});
    stride *= size;
  }
  return digits;
}

bool is_of(GroupKind digit, GroupKind family) {
  return digit == family || (family == GroupKind::kDp && digit == GroupKind::kCp);
}

// All sums of one multiple per digit, the first digit fastest.
std::vector<std::uint32_t> sums_of(const std::vector<Digit>& digits) {
  std::vector<std::uint32_t> sums = {0};
  for (const Digit& digit : digits) {
    const std::size_t before = sums.size();
    sums.reserve(before * digit.size);
    for (std::uint32_t i = 1; i < digit.size; ++i) {
      for (std::size_t k = 0; k < before; ++k) sums.push_back(sums[k] + i * digit.stride);
    }
  }
  return sums;
}

// The ranks of one family's groups.
class FamilyRanks {
 public:
  FamilyRanks(const Parallel& parallel, GroupKind kind) {
    for (const Digit& digit : layout_of(parallel, kind == GroupKind::kEp)) {
      if (digit.size > 1) (is_of(digit.kind, kind) ? own_ : others_).push_back(digit);
    }
    offsets_ = sums_of(own_);
  }

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(offsets_.size()); }
  // Offsets of a group's ranks from its first one, ascending.
  [[nodiscard]] std::span<const std::uint32_t> offsets() const { return offsets_; }
  // First ranks of all groups, ascending.
  [[nodiscard]] std::vector<std::uint32_t> firsts() const { return sums_of(others_); }

  // First rank of the group that `rank` is in.
  [[nodiscard]] std::uint32_t first_of(std::uint32_t rank) const {
    std::uint32_t first = rank;
    for (const Digit& digit : own_) first -= rank / digit.stride % digit.size * digit.stride;
    return first;
  }

 private:
  std::vector<Digit> own_;
  std::vector<Digit> others_;
  std::vector<std::uint32_t> offsets_;
};

// Collects groups as lists of places.
class FamilyBuilder {
 public:
  FamilyBuilder(GroupKind kind, std::uint32_t size, const std::vector<std::uint32_t>& place_of,
                std::uint32_t places)
      : place_of_(place_of), seen_in_(places, 0), newest_(places, kNone) {
    family_.kind = kind;
    family_.size = size;
    family_.first.push_back(0);
  }

  void add(std::uint32_t first_rank, std::span<const std::uint32_t> offsets) {
    ++stamp_;
    auto& places = family_.places;
    const std::size_t begin = places.size();
    for (const std::uint32_t offset : offsets) {
      const std::uint32_t place = place_of_[first_rank + offset];
      if (std::exchange(seen_in_[place], stamp_) != stamp_) places.push_back(place);
    }
    if (places.size() - begin < 2) return places.resize(begin);
    const std::uint32_t key = places[begin];
    for (std::uint32_t g = newest_[key]; g != kNone; g = older_[g]) {
      const auto known = family_.group(g);
      if (known.size() != places.size() - begin) continue;
      if (!std::equal(known.begin(), known.end(), places.begin() + static_cast<long>(begin))) {
        continue;
      }
      ++family_.ranks[g];
      return places.resize(begin);
    }
    older_.push_back(std::exchange(newest_[key], family_.groups()));
    family_.first.push_back(static_cast<std::uint32_t>(places.size()));
    family_.ranks.push_back(1);
  }

  Family take() { return std::move(family_); }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  const std::vector<std::uint32_t>& place_of_;
  std::vector<std::uint32_t> seen_in_;  // by place: the last group that touched it
  std::vector<std::uint32_t> newest_;  // by first place: its newest group
  std::vector<std::uint32_t> older_;  // by group: the previous one with that first place
  std::uint32_t stamp_ = 0;
  Family family_;
};

struct Ranks {
  Shape shape;
  std::vector<std::uint32_t> place_of;  // by rank
  std::vector<std::uint32_t> first_rank;  // by place; then the world size
};

base::Result<Ranks> count_ranks(const Parallel& parallel, std::vector<std::uint32_t> slots) {
  Ranks ranks;
  std::uint64_t world = 0;
  for (const std::uint32_t count : slots) {
    RR_ASSERT(count > 0);
    ranks.first_rank.push_back(static_cast<std::uint32_t>(world));
    world += count;
    if (world > kRanksMax) return base::fail(base::Errc::kLimit, "cannot place so many ranks");
  }
  ranks.first_rank.push_back(static_cast<std::uint32_t>(world));
  ranks.shape.parallel = RR_TRY(resolve(parallel, static_cast<std::uint32_t>(world)));
  ranks.place_of.reserve(world);
  for (std::uint32_t place = 0; place < slots.size(); ++place) {
    ranks.place_of.insert(ranks.place_of.end(), slots[place], place);
  }
  ranks.shape.slots = std::move(slots);
  return ranks;
}

template <class AddGroups>
Shape with_families(Ranks ranks, AddGroups add_groups) {
  for (std::uint8_t i = 0; i < kGroupKinds; ++i) {
    const auto kind = static_cast<GroupKind>(i);
    const FamilyRanks family(ranks.shape.parallel, kind);
    if (family.size() == 1) continue;
    FamilyBuilder builder(kind, family.size(), ranks.place_of, ranks.shape.places());
    add_groups(ranks, family, builder);
    Family built = builder.take();
    if (built.groups() > 0) ranks.shape.families.push_back(std::move(built));
  }
  return std::move(ranks.shape);
}

}  // namespace

base::Result<Shape> make_shape(const Parallel& parallel, std::vector<std::uint32_t> slots) {
  auto counted = RR_TRY(count_ranks(parallel, std::move(slots)));
  return with_families(std::move(counted),
                       [](const Ranks& ranks, const FamilyRanks& family, FamilyBuilder& builder) {
                         for (std::uint32_t rank = 0; rank < ranks.place_of.size(); ++rank) {
                           if (family.first_of(rank) == rank) builder.add(rank, family.offsets());
                         }
                       });
}

base::Result<Shape> shape_around(const Parallel& parallel, std::vector<std::uint32_t> slots,
                                 PlaceIndex place) {
  RR_ASSERT(place < slots.size());
  auto counted = RR_TRY(count_ranks(parallel, std::move(slots)));
  return with_families(std::move(counted), [place](const Ranks& ranks, const FamilyRanks& family,
                                                   FamilyBuilder& builder) {
    std::vector<std::uint32_t> firsts;
    for (std::uint32_t r = ranks.first_rank[place]; r < ranks.first_rank[place + 1]; ++r) {
      firsts.push_back(family.first_of(r));
    }
    std::ranges::sort(firsts);
    firsts.erase(std::ranges::unique(firsts).begin(), firsts.end());
    for (const std::uint32_t first : firsts) builder.add(first, family.offsets());
  });
}

}  // namespace robustrun::topo
