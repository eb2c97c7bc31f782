#include "supervisor/watch/bandwidth_watch.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "base/core/text.h"
#include "supervisor/limits.h"

namespace robustrun::supervisor {

bool BandwidthWatch::take(base::Rank rank, const wire::BandwidthReport& report, base::Nanos now) {
  for (const wire::CommunicatorName& one : report.names) {
    if (names_.size() >= kBandwidthGroupsMax && !names_.contains(one.comm)) continue;
    names_[one.comm] = base::printable(one.name.substr(0, kBandwidthNameBytes));
  }
  bool has_fallen = false;
  for (const wire::Moved& moved : report.moved) {
    if (moved.kind >= tracer::kOpKinds || moved.size_bits > 64) continue;
    const Key key{moved.comm, static_cast<tracer::OpKind>(moved.kind), moved.size_bits};
    auto found = rows_.find(key);
    if (found == rows_.end()) {
      if (rows_.size() >= kBandwidthGroupsMax) continue;
      found = rows_.emplace(key, Row{}).first;
    }
    Row& row = found->second;
    row.size = moved.size;
    Member& member = row.members[rank];
    member.newest = {moved.count, moved.bytes, moved.busy};
    member.all.count += moved.count;
    member.all.bytes += moved.bytes;
    member.all.busy += moved.busy;
    member.at = now;
    member.has_fallen = moved.has_fallen;
    has_fallen =
        has_fallen || (moved.has_fallen && std::ranges::all_of(row.members, [&](auto& one) {
                         return one.second.has_fallen || now - one.second.at >= kBandwidthStale;
                       }));
  }
  return has_fallen;
}

template <class Choose>
std::vector<Bandwidth> BandwidthWatch::gather(const Choose& choose, std::size_t rows_max) const {
  std::vector<Bandwidth> gathered;
  for (const auto& [key, row] : rows_) {
    const auto& [comm, kind, size_bits] = key;
    std::optional<Bandwidth> best;
    for (const auto& [rank, member] : row.members) {
      const Sum* const sum = choose(member);
      if (sum == nullptr || sum->busy <= base::Nanos{}) continue;
      Bandwidth one{{}, 0, row.size, kind, size_bits, sum->count, sum->bytes, sum->busy};
      if (!best || one.algorithm() > best->algorithm()) best = one;
    }
    if (!best) continue;
    const auto name = names_.find(comm);
    if (name != names_.end()) best->group = name->second;
    best->first_rank = row.members.begin()->first.value;
    if (best->members == 0) best->members = static_cast<std::uint32_t>(row.members.size());
    // Several communicators of the same ranks and name are one group.
    const auto same = std::ranges::find_if(
        gathered, [&](const Bandwidth& other) { return best->is_like(other); });
    if (same == gathered.end()) {
      gathered.push_back(*best);
      continue;
    }
    same->count += best->count;
    same->bytes += best->bytes;
    same->busy += best->busy;
  }
  std::ranges::stable_sort(gathered, std::greater{}, &Bandwidth::busy);
  if (gathered.size() > rows_max) gathered.resize(rows_max);
  return gathered;
}

std::vector<Bandwidth> BandwidthWatch::recent(base::Nanos now) const {
  return gather(
      [now](const Member& member) {
        return now - member.at < kBandwidthStale ? &member.newest : nullptr;
      },
      kBandwidthRowsMax);
}

std::vector<Bandwidth> BandwidthWatch::total() const {
  return gather([](const Member& member) { return &member.all; }, kBandwidthRowsJournaled);
}

}  // namespace robustrun::supervisor
