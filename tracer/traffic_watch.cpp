#include "tracer/traffic_watch.h"

#include <iterator>
#include <utility>

#include "tracer/analysis/limits.h"
#include "tracer/analysis/statistics.h"
#include "tracer/limits.h"

namespace robustrun::tracer {
namespace {

double per_byte(std::uint64_t bytes, base::Nanos time) {
  return bytes == 0 ? 0 : static_cast<double>(time.count()) / static_cast<double>(bytes);
}

}  // namespace

void TrafficWatch::Pace::add(Sample sample, std::uint64_t least_bytes) {
  is_there = true;
  if (!recent.empty() && sample.total.bytes < recent.back().total.bytes) *this = Pace();
  if (recent.empty()) counted = sample;
  recent.push_back(sample);
  while (recent.size() > 2 && recent[1].at + kTrafficWindow <= sample.at) recent.pop_front();
  const Sample& oldest = recent.front();
  if (oldest.at - counted.at < kTrafficWindow) return;
  const std::uint64_t bytes = oldest.total.bytes - counted.total.bytes;
  const double pace = per_byte(bytes, oldest.total.time - counted.total.time);
  counted = oldest;
  if (bytes < least_bytes || pace <= 0) return;
  if (before.size() < kTrafficWindowsKept) {
    before.push_back(pace);
  } else {
    before[next++ % before.size()] = pace;
  }
}

TrafficWatch::Total TrafficWatch::Pace::moved() const {
  const Total& from = recent.front().total;
  const Total& to = recent.back().total;
  return {to.count - from.count, to.bytes - from.bytes, to.time - from.time};
}

double TrafficWatch::Pace::usual() const {
  return before.size() < kTrafficWindowsToLearn ? 0 : median(before);
}

template <class Key>
void TrafficWatch::note(std::map<Key, Pace>& paces, const Key& key, Sample sample,
                        std::uint64_t least_bytes) {
  auto found = paces.find(key);
  if (found == paces.end()) {
    if (paces.size() >= kTrafficRowsMax) return;
    found = paces.emplace(key, Pace()).first;
  }
  found->second.add(sample, least_bytes);
}

template <class Key>
void TrafficWatch::forget_missing(std::map<Key, Pace>& paces) {
  for (auto row = paces.begin(); row != paces.end();) {
    row = std::exchange(row->second.is_there, false) ? std::next(row) : paces.erase(row);
  }
}

void TrafficWatch::look(base::Nanos now, const Traffic& traffic) {
  for (const Moved& row : traffic.moved) {
    const Total total{row.count, row.bytes, row.busy};
    note(rates_, RateKey{row.comm, row.kind, row.size_bits}, {now, total}, 1);
  }
  for (const Sent& row : traffic.sent) {
    const Total total{0, row.bytes, row.net_wait};
    note(edges_, EdgeKey{row.comm, row.peer}, {now, total}, kEdgeBytesLeast);
  }
  forget_missing(rates_);
  forget_missing(edges_);
}

void TrafficWatch::describe(std::vector<Membership>& comms) const {
  for (Membership& comm : comms) {
    for (EdgeTime& edge : comm.edges) {
      const auto found = edges_.find({comm.comm, edge.peer});
      if (found == edges_.end()) continue;
      const Total moved = found->second.moved();
      edge.recent_bytes = moved.bytes;
      edge.recent_wait = moved.time;
      edge.usual = found->second.usual();
    }
    const RateKey first{comm.comm, OpKind::kUnknown, 0};
    for (auto row = rates_.lower_bound(first); row != rates_.end(); ++row) {
      const auto& [key, kind, size_bits] = row->first;
      if (key != comm.comm) break;
      const Total moved = row->second.moved();
      if (moved.count == 0) continue;
      comm.rates.push_back(
          {kind, size_bits, moved.count, moved.bytes, moved.time, row->second.usual()});
    }
  }
}

bool TrafficWatch::has_fallen(const Moved& row) const {
  const auto found = rates_.find({row.comm, row.kind, row.size_bits});
  if (found == rates_.end()) return false;
  const Total moved = found->second.moved();
  const double usual = found->second.usual();
  return moved.count >= kTrafficCountLeast && usual > 0 &&
         per_byte(moved.bytes, moved.time) > kTrafficFallen * usual;
}

}  // namespace robustrun::tracer
