#include "tracer/collectives_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string>

#include "base/core/text.h"
#include "tracer/limits.h"
#include "tracer/record_collectives.h"
#include "tracer/record_file.h"

namespace robustrun::tracer {
namespace {

using base::Nanos;

constexpr std::uint64_t kKernelChEvents = 64;  // a bit of NCCL's activation mask

// Row `index` of a table that begins at `at`; false when the bytes end before it does.
template <class Row>
bool load(std::string_view bytes, std::size_t at, std::size_t index, Row& row) {
  const std::size_t begin = at + index * sizeof row;
  if (bytes.size() < begin + sizeof row) return false;
  std::memcpy(&row, bytes.data() + begin, sizeof row);
  return true;
}

Nanos span_of(std::uint64_t ns) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<Nanos::rep>::max());
  return ns > kMost ? Nanos{} : Nanos(static_cast<Nanos::rep>(ns));
}

// The age of `at_ns`; 0 for never, and for times in the future, which are not of this clock.
Nanos age_of(std::uint64_t at_ns, Nanos now) {
  const Nanos at = span_of(at_ns);
  return at == Nanos{} || at > now ? Nanos{} : now - at;
}

std::optional<Nanos> still_since(std::uint64_t at_ns, Nanos now) {
  if (span_of(at_ns) == Nanos{}) return std::nullopt;
  return age_of(at_ns, now);
}

std::string text_of(const std::array<char, kCommunicatorNameBytes>& field) {
  return base::printable({field.data(), ::strnlen(field.data(), field.size())});
}

bool is_usable(const RecordCommunicator& row) {
  return row.in_use == 1 && row.comm != 0 && row.size <= kMembersMax &&
         (row.size == 0 ? row.rank < kMembersMax : row.rank < row.size) &&
         row.entered <= kOrdinalMax && row.started <= kOrdinalMax && row.done <= kOrdinalMax;
}

bool is_source(const RecordCommunicator& row, RecordSource source) {
  return row.source == static_cast<std::uint32_t>(source);
}

// Restores done ≤ started ≤ entered: the counters may have risen while they were read one by one.
void level(RecordCommunicator& row) {
  row.started = std::max(row.started, row.done);
  row.entered = std::max(row.entered, row.started);
}

// NCCL reports some operations as called and then never again. On a communicator known to have such
// operations, they no longer count once the call has returned.
bool unreported_are_over(const RecordCommunicator& row) {
  return row.unreported > 0 && row.in_call_at_ns == 0 && row.in_launch_at_ns == 0;
}

class TablesReader {
 public:
  TablesReader(std::string_view file, Nanos now) : file_(file), now_(now) {}

  RecordedCollectives read() {
    RecordCounters counters{};
    if (!load(file_, kCountersAt, 0, counters)) return {};
    out_.event_mask = counters.event_mask;
    out_.calls_still = still_since(counters.calls_at_ns, now_);
    out_.proxy_still = still_since(counters.proxy_at_ns, now_);
    out_.dropped = counters.operations_dropped + counters.flows_dropped;
    read_communicators();
    read_operations();
    read_flows();
    read_signatures();
    read_timings();
    read_edges();
    read_histograms();
    for (std::size_t i = 0; i < out_.comms.size(); ++i) settle(out_.comms[i], rows_[i]);
    return std::move(out_);
  }

 private:
  struct OperationKey {
    std::uint64_t state = 0;
    std::size_t comm = 0;
    std::uint64_t ordinal = 0;
  };

  void read_communicators() {
    by_slot_.fill(kNone);
    for (std::size_t slot = 0; slot < kCommunicatorSlots; ++slot) {
      RecordCommunicator row;
      if (!load(file_, kCommunicatorsAt, slot, row)) return;
      if (!is_usable(row)) continue;
      if (!is_source(row, RecordSource::kNccl) && !is_source(row, RecordSource::kInterposer)) {
        continue;
      }
      if (std::ranges::any_of(out_.comms, [&](const auto& m) { return m.comm == row.comm; })) {
        continue;
      }
      level(row);
      Membership member;
      member.comm = row.comm;
      member.name = text_of(row.name);
      member.size = row.size;
      member.rank = row.rank;
      member.counts_completion =
          !is_source(row, RecordSource::kNccl) || (out_.event_mask & kKernelChEvents) != 0;
      member.entered = row.entered;
      member.started = row.started;
      member.done = row.done;
      member.idle = age_of(row.entered_at_ns, now_);
      member.in_call = age_of(row.in_call_at_ns, now_);
      member.in_launch = age_of(row.in_launch_at_ns, now_);
      by_slot_[slot] = out_.comms.size();
      rows_.push_back(row);
      out_.comms.push_back(std::move(member));
    }
  }

  // The index in out_.comms of the communicator in `slot` if its key is `comm`, else kNone.
  [[nodiscard]] std::size_t find(std::uint64_t slot, std::uint64_t comm) const {
    if (slot >= kCommunicatorSlots || by_slot_[slot] == kNone) return kNone;
    return out_.comms[by_slot_[slot]].comm == comm ? by_slot_[slot] : kNone;
  }
  [[nodiscard]] std::size_t find_row(std::uint64_t key, std::uint64_t comm) const {
    return find((key >> 32U) - 1, comm);  // key 0: no slot
  }

  static bool is_over(const RecordOperation& row, const RecordCommunicator& comm, bool called) {
    if (is_before(row.batch, comm.done_batch)) return true;
    return called && (is_before(row.batch, comm.batch) || unreported_are_over(comm));
  }

  [[nodiscard]] Operation::Stage stage_of(const RecordOperation& row, const Membership& member,
                                          bool called) const {
    using Stage = Operation::Stage;
    if (called) return member.in_launch > Nanos{} ? Stage::kLaunching : Stage::kCalled;
    const bool waits = row.channels_started == 0 && member.counts_completion;
    return waits ? Stage::kQueued : Stage::kRunning;
  }

  void read_operations() {
    for (std::size_t slot = 0; slot < kOperationSlots; ++slot) {
      RecordOperation row;
      if (!load(file_, kOperationsAt, slot, row)) return;
      const auto phase = static_cast<RecordPhase>(phase_of(row.state));
      const bool called = phase == RecordPhase::kCalled;
      if (!called && phase != RecordPhase::kStarted) continue;
      if (row.generation != generation_of(row.state)) continue;
      const std::size_t index = find(row.comm_slot, row.comm);
      if (index == kNone || row.kind >= kOpKinds || row.ordinal > kOrdinalMax) continue;
      Membership& member = out_.comms[index];
      const auto kind = static_cast<OpKind>(row.kind);
      // Entered after the communicator's row was read: the next look will see it.
      if (!is_point_to_point(kind) && (row.ordinal == 0 || row.ordinal > member.entered)) continue;
      if (is_over(row, rows_[index], called)) continue;
      Operation op;
      op.ordinal = row.ordinal;
      op.signature = {kind, static_cast<DataType>(row.type), row.count, row.root};
      op.stage = stage_of(row, member, called);
      op.age = age_of(row.entered_at_ns, now_);
      op.unchanged = age_of(row.changed_at_ns, now_);
      op.channels = std::min<std::uint32_t>(row.channels, kChannelsMax);
      op.channels_started = static_cast<std::uint32_t>(std::popcount(row.channels_started));
      op.channels_stopped = static_cast<std::uint32_t>(std::popcount(row.channels_stopped));
      if (!called && row.blind != 0) member.tells_flows = false;
      operations_[slot] = {row.state, index, op.ordinal};
      member.pending.push_back(op);
    }
  }

  void read_flows() {
    for (std::size_t slot = 0; slot < kFlowSlots; ++slot) {
      RecordFlow row;
      if (!load(file_, kFlowsAt, slot, row)) return;
      if (static_cast<RecordPhase>(phase_of(row.state)) != RecordPhase::kStarted) continue;
      if (row.generation != generation_of(row.state)) continue;
      const std::uint64_t op_slot = row.operation & 0xffffU;
      if (op_slot >= kOperationSlots) continue;
      const OperationKey& op = operations_[op_slot];
      if (op.state == 0 || generation_of(op.state) != row.operation >> 16U) continue;
      row.transmitted = std::max(row.transmitted, row.done);
      row.ready = std::max(row.ready, row.transmitted);
      row.posted = std::max(row.posted, row.ready);
      if (row.steps > kFlowStepsMax || row.posted > row.steps) continue;
      if (row.channel >= kChannelsMax || !is_rank(row.peer)) continue;
      Flow flow;
      flow.ordinal = op.ordinal;
      flow.channel = row.channel;
      flow.peer = row.peer;
      flow.is_send = row.is_send != 0;
      flow.steps = row.steps;
      flow.posted = row.posted;
      flow.ready = row.ready;
      flow.transmitted = row.transmitted;
      flow.done = row.done;
      flow.peer_refuses = row.refused != 0;
      flow.bytes = row.bytes;
      flow.net_wait = span_of(row.net_wait_ns);
      flow.unchanged = age_of(row.changed_at_ns, now_);
      out_.comms[op.comm].flows.push_back(flow);
    }
  }

  static bool is_rank(std::int32_t rank) {
    return rank >= 0 && static_cast<std::uint32_t>(rank) < kMembersMax;
  }

  // Oldest first, beginning with the slot that would be written next.
  template <class Row, class Take>
  void read_ring(std::size_t at, std::size_t slots, std::uint64_t written, Take take) {
    for (std::size_t i = 0; i < slots; ++i) {
      const std::size_t slot = (written + i) % slots;
      Row row;
      if (!load(file_, at, slot, row)) continue;
      if (row.stamp != 0 && (row.stamp - 1) % slots == slot) take(row, slot);
    }
  }

  void read_signatures() {
    RecordCounters counters{};
    load(file_, kCountersAt, 0, counters);
    read_ring<RecordSignature>(
        kSignaturesAt, kSignatureSlots, counters.signatures,
        [this](const RecordSignature& row, std::size_t entry) {
          const std::uint64_t slot = row.what & 0xffU;
          const auto kind = static_cast<std::uint8_t>(row.what >> 8U);
          if (slot >= kCommunicatorSlots || by_slot_[slot] == kNone || kind >= kOpKinds) return;
          Membership& member = out_.comms[by_slot_[slot]];
          const std::uint64_t ordinal = row.what >> 24U;
          if (static_cast<std::uint32_t>(member.comm) != row.comm_part) return;
          if (ordinal == 0 || ordinal > member.entered) return;
          const auto type = static_cast<DataType>(static_cast<std::uint8_t>(row.what >> 16U));
          std::uint64_t tag = 0;  // stays so in a record of an older version
          load(file_, kTagsAt, entry, tag);
          member.recent.push_back(
              {ordinal, {static_cast<OpKind>(kind), type, row.count, row.root}, {}, tag});
        });
  }

  void read_timings() {
    RecordCounters counters{};
    load(file_, kCountersAt, 0, counters);
    read_ring<RecordTiming>(
        kTimingsAt, kTimingSlots, counters.timings, [this](const RecordTiming& row, std::size_t) {
          const auto member =
              std::ranges::find(out_.comms, row.comm, [](const Membership& m) { return m.comm; });
          if (member == out_.comms.end()) return;
          if (row.ordinal == 0 || row.ordinal > member->entered) return;
          member->timings.push_back({row.ordinal, span_of(row.kernel_ns), span_of(row.queued_ns),
                                     span_of(row.gap_ns), span_of(row.own_ns)});
        });
  }

  void read_edges() {
    for (std::size_t slot = 0; slot < kEdgeSlots; ++slot) {
      RecordEdge row;
      if (!load(file_, kEdgesAt, slot, row)) return;
      const std::size_t index = find_row(row.key, row.comm);
      const auto peer = static_cast<std::int32_t>(static_cast<std::uint32_t>(row.key));
      if (index == kNone || !is_rank(peer)) continue;
      Membership& member = out_.comms[index];
      add_count(member, {peer, true, row.sends_entered, row.sends_done});
      add_count(member, {peer, false, row.recvs_entered, row.recvs_done});
      if (row.net_wait_ns == 0) continue;
      EdgeTime edge;
      edge.peer = peer;
      edge.bytes = row.bytes;
      edge.net_wait = span_of(row.net_wait_ns);
      member.edges.push_back(edge);
    }
  }

  static void add_count(Membership& member, PeerCount count) {
    count.entered = std::max(count.entered, count.done);
    if (count.entered != 0 && count.entered <= kOrdinalMax) member.peers.push_back(count);
  }

  void read_histograms() {
    for (std::size_t slot = 0; slot < kHistogramSlots; ++slot) {
      RecordHistogram row;
      if (!load(file_, kHistogramsAt, slot, row)) return;
      const auto kind = static_cast<std::uint8_t>(row.key >> 8U);
      const auto bits = static_cast<std::uint32_t>(row.key & 0xffU);
      if (find_row(row.key, row.comm) == kNone || kind >= kOpKinds || bits > 64) continue;
      out_.durations.push_back({row.comm,
                                static_cast<OpKind>(kind),
                                bits,
                                row.count,
                                span_of(row.max_ns),
                                {row.buckets.begin(), row.buckets.end()}});
    }
  }

  // Sorts the lists and lowers `done`: operations finish out of order within a batch, but `done`
  // means that all operations up to it are finished.
  void settle(Membership& member, const RecordCommunicator& row) const {
    std::ranges::sort(member.pending, [](const Operation& a, const Operation& b) {
      return a.age != b.age ? a.age > b.age : a.ordinal < b.ordinal;
    });
    std::ranges::sort(member.recent, {}, &Past::ordinal);
    for (const Operation& op : member.pending) {
      if (!is_point_to_point(op.signature.kind))
        member.done = std::min(member.done, op.ordinal - 1);
    }
    const bool waits = std::ranges::any_of(
        member.pending, [](const Operation& op) { return !is_point_to_point(op.signature.kind); });
    if (waits || row.in_call_at_ns != 0 || row.in_launch_at_ns != 0) return;
    // The end of dropped operations is never seen either.
    if (row.unreported > 0 || out_.dropped > 0) member.started = member.done = member.entered;
  }

  static constexpr std::size_t kNone = kCommunicatorSlots;
  std::string_view file_;
  Nanos now_;
  RecordedCollectives out_;
  std::vector<RecordCommunicator> rows_;  // the rows of out_.comms
  std::array<std::size_t, kCommunicatorSlots> by_slot_{};
  std::array<OperationKey, kOperationSlots> operations_{};
};

}  // namespace

std::vector<CommunicatorCount> count_communicators(std::string_view bytes) {
  std::vector<CommunicatorCount> counts;
  for (std::size_t slot = 0; slot < kCommunicatorSlots; ++slot) {
    RecordCommunicator row;
    if (!load(bytes, 0, slot, row)) break;
    if (!is_usable(row)) continue;
    level(row);
    const bool over = unreported_are_over(row);
    counts.push_back({row.comm, over ? row.started : row.entered, row.done,
                      !is_source(row, RecordSource::kTorchGroup)});
  }
  return counts;
}

Traffic read_traffic(std::string_view communicators, std::string_view tables) {
  std::array<RecordCommunicator, kCommunicatorSlots> comms{};
  for (std::size_t slot = 0; slot < kCommunicatorSlots; ++slot) {
    RecordCommunicator row;
    if (!load(communicators, 0, slot, row)) break;
    if (is_usable(row) && is_source(row, RecordSource::kNccl)) comms[slot] = row;
  }
  // The row of the communicator that a row of another table belongs to; null: it is left over.
  const auto owner = [&](std::uint64_t key, std::uint64_t comm) -> const RecordCommunicator* {
    const std::uint64_t slot = (key >> 32U) - 1;
    const bool is_owned = comm != 0 && slot < kCommunicatorSlots && comms[slot].comm == comm;
    return is_owned ? &comms[slot] : nullptr;
  };
  Traffic traffic;
  for (std::size_t slot = 0; slot < kEdgeSlots; ++slot) {
    RecordEdge row;
    if (!load(tables, 0, slot, row)) return traffic;
    const auto peer = static_cast<std::int32_t>(static_cast<std::uint32_t>(row.key));
    if (owner(row.key, row.comm) == nullptr || peer < 0 || row.net_wait_ns == 0) continue;
    traffic.sent.push_back({row.comm, peer, row.bytes, span_of(row.net_wait_ns)});
  }
  for (std::size_t slot = 0; slot < kRateSlots; ++slot) {
    RecordRate row;
    if (!load(tables, kRatesAt - kEdgesAt, slot, row)) return traffic;
    const RecordCommunicator* const comm = owner(row.key, row.comm);
    const auto kind = static_cast<std::uint8_t>(row.key >> 8U);
    const auto bits = static_cast<std::uint32_t>(row.key & 0xffU);
    if (comm == nullptr || kind >= kOpKinds || bits > 64 || row.count == 0) continue;
    traffic.moved.push_back({row.comm, comm->size, static_cast<OpKind>(kind), bits, row.count,
                             row.bytes, span_of(row.busy_ns)});
  }
  return traffic;
}

std::map<std::uint64_t, std::string> names_of(std::string_view bytes) {
  std::map<std::uint64_t, std::string> names;
  for (std::size_t slot = 0; slot < kCommunicatorSlots; ++slot) {
    RecordCommunicator row;
    if (!load(bytes, 0, slot, row)) break;
    if (is_usable(row) && is_source(row, RecordSource::kNccl)) names[row.comm] = text_of(row.name);
  }
  return names;
}

bool has_nccl(std::string_view bytes) {
  for (std::size_t slot = 0; slot < kCommunicatorSlots; ++slot) {
    RecordCommunicator row;
    if (!load(bytes, 0, slot, row)) break;
    if (is_usable(row) && is_source(row, RecordSource::kNccl)) return true;
  }
  return false;
}

std::vector<KnownGroup> known_groups(std::string_view bytes) {
  std::vector<KnownGroup> groups;
  for (std::size_t slot = 0; slot < kCommunicatorSlots; ++slot) {
    RecordCommunicator row;
    if (!load(bytes, 0, slot, row)) break;
    if (!is_usable(row) || row.size == 0 || !is_source(row, RecordSource::kTorchGroup)) continue;
    groups.push_back({text_of(row.name), text_of(row.label), row.comm, row.size, row.rank});
  }
  return groups;
}

base::Result<RecordedCollectives> read_collectives(std::string_view file, base::Nanos now) {
  RR_TRY(decode_record(file));
  std::uint32_t minor = 0;
  std::memcpy(&minor, file.data() + offsetof(ProgressRecord, minor), sizeof minor);
  if (minor == 0 || file.size() <= kCommunicatorsAt) return RecordedCollectives{};
  return TablesReader(file, now).read();
}

}  // namespace robustrun::tracer
