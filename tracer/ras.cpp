#include "tracer/ras.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <tuple>

#include "base/core/text.h"
#include "tracer/document.h"
#include "tracer/limits.h"

namespace robustrun::tracer {
namespace {

using base::Errc;

constexpr std::uint32_t kNcclInProgress = 7;  // ncclResult_t

std::uint32_t small(const Value& value) {
  const std::int64_t found = value.integer().value_or(0);
  return found > 0 && found <= UINT32_MAX ? static_cast<std::uint32_t>(found) : 0;
}

std::int32_t number_or_none(const Value& value) {
  const std::int64_t found = value.integer().value_or(-1);
  return found >= 0 && found <= INT32_MAX ? static_cast<std::int32_t>(found) : -1;
}

std::string short_text(const Value& value) {
  return base::printable(value.text().value_or("").substr(0, kRasTextMax));
}

std::uint64_t hash_of(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  std::uint64_t hash = 0;
  std::from_chars(text.data(), text.data() + text.size(), hash, 16);
  return hash;
}

RasRank rank_of(const Value& value, bool answered) {
  RasRank rank;
  rank.rank = small(value["rank"]);
  rank.host = short_text(value["host"]);
  if (rank.host == "unknown") rank.host.clear();
  rank.pid = number_or_none(value["pid"]);
  rank.gpu = number_or_none(value["cuda_dev"]);
  rank.answered = answered;
  const Value status = value["status"];
  rank.unresponsive = status["unresponsive"].boolean().value_or(false);
  rank.dead = status["considered_dead"].boolean().value_or(false);
  rank.aborted = status["abort_flag"].boolean().value_or(false);
  for (const char* const which : {"init_state", "async_error"}) {
    const std::uint32_t result = small(status[which]);
    if (result != 0 && result != kNcclInProgress) rank.error = result;
  }
  const Value counts = value["collective_counts"];
  for (std::size_t i = 0; i < std::min(counts.size(), kRasFunctionsMax); ++i) {
    const std::int64_t count = counts.member(i).second.integer().value_or(0);
    if (count > 0) rank.launched += static_cast<std::uint64_t>(count);
  }
  return rank;
}

base::Result<RasReport> from_document(const Value& root) {
  const Value communicators = root["communicators"];
  if (!communicators.is_list()) {
    return base::fail(Errc::kCorrupt, "it has no list of communicators");
  }
  RasReport report;
  report.nccl_version = short_text(root["nccl_version"]);
  report.timeouts = small(root["ras"]["timeouts_count"]);
  if (communicators.size() > kRasCommunicatorsMax) {
    return base::fail(Errc::kLimit,
                      fmt::format("it has more than {} communicators", kRasCommunicatorsMax));
  }
  std::size_t ranks = 0;
  for (std::size_t i = 0; i < communicators.size(); ++i) {
    const Value value = communicators.at(i);
    RasCommunicator communicator;
    communicator.hash = hash_of(value["hash"].text().value_or(""));
    communicator.second_hash = short_text(value["secondary_hash"]);
    communicator.size = small(value["size"]);
    for (const char* const which : {"ranks", "missing_ranks"}) {
      const Value list = value[which];
      if (!list.is_list()) continue;
      ranks += list.size();
      if (ranks > kRasRanksMax) {
        return base::fail(Errc::kLimit, fmt::format("it has more than {} ranks", kRasRanksMax));
      }
      for (std::size_t at = 0; at < list.size(); ++at) {
        communicator.ranks.push_back(rank_of(list.at(at), which == std::string_view("ranks")));
      }
    }
    report.communicators.push_back(std::move(communicator));
  }
  return report;
}

// Who a rank of any communicator is: one process may have several, each with a GPU of its own.
using Identity = std::tuple<std::string, std::int32_t, std::int32_t>;

Identity identity_of(const RasRank& rank) { return {rank.host, rank.pid, rank.gpu}; }

bool is_known(const RasRank& rank) { return !rank.host.empty() && rank.pid >= 0; }

bool is_out(const RasRank& rank) { return rank.dead || rank.unresponsive; }

// The newest collective that nobody can still be inside; none: what is told does not say. What a
// member has not launched is done by none. While one is dead or silent, neither is what the others
// have all launched last.
std::optional<std::uint64_t> done_by_all(const RasCommunicator& communicator) {
  std::optional<std::uint64_t> least;
  std::uint64_t most = 0;
  bool is_complete = true;
  for (const RasRank& rank : communicator.ranks) {
    is_complete = is_complete && !is_out(rank);
    if (!rank.answered) continue;
    least = std::min(least.value_or(rank.launched), rank.launched);
    most = std::max(most, rank.launched);
  }
  if (!least || (is_complete && *least == most)) return std::nullopt;
  if (is_complete || *least == 0) return least;
  return *least - 1;
}

Membership membership_of(const RasCommunicator& communicator, const RasRank& rank,
                         std::optional<std::uint64_t> done) {
  Membership membership;
  membership.comm = communicator.hash;
  for (const char c : communicator.second_hash) {  // two of one hash are told apart by it
    membership.comm = (membership.comm ^ static_cast<unsigned char>(c)) * 1099511628211U;
  }
  membership.name = fmt::format("NCCL communicator {:#x}", communicator.hash);
  membership.size = communicator.size;
  membership.rank = rank.rank;
  membership.counts_completion = rank.answered && done;
  membership.entered = membership.started = rank.launched;
  if (!membership.counts_completion) return membership;
  membership.done = *done;
  if (rank.launched > *done) {
    Operation& operation = membership.pending.emplace_back();
    operation.ordinal = *done + 1;
  }
  return membership;
}

void add_life(const RasRank& rank, RankSnapshot& snapshot) {
  if (rank.dead) {
    snapshot.life = Life::kDead;
    snapshot.end = "NCCL's RAS considers it dead";
  } else if (rank.unresponsive && snapshot.life != Life::kDead) {
    snapshot.life = Life::kStopped;
    snapshot.end = "it does not answer NCCL's RAS";
  } else if (rank.answered && snapshot.life == Life::kUnknown) {
    snapshot.life = Life::kRunning;
  }
}

void add_notes(const RasCommunicator& communicator, const RasRank& rank,
               std::vector<std::string>& notes) {
  const auto note = [&](const std::string& what) {
    if (notes.size() < kRasNotesMax) {
      notes.push_back(
          fmt::format("communicator {:#x}, rank {}: {}", communicator.hash, rank.rank, what));
    }
  };
  if (rank.error != 0) note(fmt::format("NCCL error {}", rank.error));
  if (rank.aborted) note("it was aborted");
}

}  // namespace

std::string with_forgotten_commas(std::string_view json) {
  constexpr std::string_view kKey = "\"nvml_dev\"";
  std::string out;
  std::size_t copied = 0;
  for (std::size_t at = json.find(kKey); at != std::string_view::npos; at = json.find(kKey, at)) {
    at += kKey.size();
    const std::size_t digits_end = json.find_first_not_of(" :-0123456789", at);
    const std::size_t next = json.find_first_not_of(" \r\n\t", digits_end);
    if (next == std::string_view::npos) break;
    if (json[next] != '"') continue;
    out.append(json.substr(copied, digits_end - copied)).push_back(',');
    copied = digits_end;
  }
  return out.append(json.substr(copied));
}

base::Result<RasReport> read_ras_report(std::string_view bytes) {
  const auto refuse = [](const base::Error& error) {
    return base::fail(error.code, "cannot read the report of NCCL's RAS: " + error.what);
  };
  if (!base::trim(bytes).starts_with('{')) {
    auto report = read_ras_text(bytes);
    if (!report) return refuse(report.error());
    return report;
  }
  auto document = read_json(bytes);
  if (!document && document.error().code == Errc::kCorrupt) {
    document = read_json(with_forgotten_commas(bytes));
  }
  if (!document) return refuse(document.error());
  auto report = from_document(document->root());
  if (!report) return refuse(report.error());
  return report;
}

RasFleet fleet_of(const RasReport& report) {
  RasFleet result;
  const auto world = std::ranges::max_element(report.communicators, {}, &RasCommunicator::size);
  if (world == report.communicators.end()) return result;
  std::map<Identity, std::uint32_t> global;
  for (const RasRank& rank : world->ranks) {
    if (is_known(rank)) global.emplace(identity_of(rank), rank.rank);
  }
  std::map<std::uint32_t, RankSnapshot> snapshots;
  std::size_t strangers = 0;
  for (auto communicator = report.communicators.begin(); communicator != report.communicators.end();
       ++communicator) {
    const std::optional<std::uint64_t> done = done_by_all(*communicator);
    for (const RasRank& rank : communicator->ranks) {
      add_notes(*communicator, rank, result.notes);
      std::uint32_t number = rank.rank;
      if (communicator != world) {
        const auto found = global.find(identity_of(rank));
        if (!is_known(rank) || found == global.end()) {
          ++strangers;
          continue;
        }
        number = found->second;
      }
      RankSnapshot& snapshot = snapshots[number];
      snapshot.rank = base::Rank{number};
      snapshot.node = rank.host;
      snapshot.pid = std::max(0, rank.pid);
      if (rank.gpu >= 0) snapshot.local_rank.value = static_cast<std::uint32_t>(rank.gpu);
      add_life(rank, snapshot);
      // One that answered, but not for this communicator, has left it.
      if (rank.answered || is_out(rank)) {
        snapshot.comms.push_back(membership_of(*communicator, rank, done));
      }
    }
  }
  result.fleet.world_size = world->size;
  for (auto& [number, snapshot] : snapshots) result.fleet.ranks.push_back(std::move(snapshot));
  if (strangers > 0) {
    result.notes.push_back(fmt::format(
        "{} ranks of smaller communicators belong to no process of the largest one", strangers));
  }
  if (report.timeouts > 0) {
    result.notes.push_back(
        fmt::format("NCCL's RAS had {} time-outs while it collected this", report.timeouts));
  }
  return result;
}

}  // namespace robustrun::tracer
