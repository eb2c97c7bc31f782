#include "tracer/ras.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

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

// The text form of a report. A table has one line per group of equal communicators:
//   Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
//       #  in group  per comm  per node  per comm  in group
//       0         1         1         4         4         4   RUNNING  MISMATCH
// Below it are the communicators in trouble, "#group-number (hash) MISMATCH", each with lines such
// as
//   4 ranks have launched up to operation 12          (the ranks below it, or all not named)
//   Rank 2 has launched up to operation 11 -- GPU 2 managed by process 17 on node 10.0.0.1
//   Rank 3 -- GPU 3 managed by process 18 on node 10.0.0.1
// Other lines are skipped.

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (const std::string_view word : base::split(line, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

template <class T>
std::optional<T> number(std::string_view word) {
  const auto parsed = base::parse_int<T>(word);
  return parsed ? std::optional(*parsed) : std::nullopt;
}

// The number that follows the word `before`.
template <class T>
std::optional<T> number_after(const std::vector<std::string_view>& words, std::string_view before) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == before) return number<T>(words[i + 1]);
  }
  return std::nullopt;
}

class TextReader {
 public:
  base::Result<RasReport> read(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = base::trim(text.substr(0, end));
      if (line.size() <= kRasLineMax) RR_TRY(take(line));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    end_function();
    if (!saw_report_) return base::fail(Errc::kCorrupt, "it is neither the JSON nor the text form");
    return std::move(report_);
  }

 private:
  enum class Section : std::uint8_t { kNone, kTable, kDead, kMissing, kCounts };

  base::Status take(std::string_view line);
  void take_table_row(const std::vector<std::string_view>& words);
  base::Status take_heading(const std::vector<std::string_view>& words);
  base::Status take_rank(const std::vector<std::string_view>& words);
  base::Result<RasRank*> rank(std::uint32_t number);
  void end_function();

  RasReport report_;
  bool saw_report_ = false;
  Section section_ = Section::kNone;
  std::map<std::uint32_t, std::uint32_t> sizes_;  // by group of the table
  RasCommunicator* communicator_ = nullptr;
  std::map<std::uint64_t, std::size_t> by_hash_;
  std::set<std::pair<std::string, std::int32_t>> dead_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::size_t> by_rank_;
  std::size_t ranks_ = 0;
  std::size_t functions_ = 0;
  // Of the current function whose counts differ.
  std::optional<std::uint64_t> count_of_listed_;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> counts_;  // (count, number of ranks with it)
  std::map<std::uint32_t, std::uint64_t> listed_;
};

void TextReader::take_table_row(const std::vector<std::string_view>& words) {
  constexpr std::size_t kColumns = 8;
  if (words.size() != kColumns) return;
  const auto group = number<std::uint32_t>(words[0]);
  const auto size = number<std::uint32_t>(words[4]);
  if (group && size && sizes_.size() < kRasCommunicatorsMax) sizes_[*group] = *size;
}

// "#0-0 (00ab12…) MISMATCH"
base::Status TextReader::take_heading(const std::vector<std::string_view>& words) {
  end_function();
  communicator_ = nullptr;
  section_ = Section::kNone;
  if (words.size() < 3 || words[1].size() < 3 || !words[1].starts_with('(')) return {};
  std::uint64_t hash = 0;
  std::from_chars(words[1].data() + 1, words[1].data() + words[1].size(), hash, 16);
  const auto [known, is_new] = by_hash_.emplace(hash, report_.communicators.size());
  if (is_new) {
    if (report_.communicators.size() >= kRasCommunicatorsMax) {
      return base::fail(Errc::kLimit,
                        fmt::format("it has more than {} communicators", kRasCommunicatorsMax));
    }
    report_.communicators.emplace_back().hash = hash;
  }
  communicator_ = &report_.communicators[known->second];
  const std::string_view group = words[0].substr(1, words[0].find('-') - 1);
  if (const auto row = number<std::uint32_t>(group)) {
    if (const auto size = sizes_.find(*row); size != sizes_.end()) {
      communicator_->size = size->second;
    }
  }
  if (words[2] == "INCOMPLETE") section_ = Section::kMissing;
  return {};
}

base::Result<RasRank*> TextReader::rank(std::uint32_t number) {
  const auto place = std::pair(communicator_->hash, number);
  if (const auto known = by_rank_.find(place); known != by_rank_.end()) {
    return &communicator_->ranks[known->second];
  }
  if (++ranks_ > kRasTextRanksMax) {
    return base::fail(Errc::kLimit, fmt::format("it names more than {} ranks", kRasTextRanksMax));
  }
  by_rank_[place] = communicator_->ranks.size();
  communicator_->ranks.emplace_back().rank = number;
  return &communicator_->ranks.back();
}

base::Status TextReader::take_rank(const std::vector<std::string_view>& words) {
  const auto number_told = words.size() > 1 ? number<std::uint32_t>(words[1]) : std::nullopt;
  if (!number_told) return {};
  RasRank& found = *RR_TRY(rank(*number_told));
  found.pid = number_after<std::int32_t>(words, "process").value_or(found.pid);
  found.gpu = number_after<std::int32_t>(words, "GPU").value_or(found.gpu);
  if (words.size() > 2 && words[words.size() - 2] == "node") {
    found.host = base::printable(words.back().substr(0, kRasTextMax));
  }
  found.dead = found.dead || dead_.contains({found.host, found.pid});
  if (section_ == Section::kMissing) {
    found.answered = false;
    found.unresponsive = true;
  } else if (section_ == Section::kCounts) {
    const auto own = number_after<std::uint64_t>(words, "operation");
    const bool none = words.size() > 4 && words[3] == "not";
    if (own || none) {
      listed_[*number_told] = own.value_or(0);
    } else if (count_of_listed_) {
      listed_[*number_told] = *count_of_listed_;
    }
  }
  return {};
}

// Ends the list of one function. Ranks that are not named have the only count with fewer names
// listed below it than ranks.
void TextReader::end_function() {
  const auto counts = std::exchange(counts_, {});
  const auto listed = std::exchange(listed_, {});
  count_of_listed_.reset();
  if (section_ != Section::kCounts || communicator_ == nullptr) return;
  if (++functions_ > kRasTextFunctionsMax) return;
  std::map<std::uint64_t, std::uint32_t> named;
  for (const auto& [rank, own] : listed) ++named[own];
  std::optional<std::uint64_t> others;
  for (const auto& [count, how_many] : counts) {
    if (named[count] >= how_many) continue;
    if (others) return;  // two such counts: unknown which rank has which
    others = count;
  }
  if (communicator_->size > kRasTextRanksMax) return;
  for (std::uint32_t member = 0; member < communicator_->size; ++member) {
    const auto own = listed.find(member);
    if (own == listed.end() && !others) continue;
    const auto found = rank(member);
    if (!found) return;
    (*found)->launched += own == listed.end() ? *others : own->second;
  }
}

base::Status TextReader::take(std::string_view line) {
  const std::vector<std::string_view> words = words_of(line);
  if (words.empty()) {
    end_function();
    if (section_ == Section::kTable || section_ == Section::kDead) section_ = Section::kNone;
    return {};
  }
  if (line.starts_with("NCCL version") && words.size() > 2) {
    report_.nccl_version = base::printable(words[2].substr(0, kRasTextMax));
    saw_report_ = true;
  } else if (line.starts_with("Group     Comms")) {
    section_ = Section::kTable;
    saw_report_ = true;
  } else if (line.starts_with('#') && words[0].find('-') != std::string_view::npos) {
    return take_heading(words);
  } else if (line == "DEAD") {
    section_ = Section::kDead;
  } else if (section_ == Section::kTable) {
    take_table_row(words);
  } else if (section_ == Section::kDead && words[0] == "Process" && words.size() > 4) {
    const auto pid = number<std::int32_t>(words[1]);
    if (pid && dead_.size() < kRasTextRanksMax) {
      dead_.emplace(base::printable(words[4].substr(0, kRasTextMax)), *pid);
    }
  } else if (communicator_ == nullptr) {
    return {};
  } else if (line.starts_with("Communicator ranks have different")) {
    end_function();
    section_ = line.ends_with("operation counts") ? Section::kCounts : Section::kNone;
  } else if (words[0] == "Rank") {
    return take_rank(words);
  } else if (section_ == Section::kCounts && words.size() > 2 && words[1] == "ranks") {
    const auto how_many = number<std::uint32_t>(words[0]);
    count_of_listed_ = number_after<std::uint64_t>(words, "operation").value_or(0);
    if (how_many && counts_.size() < kRasTextRanksMax) {
      counts_.emplace_back(*count_of_listed_, *how_many);
    }
  }
  return {};
}

base::Result<RasReport> read_ras_text(std::string_view text) {
  if (text.size() > kDocumentBytesMax) {
    return base::fail(Errc::kLimit, fmt::format("it is longer than {} bytes", kDocumentBytesMax));
  }
  return TextReader().read(text);
}

// Identifies a rank across communicators: host, process, GPU. A process may have several ranks,
// each with its own GPU.
using Identity = std::tuple<std::string, std::int32_t, std::int32_t>;

Identity identity_of(const RasRank& rank) { return {rank.host, rank.pid, rank.gpu}; }

bool is_known(const RasRank& rank) { return !rank.host.empty() && rank.pid >= 0; }

bool is_out(const RasRank& rank) { return rank.dead || rank.unresponsive; }

// The newest collective that no member can still be inside; none: unknown. No member finishes a
// collective that another has not launched. While a member is dead or silent, the newest collective
// that all others have launched may be unfinished, too.
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
  for (const char c : communicator.second_hash) {  // distinguishes communicators of equal hash
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

std::string add_missing_commas(std::string_view json) {
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
    document = read_json(add_missing_commas(bytes));
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
  std::size_t unknown_ranks = 0;
  for (auto communicator = report.communicators.begin(); communicator != report.communicators.end();
       ++communicator) {
    const std::optional<std::uint64_t> done = done_by_all(*communicator);
    for (const RasRank& rank : communicator->ranks) {
      add_notes(*communicator, rank, result.notes);
      std::uint32_t number = rank.rank;
      if (communicator != world) {
        const auto found = global.find(identity_of(rank));
        if (!is_known(rank) || found == global.end()) {
          ++unknown_ranks;
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
      // A rank that answers, but not for this communicator, has left it.
      if (rank.answered || is_out(rank)) {
        snapshot.comms.push_back(membership_of(*communicator, rank, done));
      }
    }
  }
  result.fleet.world_size = world->size;
  for (auto& [number, snapshot] : snapshots) result.fleet.ranks.push_back(std::move(snapshot));
  if (unknown_ranks > 0) {
    result.notes.push_back(
        fmt::format("{} ranks of smaller communicators belong to no process of the largest one",
                    unknown_ranks));
  }
  if (report.timeouts > 0) {
    result.notes.push_back(
        fmt::format("NCCL's RAS had {} time-outs while it collected this", report.timeouts));
  }
  return result;
}

}  // namespace robustrun::tracer
