// RAS's report for people. A table has one line per group of equal communicators:
//   Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
//       #  in group  per comm  per node  per comm  in group
//       0         1         1         4         4         4   RUNNING  MISMATCH
// Below it stand those that are not well, "#group-number (hash) MISMATCH", each with lines such as
//   4 ranks have launched up to operation 12          (the ranks below it, or all not named)
//   Rank 2 has launched up to operation 11 -- GPU 2 managed by process 17 on node 10.0.0.1
//   Rank 3 -- GPU 3 managed by process 18 on node 10.0.0.1
// Whatever is not understood is passed over.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/core/text.h"
#include "tracer/limits.h"
#include "tracer/ras.h"

namespace robustrun::tracer {
namespace {

using base::Errc;

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

// The number behind the word `before`.
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
    if (!saw_report_) return base::fail(Errc::kCorrupt, "it is neither its JSON nor its text");
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
  // Of the function whose counts differ.
  std::optional<std::uint64_t> count_of_listed_;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> counts_;  // count, how many ranks
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

// Ranks that are not named have the one count that has fewer names below it than ranks.
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
    if (others) return;  // two of them: nobody knows who has which
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

}  // namespace

base::Result<RasReport> read_ras_text(std::string_view text) {
  if (text.size() > kDocumentBytesMax) {
    return base::fail(Errc::kLimit, fmt::format("it is longer than {} bytes", kDocumentBytesMax));
  }
  return TextReader().read(text);
}

}  // namespace robustrun::tracer
