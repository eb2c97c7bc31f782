// Two passes. The first reads progress records and RAS reports, and notes which ranks use which
// group in the dumps; the second turns the dumps into memberships. Where several sources cover one
// communicator, the progress record wins over the dump, and the dump over RAS.

#include "cli/commands/diagnose_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "base/core/name_ranges.h"
#include "base/core/text.h"
#include "cli/options/limits.h"
#include "tracer/collectives_reader.h"
#include "tracer/flight_hosts.h"
#include "tracer/flight_memberships.h"
#include "tracer/progress_record.h"
#include "tracer/ras.h"
#include "tracer/record_collectives.h"
#include "tracer/record_file.h"

namespace robustrun::cli {
namespace {

using base::Errc;
using tracer::FlightRecording;
using tracer::KnownGroup;
using tracer::RankSnapshot;

constexpr std::string_view kDefaultGroup = "default_pg";

enum class FileKind : std::uint8_t { kRecord, kRas, kDump };

// By the first bytes alone; the file may still be unreadable.
std::optional<FileKind> kind_of(std::string_view bytes) {
  constexpr std::size_t kLooked = 4096;
  const std::string_view begin = bytes.substr(0, kLooked);
  if (begin.starts_with(std::string_view(tracer::kRecordMagic.data(), 8))) return FileKind::kRecord;
  if (begin.starts_with('\x80')) return FileKind::kDump;
  const std::string_view text = base::trim(begin);
  if (text.starts_with("NCCL version")) return FileKind::kRas;
  if (!text.starts_with('{')) return std::nullopt;
  const auto has = [&](std::string_view key) { return text.find(key) != std::string_view::npos; };
  if (has("\"communicators")) return FileKind::kRas;
  constexpr std::array<std::string_view, 5> kKeysOfDumps{
      R"("entries")", R"("nccl_comm_state")", R"("pg_config")", R"("pg_status")", R"("version")"};
  if (std::ranges::none_of(kKeysOfDumps, has)) return std::nullopt;
  return FileKind::kDump;
}

// The newest time in a record, in place of the unknown time at which it was copied.
base::Nanos newest_time(std::string_view bytes, const tracer::Reading& reading) {
  base::Nanos newest{};
  for (const auto& at : {reading.boot_at, reading.user_code_at, reading.last_step_at}) {
    newest = std::max(newest, at.value_or(base::Nanos{}));
  }
  for (std::size_t slot = 0; slot < tracer::kCommunicatorSlots; ++slot) {
    tracer::RecordCommunicator row;
    const std::size_t at = tracer::kCommunicatorsAt + slot * sizeof row;
    if (bytes.size() < at + sizeof row) break;
    std::memcpy(&row, bytes.data() + at, sizeof row);
    for (const std::uint64_t ns : {row.entered_at_ns, row.done_at_ns, row.in_call_at_ns}) {
      constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
      if (row.in_use == 1 && ns <= kMost) {
        newest = std::max(newest, base::Nanos(static_cast<std::int64_t>(ns)));
      }
    }
  }
  return newest;
}

struct CommGroup {
  std::string description;
  std::string back_end;  // if it is a hooked one
  std::vector<std::uint32_t> members;  // from a dump of NCCL, else from settle_members()
  std::set<std::uint32_t> users;
};

class Gathering {
 public:
  explicit Gathering(const ReadFile& read) : read_(read) {}
  base::Result<Gathered> gather(const std::vector<NamedFile>& files);

 private:
  struct Dump {
    std::string path;
    std::uint32_t rank = 0;
    bool is_empty = false;  // no entries
    bool is_blank = false;  // no entries and no pg_status
    bool is_idle = false;   // the rank is inside no operation
  };

  base::Status look_at(const NamedFile& file);
  base::Status look_at_dump(const NamedFile& file, const std::string& bytes);
  base::Status add_record(const std::string& path, const std::string& bytes);
  base::Status add_dump(const Dump& dump);
  void add_ras(const tracer::RasReport& report);
  base::Status add_empty_files();
  void add_unknown_members();
  void settle_idle();
  void note_silent();
  void note_halted();
  void note_groups(const FlightRecording& recording, std::uint32_t rank);
  void settle_members();
  RankSnapshot& snapshot(std::uint32_t rank);
  void add_communicator(tracer::Membership membership, RankSnapshot& to);
  void note_missing_ranks();

  const ReadFile& read_;
  std::vector<Dump> dumps_;
  std::map<std::uint32_t, std::string> dump_of_rank_;
  std::vector<NamedFile> empty_files_;
  tracer::RestingJob resting_;
  tracer::HostsAtRest hosts_;
  std::set<std::uint32_t> silent_;  // ranks that recorded nothing while others did
  std::int64_t newest_ns_ = 0;    // of all dumps
  std::map<std::uint32_t, std::string> record_of_rank_;
  std::vector<tracer::RasReport> reports_;
  std::map<std::string, CommGroup> groups_;
  std::map<std::uint32_t, std::vector<KnownGroup>> known_;  // by rank
  std::map<std::uint32_t, RankSnapshot> ranks_;
  std::uint32_t world_ = 0;
  Gathered gathered_;
};

RankSnapshot& Gathering::snapshot(std::uint32_t rank) {
  RankSnapshot& found = ranks_[rank];
  found.rank = base::Rank{rank};
  world_ = std::max(world_, rank + 1);
  return found;
}

void Gathering::add_communicator(tracer::Membership membership, RankSnapshot& to) {
  const bool is_there =
      std::ranges::any_of(to.comms, [&](const auto& comm) { return comm.comm == membership.comm; });
  if (!is_there) to.comms.push_back(std::move(membership));
}

base::Status Gathering::add_record(const std::string& path, const std::string& bytes) {
  const tracer::Reading reading = RR_TRY(tracer::decode_record(bytes));
  tracer::ProgressRecord record;
  std::memcpy(&record, bytes.data(), sizeof record);
  if (record.rank >= kDiagnosedRanksMax)
    return base::fail(Errc::kCorrupt, "its rank is out of range");
  const auto [first, is_new] = record_of_rank_.emplace(record.rank, path);
  if (!is_new) {
    return base::fail(Errc::kConflict, fmt::format("{} is of rank {} as well; name the one that "
                                                   "is meant",
                                                   first->second, record.rank));
  }
  const base::Nanos now = newest_time(bytes, reading);
  tracer::RecordedCollectives collectives = RR_TRY(tracer::read_collectives(bytes, now));
  RankSnapshot& rank = snapshot(record.rank);
  if (reading.worker_pid <= std::numeric_limits<std::int32_t>::max()) {
    rank.pid = static_cast<std::int32_t>(reading.worker_pid);
  }
  rank.steps = reading.steps;
  if (reading.last_step_at) rank.step_age = now - *reading.last_step_at;
  rank.calls_still = collectives.calls_still;
  rank.proxy_still = collectives.proxy_still;
  for (auto& membership : collectives.comms) add_communicator(std::move(membership), rank);
  if (bytes.size() > tracer::kCommunicatorsAt) {
    auto known = tracer::known_groups(std::string_view(bytes).substr(tracer::kCommunicatorsAt));
    std::ranges::move(known, std::back_inserter(known_[record.rank]));
  }
  return {};
}

void Gathering::note_groups(const FlightRecording& recording, std::uint32_t rank) {
  for (const tracer::RecordedGroup& told : recording.groups) {
    if (told.ranks.empty() || told.ranks.size() > kDiagnosedRanksMax) continue;
    if (std::ranges::max(told.ranks) >= kDiagnosedRanksMax) continue;
    CommGroup& group = groups_[told.name];
    if (group.members.empty()) group.members = told.ranks;
    group.description = told.description;
    if (tracer::is_hooked(recording.back_end)) group.back_end = recording.back_end;
    world_ = std::max(world_, std::ranges::max(told.ranks) + 1);
  }
  for (const tracer::RecordedEntry& entry : recording.entries) {
    CommGroup& group = groups_[entry.group_name];
    group.description = entry.group_description;
    group.users.insert(rank);
  }
}

base::Status Gathering::look_at_dump(const NamedFile& file, const std::string& bytes) {
  const FlightRecording recording = RR_TRY(tracer::read_flight_recording(bytes));
  const std::uint32_t rank = RR_TRY(rank_in_name(file.path));
  const auto [first, is_new] = dump_of_rank_.emplace(rank, file.path);
  if (!is_new) {
    return base::fail(Errc::kConflict, fmt::format("{} is of rank {} as well; name the one that "
                                                   "is meant",
                                                   first->second, rank));
  }
  const bool is_blank = recording.entries.empty() && recording.status.empty();
  dumps_.push_back(
      {file.path, rank, recording.entries.empty(), is_blank, tracer::is_inside_nothing(recording)});
  if (recording.entries.empty()) {
    gathered_.notes.push_back(fmt::format("the dump of rank {} has no entries", rank));
  }
  static_cast<void>(snapshot(rank));
  newest_ns_ = std::max(newest_ns_, tracer::newest_time(recording));
  resting_.beside.merge(tracer::groups_beside(recording));
  resting_.tells_starts |= tracer::tells_starts(recording);
  hosts_.add(rank, recording);
  note_groups(recording, rank);
  return {};
}

base::Status Gathering::look_at(const NamedFile& file) {
  const auto left = read_(file.path);
  if (left && left->empty()) {
    empty_files_.push_back(file);
    return {};
  }
  const auto kind = left ? kind_of(*left) : std::nullopt;
  base::Status status;
  if (!left) {
    status = std::unexpected(left.error());
  } else if (!kind) {
    if (!file.named) return {};
    status = base::fail(Errc::kInvalidArgument,
                        "it is neither a progress record, nor a dump of PyTorch's Flight Recorder, "
                        "nor a report of NCCL's RAS");
  } else if (*kind == FileKind::kRecord) {
    status = add_record(file.path, *left);
  } else if (*kind == FileKind::kDump) {
    status = look_at_dump(file, *left);
  } else if (auto report = tracer::read_ras_report(*left)) {
    reports_.push_back(*std::move(report));
  } else {
    status = std::unexpected(report.error());
  }
  const bool is_other = !status && status.error().code == Errc::kNotFound;
  if (status || (is_other && *kind == FileKind::kDump && !file.named)) return {};
  const std::string what =
      fmt::format("cannot use {}: {}", base::printable(file.path), status.error().what);
  // These need the user's decision: two files of one rank, or a name without a rank.
  const bool is_question =
      status.error().code == Errc::kConflict || status.error().code == Errc::kInvalidArgument;
  if (file.named || is_question) return base::fail(status.error().code, what);
  gathered_.notes.push_back(what);
  return {};
}

// Groups whose members torch does not list: the ranks that have used them.
void Gathering::settle_members() {
  for (auto& [name, group] : groups_) {
    std::vector<std::uint32_t>& members = group.members;
    if (members.empty() && group.description == kDefaultGroup) {
      for (std::uint32_t rank = 0; rank < world_; ++rank) members.push_back(rank);
    } else if (members.empty()) {
      members.assign(group.users.begin(), group.users.end());
    }
    const std::uint64_t key = tracer::group_key(name, members);
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (!dump_of_rank_.contains(members[i])) continue;
      std::vector<KnownGroup>& known = known_[members[i]];
      if (std::ranges::find(known, name, &KnownGroup::name) != known.end()) continue;
      const bool described = group.description != "undefined";
      known.push_back({name, described ? group.description : "", key,
                       static_cast<std::uint32_t>(members.size()), static_cast<std::uint32_t>(i)});
    }
  }
}

base::Status Gathering::add_dump(const Dump& dump) {
  if (dump.is_blank) return {};
  const std::string bytes = RR_TRY(read_(dump.path));
  const FlightRecording recording = RR_TRY(tracer::read_flight_recording(bytes));
  for (auto& membership :
       tracer::memberships(recording, known_[dump.rank], dump.rank, newest_ns_, &resting_)) {
    add_communicator(std::move(membership), snapshot(dump.rank));
  }
  return {};
}

// The name that dumps in one folder share, without the rank.
std::string_view stem_of(std::string_view path) {
  return path.substr(0, path.find_last_not_of("0123456789") + 1);
}

// An empty dump file: its rank began to write and could not finish.
base::Status Gathering::add_empty_files() {
  for (const NamedFile& file : empty_files_) {
    const auto is_named_alike = [&](const Dump& dump) {
      return stem_of(dump.path) == stem_of(file.path);
    };
    const auto rank = rank_in_name(file.path);
    const bool is_dump = rank && std::ranges::any_of(dumps_, is_named_alike);
    if (!is_dump && file.named) {
      return base::fail(Errc::kInvalidArgument,
                        fmt::format("cannot use {}: it is empty", base::printable(file.path)));
    }
    if (!is_dump || !dump_of_rank_.emplace(*rank, file.path).second) continue;
    static_cast<void>(snapshot(*rank));
    silent_.insert(*rank);
    gathered_.notes.push_back(fmt::format("{} is empty", base::printable(file.path)));
  }
  return {};
}

// Ranks that others count as members of a group and that do not report it themselves.
void Gathering::add_unknown_members() {
  for (const auto& [name, group] : groups_) {
    const std::uint64_t key = tracer::group_key(name, group.members);
    bool was_used = false;  // so all members have entered it
    for (const std::uint32_t member : group.members) {
      const auto rank = ranks_.find(member);
      if (rank == ranks_.end()) continue;
      const auto& comms = rank->second.comms;
      const auto own = std::ranges::find(comms, key, &tracer::Membership::comm);
      was_used |= own != comms.end() && own->done > 0;
    }
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      const bool has_dump = dump_of_rank_.contains(group.members[i]);
      tracer::Membership membership;
      membership.comm = key;
      membership.name = group.description != "undefined" ? group.description : name;
      if (!group.back_end.empty()) membership.name += " (" + group.back_end + ")";
      membership.size = static_cast<std::uint32_t>(group.members.size());
      membership.rank = static_cast<std::uint32_t>(i);
      membership.counts_completion = has_dump && !was_used;
      add_communicator(std::move(membership), snapshot(group.members[i]));
    }
  }
}

// A rank that is inside no operation has not reached the operation that other members of its group
// are inside.
void Gathering::settle_idle() {
  std::map<std::uint64_t, std::uint64_t> head;  // by communicator
  for (const auto& [number, rank] : ranks_) {
    for (const tracer::Membership& comm : rank.comms) {
      for (const tracer::Operation& operation : comm.pending) {
        if (tracer::is_point_to_point(operation.signature.kind)) continue;
        const auto first = head.emplace(comm.comm, operation.ordinal).first;
        first->second = std::min(first->second, operation.ordinal);
      }
    }
  }
  for (const Dump& dump : dumps_) {
    if (!dump.is_idle) continue;
    for (tracer::Membership& comm : snapshot(dump.rank).comms) {
      if (comm.counts_completion) continue;
      const auto first = head.find(comm.comm);
      const std::uint64_t before = first == head.end() ? 0 : first->second - 1;
      comm.entered = comm.started = comm.done = before;
      comm.counts_completion = true;
    }
  }
}

void Gathering::note_silent() {
  const auto is_empty = [](const Dump& dump) { return dump.is_empty; };
  if (std::ranges::all_of(dumps_, is_empty)) return;  // dumps were requested without entries
  for (const Dump& dump : dumps_) {
    if (dump.is_empty) silent_.insert(dump.rank);
  }
  for (const std::uint32_t rank : silent_) snapshot(rank).silent = true;
}

// Ranks that recorded nothing although they have used a group: other members finished operations
// that need them.
void Gathering::note_halted() {
  for (const std::uint32_t rank : hosts_.halted()) snapshot(rank).halted = true;
  std::set<std::uint64_t> used;  // communicators
  for (const auto& [number, rank] : ranks_) {
    for (const tracer::Membership& comm : rank.comms) {
      if (comm.done > 0) used.insert(comm.comm);
    }
  }
  for (const std::uint32_t rank : silent_) {
    RankSnapshot& silent = snapshot(rank);
    silent.halted = std::ranges::any_of(silent.comms,
                                        [&](const auto& comm) { return used.contains(comm.comm); });
  }
}

// RAS tells which ranks are alive. Its operation counts are used only for ranks that no other file
// covers.
void Gathering::add_ras(const tracer::RasReport& report) {
  tracer::RasFleet ras = tracer::fleet_of(report);
  const bool is_alone = dumps_.empty() && record_of_rank_.empty();
  for (RankSnapshot& seen : ras.fleet.ranks) {
    if (seen.rank.value >= kDiagnosedRanksMax) continue;
    RankSnapshot& rank = snapshot(seen.rank.value);
    rank.life = seen.life;
    rank.end = seen.end;
    if (rank.node.empty()) rank.node = seen.node;
    if (rank.pid == 0) rank.pid = seen.pid;
    rank.local_rank = seen.local_rank;
    if (!is_alone) continue;
    for (auto& membership : seen.comms) add_communicator(std::move(membership), rank);
  }
  if (is_alone) {
    gathered_.notes.push_back(
        "NCCL's RAS counts launched operations, not completed ones: if a second report some "
        "seconds later has other counts, there is no hang");
  }
  if (ras.fleet.world_size <= kDiagnosedRanksMax) world_ = std::max(world_, ras.fleet.world_size);
  std::ranges::move(ras.notes, std::back_inserter(gathered_.notes));
}

void Gathering::note_missing_ranks() {
  std::vector<std::string> missing;
  for (std::uint32_t rank = 0; rank < world_; ++rank) {
    if (!ranks_.contains(rank)) missing.push_back(fmt::to_string(rank));
  }
  if (missing.empty()) return;
  gathered_.notes.push_back(fmt::format("no data of {} {}", missing.size() == 1 ? "rank" : "ranks",
                                        base::name_ranges(missing)));
}

base::Result<Gathered> Gathering::gather(const std::vector<NamedFile>& files) {
  for (const NamedFile& file : files) RR_TRY(look_at(file));
  RR_TRY(add_empty_files());
  if (ranks_.empty() && reports_.empty()) {
    return base::fail(Errc::kNotFound,
                      gathered_.notes.empty()
                          ? "there is no progress record, no dump of PyTorch's Flight Recorder and "
                            "no report of NCCL's RAS"
                          : gathered_.notes.front());
  }
  for (const tracer::RasReport& report : reports_) add_ras(report);
  settle_members();
  for (const Dump& dump : dumps_) RR_TRY(add_dump(dump));
  note_missing_ranks();
  add_unknown_members();
  settle_idle();
  note_silent();
  note_halted();
  gathered_.fleet.at_rest = !dumps_.empty();
  gathered_.fleet.world_size = world_;
  for (auto& [number, rank] : ranks_) gathered_.fleet.ranks.push_back(std::move(rank));
  return std::move(gathered_);
}

}  // namespace

base::Result<std::uint32_t> rank_in_name(const std::string& path) {
  std::string_view name = path;
  for (const std::string_view ending : {".json", ".pickle", ".pkl", ".bin"}) {
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  const std::size_t before = name.find_last_not_of("0123456789");
  const std::string_view digits = before == std::string_view::npos ? name : name.substr(before + 1);
  const auto rank = base::parse_int<std::uint32_t>(digits);
  if (rank && *rank < kDiagnosedRanksMax) return *rank;
  return base::fail(Errc::kInvalidArgument,
                    "its name does not end with its rank; rename it to something like trace_7, as "
                    "torch does");
}

base::Result<Gathered> gather(const std::vector<NamedFile>& files, const ReadFile& read) {
  return Gathering(read).gather(files);
}

}  // namespace robustrun::cli
