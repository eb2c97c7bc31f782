#include "checkpoint/parity/parity_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "checkpoint/format/limits.h"

namespace robustrun::checkpoint {
namespace {

using base::Errc;
using base::fail;
using base::Result;

void cut(std::uint32_t file, std::uint64_t begin, std::uint64_t end,
         std::vector<ParityMember>& extents) {
  for (; begin < end; begin += std::min(kExtentBytes, end - begin)) {
    extents.push_back({file, begin, std::min(kExtentBytes, end - begin)});
  }
}

class GroupPlanner {
 public:
  GroupPlanner(std::span<const DataFile> files, std::span<const MountSpace> mounts,
               std::size_t parity)
      : mounts_(mounts), parity_(parity), lanes_(mounts.size()) {
    for (std::uint32_t i = 0; i < files.size(); ++i) {
      auto& extents = lanes_[files[i].mount].extents;
      cut(i, 0, files[i].header_bytes, extents);
      cut(i, files[i].header_bytes, files[i].bytes, extents);
      lanes_[files[i].mount].load += files[i].bytes;
    }
    for (Lane& lane : lanes_) {
      std::ranges::stable_sort(lane.extents, std::ranges::greater{}, &ParityMember::bytes);
    }
    for (std::uint32_t i = 0; i < mounts.size(); ++i) {
      if (mounts[i].weight > 0) usable_.push_back(i);
    }
    next_file_ = static_cast<std::uint32_t>(files.size());
  }

  Result<PlannedParity> plan() {
    if (usable_.size() <= parity_) {
      return fail(Errc::kLimit,
                  fmt::format("parity of {} needs at least {} directories; {} are usable", parity_,
                              parity_ + 1, usable_.size()));
    }
    while (true) {
      const std::vector<std::uint32_t> members = fullest();
      if (members.empty()) return std::move(plan_);
      ParityGroup& group = plan_.groups.emplace_back();
      std::uint64_t longest = 0;
      for (const std::uint32_t mount : members) {
        group.data.push_back(lanes_[mount].extents[lanes_[mount].taken++]);
        longest = std::max(longest, group.data.back().bytes);
      }
      for (std::size_t i = 0; i < parity_; ++i) {
        const auto mount = place(members, group, longest);
        if (!mount) {
          return fail(Errc::kLimit, "no room for parity; choose less parity or free some space");
        }
        append(*mount, longest, group);
      }
    }
  }

 private:
  struct Lane {
    std::vector<ParityMember> extents;
    std::size_t taken = 0;
    std::uint64_t load = 0;             // bytes of data and parity
    std::optional<std::uint32_t> file;  // index into plan_.files of its parity file
  };

  // The mounts with the most extents left, at most all but `parity_`. Ties rotate from group to
  // group.
  std::vector<std::uint32_t> fullest() {
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < lanes_.size(); ++i) {
      if (lanes_[i].taken < lanes_[i].extents.size()) order.push_back(i);
    }
    const std::size_t turn = plan_.groups.size();
    std::ranges::sort(order, {}, [&](std::uint32_t i) {
      return std::pair(-static_cast<std::int64_t>(lanes_[i].extents.size() - lanes_[i].taken),
                       (i + turn) % lanes_.size());
    });
    const std::size_t most =
        std::min<std::size_t>(usable_.size() - parity_, kGroupMembersMax - parity_);
    if (order.size() > most) order.resize(most);
    return order;
  }

  std::optional<std::uint32_t> place(const std::vector<std::uint32_t>& members,
                                     const ParityGroup& group, std::uint64_t bytes) const {
    std::optional<std::uint32_t> best;
    double best_done = 0;
    for (const std::uint32_t mount : usable_) {
      const Lane& lane = lanes_[mount];
      const bool is_member = std::ranges::find(members, mount) != members.end() ||
                             std::ranges::any_of(group.parity, [&](const ParityMember& other) {
                               return lane.file && other.file == next_file_ + *lane.file;
                             });
      const std::uint64_t here = lane.file ? plan_.files[*lane.file].bytes : 0;
      if (is_member || here + bytes + kAlignment > mounts_[mount].free_bytes) continue;
      const double done = static_cast<double>(lane.load + bytes) / mounts_[mount].weight;
      if (best && done >= best_done) continue;
      best = mount;
      best_done = done;
    }
    return best;
  }

  void append(std::uint32_t mount, std::uint64_t bytes, ParityGroup& group) {
    Lane& lane = lanes_[mount];
    if (!lane.file) {
      lane.file = static_cast<std::uint32_t>(plan_.files.size());
      plan_.files.push_back({mount, 0});
    }
    PlannedParity::File& file = plan_.files[*lane.file];
    group.parity.push_back({next_file_ + *lane.file, file.bytes, bytes});
    file.bytes += bytes;
    lane.load += bytes;
  }

  std::span<const MountSpace> mounts_;
  std::size_t parity_;
  std::vector<Lane> lanes_;  // by mount
  std::vector<std::uint32_t> usable_;
  std::uint32_t next_file_ = 0;  // index of the next parity file
  PlannedParity plan_;
};

}  // namespace

Result<PlannedParity> plan_parity(std::span<const DataFile> files,
                                  std::span<const MountSpace> mounts, std::size_t parity) {
  RR_ASSERT(parity > 0 && parity < kGroupMembersMax);
  return GroupPlanner(files, mounts, parity).plan();
}

}  // namespace robustrun::checkpoint
