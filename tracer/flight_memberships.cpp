#include "tracer/flight_memberships.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "base/core/text.h"
#include "tracer/limits.h"

namespace robustrun::tracer {
namespace {

using base::Nanos;

constexpr std::uint64_t kFnvOffset = 14695981039346656037U;
constexpr std::uint64_t kFnvPrime = 1099511628211U;

std::uint64_t fnv(std::uint64_t hash, std::string_view bytes) {
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * kFnvPrime;
  }
  return hash;
}

bool is_coalesced(const RecordedEntry& entry) { return entry.operation.ends_with(":coalesced"); }

std::uint64_t elements(const std::vector<std::vector<std::int64_t>>& tensors) {
  std::uint64_t sum = 0;
  for (const auto& tensor : tensors) {
    std::uint64_t product = 1;
    for (const std::int64_t size : tensor)
      product *= size > 0 ? static_cast<std::uint64_t>(size) : 0;
    sum += product;  // an overflow, provoked by the worker, at worst makes sizes compare unequal
  }
  return sum;
}

DataType type_of(const std::vector<std::string>& types) {
  if (types.empty()) return DataType::kUnknown;
  const bool same = std::ranges::all_of(types, [&](const auto& type) { return type == types[0]; });
  return same ? data_type_of(types[0]) : DataType::kOther;
}

// "nccl:send 1->2", "nccl:recv 3<-0": the second number is the other's rank in the group.
std::int32_t peer_of(std::string_view operation) {
  const std::size_t arrow = operation.find_last_of("->");
  if (arrow == std::string_view::npos) return -1;
  const auto peer = base::parse_int<std::int32_t>(operation.substr(arrow + 1));
  return peer && *peer >= 0 ? *peer : -1;
}

Signature signature_of(const RecordedEntry& entry) {
  Signature signature;
  signature.kind = op_kind_of(entry.operation);
  const bool by_output = signature.kind == OpKind::kScatter || entry.input_sizes.empty();
  signature.count = elements(by_output ? entry.output_sizes : entry.input_sizes);
  signature.type = type_of(by_output ? entry.output_types : entry.input_types);
  if (is_point_to_point(signature.kind)) signature.root = peer_of(entry.operation);
  return signature;
}

// All entries with one number.
struct Numbered {
  Signature signature;
  bool done = false;
  bool started = false;
  std::int64_t created_ns = 0;
  std::int64_t started_ns = 0;
  std::int64_t duration_ns = 0;

  void add(const RecordedEntry& entry) {
    if (created_ns == 0) {
      signature = signature_of(entry);
      created_ns = entry.created_ns;
    } else if (!is_coalesced(entry)) {
      signature.count += signature_of(entry).count;
    }
    done = done || is_done(entry);
    started = started || entry.state == RecordedEntry::State::kStarted;
    started_ns = std::max(started_ns, entry.started_ns);
    duration_ns = std::max(duration_ns, entry.duration_ns);
  }
};

// The operations of one process group with one library. A group may use two libraries: gloo for
// tensors on the CPU and NCCL for those on the GPU.
struct Stream {
  std::string description;
  std::map<std::uint64_t, Numbered> collectives;
  std::vector<const RecordedEntry*> sends_and_receives;
  std::map<std::uint64_t, bool> point_to_point_done;  // by number
  std::set<std::uint64_t> point_to_point_started;  // numbers
  std::uint64_t collectives_before = 0;  // number of the newest collective before a send or receive
  bool timed = false;  // the recorder sees when a kernel starts
  bool gloo = false;  // runs on the CPU, behind no operation of a GPU
  // Number → index of the entry: the order of the calls.
  std::map<std::uint64_t, std::size_t> collective_at, point_to_point_at;
  // The first unfinished collective if it has left the ring, else 0.
  std::uint64_t lost = 0;
  bool is_lost_started = false;
};

struct StreamId {
  std::uint64_t group = 0;
  std::string name;
  bool gloo = false;
  friend auto operator<=>(const StreamId&, const StreamId&) = default;
};

// A group that was destroyed and made anew has the same name, and a higher pg_id.
void drop_destroyed(std::map<StreamId, Stream>& streams) {
  std::set<std::pair<std::string_view, bool>> newer;
  for (auto at = streams.end(); at != streams.begin();) {
    --at;
    if (!newer.emplace(at->first.name, at->first.gloo).second) at = streams.erase(at);
  }
}

// Of the groups that there are now.
std::map<StreamId, Stream> streams_of(const FlightRecording& recording, bool timed) {
  std::map<StreamId, Stream> streams;
  for (std::size_t at = 0; at < recording.entries.size(); ++at) {
    const RecordedEntry& entry = recording.entries[at];
    Stream& stream = streams[{entry.group, entry.group_name, is_gloo(entry)}];
    stream.description = entry.group_description;
    stream.gloo = is_gloo(entry);
    stream.timed = timed && !stream.gloo;  // torch times all groups or none
    if (entry.is_point_to_point) {
      stream.point_to_point_at.emplace(entry.point_to_point, at);
    } else {
      stream.collective_at.emplace(entry.collective, at);
    }
    if (entry.is_point_to_point) {
      stream.collectives_before = std::max(stream.collectives_before, entry.collective);
      bool& done = stream.point_to_point_done[entry.point_to_point];
      done = done || is_done(entry);
      if (done || entry.state == RecordedEntry::State::kStarted) {
        stream.point_to_point_started.insert(entry.point_to_point);
      }
      if (!is_coalesced(entry)) stream.sends_and_receives.push_back(&entry);
    } else if (entry.collective > 0) {
      stream.collectives[entry.collective].add(entry);
    }
  }
  drop_destroyed(streams);
  return streams;
}

// The first unfinished collective if it has left the ring, else 0. Known from pg_status, for groups
// without sends and receives only.
std::uint64_t lost_collective(const FlightRecording& recording, const StreamId& id,
                              const Stream& stream) {
  const auto status = recording.status.find(id.group);
  const bool counts_alike = stream.sends_and_receives.empty() && !stream.collectives.empty() &&
                            !is_hooked(recording.back_end);
  if (recording.complete || !counts_alike || status == recording.status.end()) return 0;
  const bool is_told = status->second.completed >= 0 ||
                       (!id.gloo && status->second.enqueued > 0);  // NCCL has finished none yet
  if (!is_told) return 0;
  const auto next =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, status->second.completed)) + 1;
  return next < stream.collectives.begin()->first ? next : 0;
}

class Maker {
 public:
  Maker(const FlightRecording& recording, const std::vector<KnownGroup>& known, std::uint32_t rank,
        std::int64_t now_ns, const RestingJob* resting)
      : recording_(recording), known_(known), rank_(rank), now_ns_(now_ns), resting_(resting) {
    for (const RecordedGroup& group : recording.groups) group_of_.emplace(group.name, &group);
    for (const KnownGroup& group : known) known_of_.emplace(group.name, &group);
  }

  std::vector<Membership> make() {
    const bool timed = tells_starts(recording_) || (resting_ != nullptr && resting_->tells_starts);
    std::map<StreamId, Stream> streams = streams_of(recording_, timed);
    for (auto& [id, stream] : streams) {
      stream.lost = lost_collective(recording_, id, stream);
      const auto status = recording_.status.find(id.group);
      stream.is_lost_started = stream.lost > 0 && status->second.started >= 0 &&
                               static_cast<std::uint64_t>(status->second.started) >= stream.lost;
    }
    const bool two_libraries = uses_another_than_gloo(streams);
    find_head(streams);
    std::vector<Membership> made;
    for (const auto& [id, stream] : streams) {
      Membership membership = identify(id.name, stream.description);
      // The two libraries of one group count separately.
      if (id.gloo && two_libraries) membership.comm = fnv(membership.comm, "gloo");
      count(stream, membership);
      add_point_to_point(stream, membership);
      made.push_back(std::move(membership));
    }
    add_unused(streams, made);
    return made;
  }

 private:
  [[nodiscard]] bool uses_another_than_gloo(const std::map<StreamId, Stream>& streams) const {
    return !recording_.library.empty() ||
           std::ranges::any_of(streams, [](const auto& row) { return !row.first.gloo; }) ||
           std::ranges::any_of(recording_.groups, [](const auto& g) { return !g.ranks.empty(); });
  }

  [[nodiscard]] Membership identify(const std::string& name, std::string description) const {
    Membership membership;
    membership.comm = group_key(name, {});
    const auto group = group_of_.find(name);
    if (group != group_of_.end() && !group->second->ranks.empty()) {
      const std::vector<std::uint32_t>& ranks = group->second->ranks;
      const auto own = std::ranges::find(ranks, rank_);
      membership.comm = group_key(name, ranks);
      membership.size = static_cast<std::uint32_t>(ranks.size());
      membership.rank = own == ranks.end() ? 0 : static_cast<std::uint32_t>(own - ranks.begin());
      if (description.empty()) description = group->second->description;
    }
    const auto known = known_of_.find(name);
    if (known != known_of_.end()) {
      membership.comm = known->second->comm;
      membership.size = known->second->size;
      membership.rank = known->second->rank;
      if (!known->second->label.empty()) description = known->second->label;
    }
    const bool described = !description.empty() && description != "undefined";
    membership.name = base::printable(described ? description : name);
    if (is_hooked(recording_.back_end)) {
      membership.name += " (" + base::printable(recording_.back_end) + ")";
    }
    return membership;
  }

  [[nodiscard]] Nanos since(std::int64_t ns) const {
    return Nanos(ns > 0 && ns < now_ns_ ? now_ns_ - ns : 0);
  }

  // Finds the first call that the GPU cannot have passed.
  void find_head(const std::map<StreamId, Stream>& streams) {
    if (resting_ == nullptr) return;
    for (const auto& [id, stream] : streams) {
      if (id.gloo || stream.timed || resting_->beside.contains(id.name)) continue;
      is_head_lost_ |= stream.lost > 0;
      for (const std::size_t at : unfinished(stream)) head_ = std::min(head_, at);
    }
  }

  [[nodiscard]] bool is_behind_head(const Stream& stream, std::size_t at) const {
    return !stream.timed && !stream.gloo && (is_head_lost_ || at > head_);
  }

  [[nodiscard]] static std::vector<std::size_t> unfinished(const Stream& stream);
  void count(const Stream& stream, Membership& membership) const;
  void add_pending(const Stream& stream, Membership& membership) const;
  void add_point_to_point(const Stream& stream, Membership& membership) const;
  void add_unused(const std::map<StreamId, Stream>& streams, std::vector<Membership>& made) const;

  const FlightRecording& recording_;
  const std::vector<KnownGroup>& known_;
  // By name; the first group of a name counts.
  std::map<std::string_view, const RecordedGroup*> group_of_;
  std::map<std::string_view, const KnownGroup*> known_of_;
  std::uint32_t rank_;
  std::int64_t now_ns_;
  const RestingJob* resting_;
  std::size_t head_ = SIZE_MAX;
  bool is_head_lost_ = false;  // the head is older than all entries
};

std::vector<std::size_t> Maker::unfinished(const Stream& stream) {
  std::vector<std::size_t> places;
  for (const auto& [number, at] : stream.collective_at) {
    const auto found = stream.collectives.find(number);
    if (found != stream.collectives.end() && !found->second.done) places.push_back(at);
  }
  for (const auto& [number, at] : stream.point_to_point_at) {
    const auto found = stream.point_to_point_done.find(number);
    if (found != stream.point_to_point_done.end() && !found->second) places.push_back(at);
  }
  return places;
}

void use_status(const GroupStatus& status, Membership& membership) {
  membership.entered = static_cast<std::uint64_t>(std::max<std::int64_t>(0, status.enqueued));
  membership.done = std::min(
      membership.entered, static_cast<std::uint64_t>(std::max<std::int64_t>(0, status.completed)));
  membership.started = membership.entered;
}

void Maker::count(const Stream& stream, Membership& membership) const {
  membership.entered = stream.collectives_before;
  if (!stream.collectives.empty()) {
    const auto& [newest, last] = *stream.collectives.rbegin();
    membership.entered = std::max(membership.entered, newest);
    membership.idle = since(last.created_ns);
  }
  membership.done = membership.entered;
  membership.started = stream.timed ? 0 : membership.entered;
  for (const auto& [ordinal, numbered] : stream.collectives) {
    if (!numbered.done) membership.done = std::min(membership.done, ordinal - 1);
    if (numbered.done || numbered.started) {
      membership.started = std::max(membership.started, ordinal);
    }
  }
  if (stream.lost > 0) membership.done = stream.lost - 1;
  membership.started = std::max(membership.started, membership.done);
  add_pending(stream, membership);
  for (const auto& [ordinal, numbered] : stream.collectives) {
    membership.recent.push_back({ordinal, numbered.signature, Nanos(numbered.created_ns)});
    if (numbered.done && numbered.duration_ns > 0) {
      membership.timings.push_back({ordinal, Nanos(numbered.duration_ns), Nanos(0), Nanos(0)});
    }
  }
  const auto keep_newest = [](auto& list, std::size_t most) {
    if (list.size() > most)
      list.erase(list.begin(), list.end() - static_cast<std::ptrdiff_t>(most));
  };
  keep_newest(membership.recent, kFlightRecentMax);
  keep_newest(membership.timings, kFlightTimingsMax);
}

void Maker::add_pending(const Stream& stream, Membership& membership) const {
  if (stream.lost > 0 && resting_ != nullptr) {
    Operation operation;
    operation.ordinal = stream.lost;
    if (stream.timed && !stream.is_lost_started) operation.stage = Operation::Stage::kQueued;
    // It is at least as old as the call after it.
    operation.age = operation.unchanged = since(stream.collectives.begin()->second.created_ns);
    membership.pending.push_back(operation);
  }
  for (const auto& [ordinal, numbered] : stream.collectives) {
    if (numbered.done) continue;
    if (membership.pending.size() >= kFlightPendingMax) return;
    Operation operation;
    operation.ordinal = ordinal;
    operation.signature = numbered.signature;
    // Without timings torch cannot tell a queued kernel from a running one.
    const bool is_queued = (stream.timed && !numbered.started) ||
                           is_behind_head(stream, stream.collective_at.at(ordinal));
    if (is_queued) operation.stage = Operation::Stage::kQueued;
    operation.age = since(numbered.created_ns);
    operation.unchanged = since(std::max(numbered.created_ns, numbered.started_ns));
    membership.pending.push_back(operation);
  }
}

void Maker::add_point_to_point(const Stream& stream, Membership& membership) const {
  std::map<std::pair<std::int32_t, bool>, PeerCount> counts;
  for (const RecordedEntry* const entry : stream.sends_and_receives) {
    const Signature signature = signature_of(*entry);
    if (signature.root < 0) continue;
    const bool is_send = signature.kind == OpKind::kSend;
    PeerCount& count = counts[{signature.root, is_send}];
    count.peer = signature.root;
    count.is_send = is_send;
    ++count.entered;
    if (stream.point_to_point_done.at(entry->point_to_point)) {
      ++count.done;
    } else if (membership.pending.size() < kFlightPendingMax) {
      Operation operation;
      operation.ordinal = recording_.complete ? count.entered : entry->point_to_point;
      operation.signature = signature;
      const bool is_queued =
          (stream.timed && !stream.point_to_point_started.contains(entry->point_to_point)) ||
          is_behind_head(stream, stream.point_to_point_at.at(entry->point_to_point));
      if (is_queued) operation.stage = Operation::Stage::kQueued;
      operation.age = since(entry->created_ns);
      operation.unchanged = since(std::max(entry->created_ns, entry->started_ns));
      membership.pending.push_back(operation);
    }
  }
  // Counts of two members are comparable only if both count from the beginning.
  for (auto& [key, count] : counts) {
    count.is_part = !recording_.complete;
    membership.peers.push_back(count);
  }
}

// Pairs `groups`, the names of groups without an entry, with `statuses`, both in the order in which
// torch made the groups. Empty if they cannot be paired.
std::map<std::string, GroupStatus> paired(const std::vector<std::string>& groups,
                                          const std::vector<GroupStatus>& statuses) {
  std::map<std::uint64_t, std::string> in_order;
  for (const std::string& name : groups) {
    const auto number = base::parse_int<std::uint64_t>(name);
    if (!number && groups.size() > 1) return {};
    in_order.emplace(number.value_or(0), name);
  }
  if (in_order.size() != groups.size() || groups.size() != statuses.size()) return {};
  std::map<std::string, GroupStatus> pairs;
  auto status = statuses.begin();
  for (const auto& [number, name] : in_order) pairs.emplace(name, *status++);
  return pairs;
}

// Adds the groups that have no entry in the ring.
void Maker::add_unused(const std::map<StreamId, Stream>& streams,
                       std::vector<Membership>& made) const {
  std::set<std::uint64_t> told;
  std::set<std::string_view> seen;  // names
  for (const RecordedEntry& entry : recording_.entries) told.insert(entry.group);
  for (const auto& [id, stream] : streams) seen.insert(id.name);
  const bool hooked = is_hooked(recording_.back_end);
  std::vector<GroupStatus> statuses;  // of groups without an entry
  for (const auto& [id, status] : recording_.status) {
    if (!told.contains(id) && !hooked) statuses.push_back(status);
  }
  std::vector<std::string> unused, own;
  const auto note = [&](const std::string& name, bool is_own) {
    if (!seen.insert(name).second) return;
    unused.push_back(name);
    if (is_own) own.push_back(name);
  };
  for (const RecordedGroup& group : recording_.groups) {
    if (!group.ranks.empty()) note(group.name, true);
  }
  if (!hooked) {
    for (const KnownGroup& group : known_) note(group.name, false);
  }
  // torch lists a group's ranks, and gives it a pg_status, once the group is used.
  std::map<std::string, GroupStatus> status_of = paired(own, statuses);
  if (status_of.empty()) status_of = paired(unused, statuses);
  const bool is_certain =
      statuses.empty() && (recording_.complete || (!recording_.status.empty() && !hooked));
  if (status_of.empty() && !is_certain) return;
  for (const std::string& name : unused) {
    Membership membership = identify(name, "");
    const auto status = status_of.find(name);
    if (status != status_of.end()) use_status(status->second, membership);
    made.push_back(std::move(membership));
  }
}

}  // namespace

std::uint64_t group_key(std::string_view name, const std::vector<std::uint32_t>& ranks) {
  std::uint64_t hash = fnv(kFnvOffset, name);
  hash = fnv(hash, std::string_view("\0", 1));
  std::vector<std::uint32_t> ascending = ranks;
  std::ranges::sort(ascending);
  for (const std::uint32_t rank : ascending) {
    const std::array<char, 4> bytes = {
        static_cast<char>(rank & 0xff), static_cast<char>(rank >> 8 & 0xff),
        static_cast<char>(rank >> 16 & 0xff), static_cast<char>(rank >> 24 & 0xff)};
    hash = fnv(hash, {bytes.data(), bytes.size()});
  }
  return hash;
}

void set_apart(std::vector<Membership>& comms, std::string_view back_end) {
  for (Membership& one : comms) one.comm = fnv(one.comm, back_end);
}

std::vector<Membership> memberships(const FlightRecording& recording,
                                    const std::vector<KnownGroup>& known, std::uint32_t rank,
                                    std::int64_t now_ns, const RestingJob* resting) {
  return Maker(recording, known, rank, now_ns, resting).make();
}

bool tells_starts(const FlightRecording& recording) {
  return std::ranges::any_of(recording.entries, [](const RecordedEntry& entry) {
    return entry.started_ns != 0 || entry.state == RecordedEntry::State::kStarted;
  });
}

std::set<std::string> groups_beside(const FlightRecording& recording) {
  struct Place {
    std::size_t at = 0;
    const std::string* group = nullptr;
    bool done = false;
  };
  std::vector<Place> places;
  for (const auto& [id, stream] : streams_of(recording, tells_starts(recording))) {
    if (id.gloo) continue;
    for (const auto& [number, at] : stream.collective_at) {
      const auto found = stream.collectives.find(number);
      if (found == stream.collectives.end()) continue;
      places.push_back({at, &recording.entries[at].group_name, found->second.done});
    }
    for (const auto& [number, at] : stream.point_to_point_at) {
      const bool done = stream.point_to_point_done.at(number);
      places.push_back({at, &recording.entries[at].group_name, done});
    }
  }
  std::ranges::sort(places, {}, &Place::at);
  std::set<std::string> open, beside;
  for (const Place& place : places) {
    if (!place.done) {
      open.insert(*place.group);
      continue;
    }
    for (const std::string& group : open) {
      if (group != *place.group) beside.insert(group);
    }
  }
  return beside;
}

bool is_inside_nothing(const FlightRecording& recording) {
  const auto is_finished = [](const auto& row) {
    return row.second.enqueued == row.second.completed;
  };
  return recording.entries.empty() && !recording.status.empty() &&
         std::ranges::all_of(recording.status, is_finished);
}

}  // namespace robustrun::tracer
