#include "tracer/flight_hosts.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <tuple>
#include <utility>

#include "tracer/flight_memberships.h"

namespace robustrun::tracer {
namespace {

struct Called {  // a collective, or a batch of sends and receives
  const RecordedEntry* first = nullptr;
  std::string what;  // the operations of all its entries, joined
  bool done = false;

  [[nodiscard]] auto key() const {
    return std::tuple(std::string_view(first->group_name), first->is_point_to_point,
                      first->is_point_to_point ? first->point_to_point : first->collective);
  }
};

// The group's description, which groups of one purpose share, or its name if it has none.
const std::string& kind_of_group(const RecordedEntry& entry) {
  const bool is_told = !entry.group_description.empty() && entry.group_description != "undefined";
  return is_told ? entry.group_description : entry.group_name;
}

std::vector<Called> calls_of(const FlightRecording& recording) {
  // Of a group that was destroyed and made anew only the new one counts (flight_memberships.h).
  std::map<std::pair<std::string_view, bool>, std::uint64_t> newest;
  for (const RecordedEntry& entry : recording.entries) {
    std::uint64_t& group = newest[{entry.group_name, is_gloo(entry)}];
    group = std::max(group, entry.group);
  }
  std::vector<Called> calls;
  for (const RecordedEntry& entry : recording.entries) {
    if (entry.group != newest.at({entry.group_name, is_gloo(entry)})) continue;
    Called call{.first = &entry, .what = entry.operation, .done = is_done(entry)};
    if (calls.empty() || calls.back().key() != call.key()) {
      calls.push_back(std::move(call));
      continue;
    }
    calls.back().what += "," + call.what;
    calls.back().done |= call.done;
  }
  return calls;
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t with) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15U;
  return (hash ^ with) * kOdd ^ hash >> 29U;
}

std::uint64_t identity(const Called& call) {
  const std::hash<std::string> hash;
  std::uint64_t made = mixed(hash(kind_of_group(*call.first)), hash(call.what));
  made = mixed(made, call.first->collective);
  return mixed(made, call.first->point_to_point);
}

// The place behind call `at`; 0: not known.
std::uint64_t place_behind(const std::vector<Called>& calls, std::size_t at, bool is_complete) {
  if (at == 0 && !is_complete) return 0;
  return mixed(at == 0 ? 1 : identity(calls[at - 1]), identity(calls[at]));
}

std::uint64_t communicator_of(const FlightRecording& recording, const std::string& name) {
  const auto group = std::ranges::find(recording.groups, name, &RecordedGroup::name);
  return group_key(name,
                   group == recording.groups.end() ? std::vector<std::uint32_t>() : group->ranks);
}

}  // namespace

void HostsAtRest::add(std::uint32_t rank, const FlightRecording& recording) {
  const std::vector<Called> calls = calls_of(recording);
  if (calls.empty()) return;
  Host& host = hosts_[rank];
  host.is_deeper = !recording.complete && !calls.front().done;
  host.place = place_behind(calls, calls.size() - 1, recording.complete);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const RecordedEntry& entry = *calls[i].first;
    if (!calls[i].done) {
      ++host.unfinished;
      const std::uint64_t place = place_behind(calls, i, recording.complete);
      if (i + 1 < calls.size() && place != 0) host.passed.push_back(place);
    }
    if (entry.is_point_to_point) continue;
    std::uint64_t& entered = host.entered[kind_of_group(entry)];
    entered = std::max(entered, entry.collective);
    std::uint64_t& newest = entered_[kind_of_group(entry)];
    newest = std::max(newest, entered);
    const std::uint64_t comm = communicator_of(recording, entry.group_name);
    if (calls[i].done) {
      done_[comm] = std::max(done_[comm], entry.collective);
    } else {
      host.open.try_emplace(comm, entry.collective);
    }
  }
}

// Others have finished an operation that this host shows as unfinished: its GPU or its recorder is
// stuck. That such a host went on proves nothing about other hosts.
bool HostsAtRest::is_behind(const Host& host) const {
  return std::ranges::any_of(host.open, [&](const auto& row) {
    const auto done = done_.find(row.first);
    return done != done_.end() && done->second >= row.second;
  });
}

bool HostsAtRest::is_at_end(const Host& host) const {
  return std::ranges::none_of(host.entered,
                              [&](const auto& row) { return entered_.at(row.first) > row.second; });
}

std::set<std::uint32_t> HostsAtRest::halted() const {
  std::size_t deepest = 0;  // most unfinished calls of a host: how far a host can launch ahead
  std::set<std::uint64_t> passed;
  bool is_any_behind = false;
  for (const auto& [rank, host] : hosts_) {
    deepest = std::max(deepest, host.unfinished);
    is_any_behind |= is_behind(host);
    passed.insert(host.passed.begin(), host.passed.end());
  }
  if (is_any_behind) passed.clear();
  std::set<std::uint32_t> halted;
  if (deepest == 0) return halted;  // no rank waits
  for (const auto& [rank, host] : hosts_) {
    const bool is_idle = host.unfinished == 0 && !is_at_end(host);
    const bool is_unblocked = host.unfinished > 0 && host.unfinished < deepest && !host.is_deeper &&
                              passed.contains(host.place);
    if (is_idle || is_unblocked) halted.insert(rank);
  }
  return halted;
}

}  // namespace robustrun::tracer
