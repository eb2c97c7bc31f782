#include "checkpoint/parity/parity_plan.h"

#include <doctest/doctest.h>

#include <map>
#include <set>

#include "base/core/clock.h"
#include "checkpoint/format/limits.h"

namespace parity_plan_test {

using namespace robustrun;
using namespace robustrun::checkpoint;

namespace {

constexpr std::uint64_t kSeed = 20'263;
constexpr std::uint64_t kPlenty = std::uint64_t{1} << 50U;

DataFile file_on(std::uint32_t mount, std::uint64_t header, std::uint64_t data) {
  return {"d-m" + std::to_string(mount), mount, header + data, header, 0, {}};
}

std::uint64_t bytes_of(const std::vector<PlannedParity::File>& files) {
  std::uint64_t sum = 0;
  for (const auto& file : files) sum += file.bytes;
  return sum;
}

std::uint32_t mount_of(const ParityMember& member, const std::vector<DataFile>& files,
                       const PlannedParity& plan) {
  return member.file < files.size() ? files[member.file].mount
                                    : plan.files[member.file - files.size()].mount;
}

}  // namespace

TEST_CASE("every byte is in one group, and no two members of a group are on one mount") {
  base::Rng rng(kSeed);
  MESSAGE("seed ", kSeed);
  for (int round = 0; round < 200; ++round) {
    const auto mounts = static_cast<std::uint32_t>(2 + rng.below(11));
    const std::size_t parity = 1 + rng.below(std::min<std::uint64_t>(3, mounts - 1));
    std::vector<MountSpace> spaces;
    std::vector<DataFile> files;
    for (std::uint32_t i = 0; i < mounts; ++i) {
      spaces.push_back({1.0 + static_cast<double>(rng.below(4)), kPlenty});
      if (rng.below(6) > 0) {
        files.push_back(file_on(i, 4096 * (1 + rng.below(3)), 4096 * rng.below(20'000)));
      }
    }
    const auto plan = plan_parity(files, spaces, parity);
    REQUIRE(plan);
    std::vector<std::map<std::uint64_t, std::uint64_t>> covered(files.size() + plan->files.size());
    for (const ParityGroup& group : plan->groups) {
      REQUIRE(group.parity.size() == parity);
      std::set<std::uint32_t> seen;
      std::uint64_t longest = 0;
      for (const ParityMember& member : group.data) longest = std::max(longest, member.bytes);
      for (const auto* members : {&group.data, &group.parity}) {
        for (const ParityMember& member : *members) {
          REQUIRE(seen.insert(mount_of(member, files, *plan)).second);
          REQUIRE(covered[member.file].emplace(member.offset, member.bytes).second);
          REQUIRE(member.bytes <= kExtentBytes);
        }
      }
      for (const ParityMember& member : group.parity) REQUIRE(member.bytes == longest);
    }
    for (std::size_t i = 0; i < covered.size(); ++i) {
      std::uint64_t end = 0;
      for (const auto& [offset, bytes] : covered[i]) {
        REQUIRE(offset == end);
        end += bytes;
      }
      CHECK(end == (i < files.size() ? files[i].bytes : plan->files[i - files.size()].bytes));
    }
  }
}

TEST_CASE("on mounts of equal speed parity is as short as possible and evenly spread") {
  std::vector<MountSpace> spaces(10, MountSpace{1, kPlenty});
  std::vector<DataFile> files;
  for (std::uint32_t i = 0; i < 10; ++i) files.push_back(file_on(i, 4096, 40 * kExtentBytes));
  const auto plan = plan_parity(files, spaces, 2);
  REQUIRE(plan);
  const double share = static_cast<double>(bytes_of(plan->files)) /
                       static_cast<double>(10 * (40 * kExtentBytes + 4096));
  CHECK(share >= 0.25);
  CHECK(share < 0.26);
  REQUIRE(plan->files.size() == 10);
  for (const auto& file : plan->files) {
    CHECK(file.bytes >= 9 * kExtentBytes);
    CHECK(file.bytes <= 11 * kExtentBytes);
  }
}

TEST_CASE("too few mounts or too little room is an error") {
  const std::vector<DataFile> files = {file_on(0, 4096, kExtentBytes)};
  std::vector<MountSpace> spaces = {{1, kPlenty}, {0, kPlenty}};
  CHECK(plan_parity(files, spaces, 1).error().what ==
        "parity of 1 needs at least 2 directories; 1 are usable");
  spaces[1] = {1, kExtentBytes};
  CHECK(plan_parity(files, spaces, 1).error().code == base::Errc::kLimit);
  spaces[1] = {1, 2 * kExtentBytes};
  CHECK(plan_parity(files, spaces, 1));
}

}  // namespace parity_plan_test
