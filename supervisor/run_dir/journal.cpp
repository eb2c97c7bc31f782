#include "supervisor/run_dir/journal.h"

#include <fmt/core.h>

#include <cerrno>
#include <utility>

#include "wire/messages/field_codec.h"

namespace robustrun::supervisor {
namespace {

constexpr std::ptrdiff_t kDamagesNamedMax = 3;

// Kinds of records: docs/formats/journal.md. Never reused, never renumbered.
template <class Body>
constexpr std::uint32_t kKind = 0;
template <>
constexpr std::uint32_t kKind<RunStarted> = 1;
template <>
constexpr std::uint32_t kKind<AgentJoined> = 2;
template <>
constexpr std::uint32_t kKind<AgentLost> = 3;
template <>
constexpr std::uint32_t kKind<PortReserved> = 4;
template <>
constexpr std::uint32_t kKind<WorkerStarted> = 5;
template <>
constexpr std::uint32_t kKind<WorkerStartFailed> = 6;
template <>
constexpr std::uint32_t kKind<WorkerExited> = 7;
template <>
constexpr std::uint32_t kKind<WorkersGone> = 8;
template <>
constexpr std::uint32_t kKind<Progress> = 9;
template <>
constexpr std::uint32_t kKind<StepGoalReached> = 10;
template <>
constexpr std::uint32_t kKind<SignalReceived> = 11;
template <>
constexpr std::uint32_t kKind<TimerFired> = 12;
template <>
constexpr std::uint32_t kKind<NodeOffered> = 13;
template <>
constexpr std::uint32_t kKind<FaultInjected> = 14;
template <>
constexpr std::uint32_t kKind<SupervisorResumed> = 15;
template <>
constexpr std::uint32_t kKind<NodeEnding> = 17;
template <>
constexpr std::uint32_t kKind<NodesChecked> = 16;
template <>
constexpr std::uint32_t kKind<PlacementSolved> = 18;
template <>
constexpr std::uint32_t kKind<Diagnosed> = 19;
template <>
constexpr std::uint32_t kKind<NodeHealth> = 20;
template <>
constexpr std::uint32_t kKind<UpdateRequested> = 22;
template <>
constexpr std::uint32_t kKind<MetricAlarm> = 21;
template <>
constexpr std::uint32_t kKind<NodesReplayed> = 24;
template <>
constexpr std::uint32_t kKind<CheckpointNoted> = 32;
template <>
constexpr std::uint32_t kKind<CheckpointDemoted> = 33;
template <>
constexpr std::uint32_t kKind<BackupSolved> = 34;
template <>
constexpr std::uint32_t kKind<CopiesKept> = 35;
template <>
constexpr std::uint32_t kKind<HeldCopiesSaved> = 36;
template <>
constexpr std::uint32_t kKind<StartStages> = 31;
template <>
constexpr std::uint32_t kKind<SavingOver> = 37;
template <>
constexpr std::uint32_t kKind<CheckpointMoved> = 38;
template <>
constexpr std::uint32_t kKind<Decision> = 64;
template <>
constexpr std::uint32_t kKind<Finish> = 65;
template <>
constexpr std::uint32_t kKind<GroupFormed> = 66;

// A record's payload.
template <class Body>
struct Record {
  base::Nanos at{};
  base::NodeId node;
  base::Generation generation;
  Body body;
  template <class V>
  void fields(V& v) {
    v(1, "at", at);
    v(2, "node", node);
    v(3, "generation", generation);
    v(4, "body", body);
  }
};

struct FinishBody {
  std::int32_t exit_code = 0;
  template <class V>
  void fields(V& v) {
    v(1, "exit_code", exit_code);
  }
};

template <class Body>
EncodedEntry encode_as(std::uint32_t kind, Record<Body> record) {
  return {kind, wire::encode(record)};
}

template <class Body>
bool decode_event(std::uint32_t kind, std::string_view payload,
                  base::Result<std::optional<JournalEntry>>& out) {
  static_assert(kKind<Body> != 0, "give every event a kind, here and in docs/formats/journal.md");
  if (kind != kKind<Body>) return false;
  auto record = wire::decode<Record<Body>>(payload);
  if (record) {
    out = JournalEntry{
        record->at, Event{record->at, record->node, record->generation, std::move(record->body)}};
  } else {
    out = std::unexpected(std::move(record).error());
  }
  return true;
}

template <class... Bodies>
bool decode_any_event(std::uint32_t kind, std::string_view payload,
                      base::Result<std::optional<JournalEntry>>& out,
                      const std::variant<Bodies...>*) {
  return (decode_event<Bodies>(kind, payload, out) || ...);
}

}  // namespace

EncodedEntry encode_entry(const JournalEntry& entry) {
  if (const auto* decision = std::get_if<Decision>(&entry.what)) {
    return encode_as(kKind<Decision>, Record<Decision>{entry.at, {}, {}, *decision});
  }
  if (const auto* finish = std::get_if<Finish>(&entry.what)) {
    return encode_as(kKind<Finish>, Record<FinishBody>{entry.at, {}, {}, {finish->exit_code}});
  }
  if (const auto* group = std::get_if<GroupFormed>(&entry.what)) {
    return encode_as(kKind<GroupFormed>, Record<GroupFormed>{entry.at, {}, {}, *group});
  }
  const auto& event = std::get<Event>(entry.what);
  return std::visit(
      [&](const auto& body) {
        using Body = std::decay_t<decltype(body)>;
        return encode_as(kKind<Body>, Record<Body>{event.at, event.node, event.generation, body});
      },
      event.body);
}

base::Result<std::optional<JournalEntry>> decode_entry(std::uint32_t kind,
                                                       std::string_view payload) {
  if (kind == kKind<Decision>) {
    auto record = RR_TRY(wire::decode<Record<Decision>>(payload));
    return JournalEntry{record.at, std::move(record.body)};
  }
  if (kind == kKind<GroupFormed>) {
    auto record = RR_TRY(wire::decode<Record<GroupFormed>>(payload));
    return JournalEntry{record.at, std::move(record.body)};
  }
  if (kind == kKind<Finish>) {
    const auto record = RR_TRY(wire::decode<Record<FinishBody>>(payload));
    return JournalEntry{record.at, Finish{record.body.exit_code}};
  }
  base::Result<std::optional<JournalEntry>> out = std::nullopt;
  decode_any_event(kind, payload, out, static_cast<const EventBody*>(nullptr));
  return out;
}

base::Result<Journal> Journal::create(const std::string& path) {
  return Journal(RR_TRY(base::JournalWriter::open(path)));
}

base::Status Journal::append(const JournalEntry& entry) {
  const EncodedEntry record = encode_entry(entry);
  return writer_.append(record.kind, record.payload);
}

base::Status Journal::sync() { return writer_.sync(); }

namespace {

std::string damage_words(const std::string& path, const std::vector<base::JournalDamage>& damage) {
  if (damage.empty()) return "";
  std::uint64_t records = 0;
  std::string places;
  for (const base::JournalDamage& each : damage) {
    records += each.records;
    if (&each - damage.data() < kDamagesNamedMax) {
      places += fmt::format("{}{} bytes from byte {} on", places.empty() ? "" : ", ", each.bytes,
                            each.offset);
    }
  }
  if (std::cmp_greater(damage.size(), kDamagesNamedMax)) {
    places += fmt::format(", {} places in all", damage.size());
  }
  return fmt::format("{} is damaged: {} {} lost ({}); the other records are used", path, records,
                     records == 1 ? "record is" : "records are", places);
}

}  // namespace

base::Result<JournalReadout> read_run_journal(const std::string& path) {
  auto contents = base::read_journal(path);
  if (!contents) {
    base::Error error = std::move(contents).error();
    if (error.os_errno == ENOENT) error.code = base::Errc::kNotFound;
    return std::unexpected(std::move(error));
  }
  JournalReadout readout;
  readout.torn_bytes = contents->torn_bytes;
  readout.damage = damage_words(path, contents->damage);
  readout.entries.reserve(contents->records.size());
  for (const base::JournalRecord& record : contents->records) {
    auto entry = decode_entry(record.kind, record.payload);
    if (!entry) {
      return base::fail(base::Errc::kCorrupt,
                        fmt::format("cannot read record {} (kind {}) of {}: {}", record.sequence,
                                    record.kind, path, entry.error().what));
    }
    if (*entry) readout.entries.push_back(**std::move(entry));
  }
  return readout;
}

}  // namespace robustrun::supervisor
