#include "supervisor/console/line_fold.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/core/hash.h"
#include "base/core/result.h"

namespace robustrun::supervisor {
namespace {

constexpr std::size_t kIndexBytes = 64;  // of one entry's place in the index, about

// The size of the first line of `text` with its end; all of it if it has none.
std::size_t line_size(std::string_view text) {
  const auto end = text.find_first_of("\r\n");
  if (end == std::string_view::npos) return text.size();
  const bool both = text[end] == '\r' && end + 1 < text.size() && text[end + 1] == '\n';
  return end + (both ? 2 : 1);
}

bool ends_line(std::string_view line) { return line.ends_with('\n') || line.ends_with('\r'); }

}  // namespace

std::size_t LineFolder::cost(const Entry& entry) {
  return sizeof(Entry) + kIndexBytes + entry.output.bytes.capacity() +
         entry.ranks.capacity() * sizeof(base::Rank);
}

std::optional<LineFolder::Sequence> LineFolder::match(const Source& source, std::uint64_t key,
                                                      bool is_stderr, std::string_view line) const {
  const Sequence after = source.last && *source.last >= front_ ? *source.last + 1 : front_;
  const auto found = index_.lower_bound({key, after});
  if (found == index_.end() || found->first != key) return std::nullopt;
  const Entry& entry = queue_[found->second - front_];
  // Another text with the same hash is no match.
  if (entry.output.bytes != line || entry.output.is_stderr != is_stderr) return std::nullopt;
  return found->second;
}

void LineFolder::add(const wire::Output& output, std::string_view line, bool ends,
                     base::Nanos now) {
  Source& source = sources_[output.rank.value];
  bool& open = source.open[output.is_stderr ? 1 : 0];
  const bool foldable = ends && !open;
  open = !ends;
  const std::uint64_t key = base::hash64(line, output.is_stderr ? 1 : 0);
  if (foldable) {
    if (const auto same = match(source, key, output.is_stderr, line)) {
      Entry& entry = queue_[*same - front_];
      held_bytes_ -= cost(entry);
      entry.ranks.push_back(output.rank);
      held_bytes_ += cost(entry);
      source.last = same;
      return;
    }
  }
  Entry& entry = queue_.emplace_back();
  entry.output.rank = output.rank;
  entry.output.local_rank = output.local_rank;
  entry.output.is_stderr = output.is_stderr;
  entry.output.partial = !ends;
  entry.output.bytes = line;
  entry.ranks = {output.rank};
  entry.since = now;
  entry.key = key;
  entry.foldable = foldable;
  held_bytes_ += cost(entry);
  source.last = front_ + queue_.size() - 1;
  if (foldable) index_.emplace(key, *source.last);
}

void LineFolder::show_front(std::vector<FoldedOutput>& shown) {
  RR_ASSERT(!queue_.empty());
  Entry& entry = queue_.front();
  held_bytes_ -= cost(entry);
  if (entry.foldable) index_.erase({entry.key, front_});
  std::ranges::sort(entry.ranks);
  FoldedOutput* const last = shown.empty() ? nullptr : &shown.back();
  const bool goes_on = last != nullptr && last->ranks == entry.ranks && entry.ranks.size() == 1 &&
                       last->output.is_stderr == entry.output.is_stderr;
  if (goes_on) {
    last->output.bytes += entry.output.bytes;
    last->output.partial = entry.output.partial;
  } else {
    shown.push_back({std::move(entry.output), std::move(entry.ranks)});
  }
  queue_.pop_front();
  ++front_;
}

std::vector<FoldedOutput> LineFolder::take(const wire::Output& output, base::Nanos now) {
  std::vector<FoldedOutput> shown = due(now);
  if (sources_.size() >= limits_.ranks_max && !sources_.contains(output.rank.value)) {
    std::ranges::move(flush(), std::back_inserter(shown));
    sources_.clear();
  }
  std::string_view rest = output.bytes;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, line_size(rest));
    add(output, line, ends_line(line), now);
    rest.remove_prefix(line.size());
    while (held_bytes_ > limits_.held_bytes_max) show_front(shown);
  }
  return shown;
}

std::vector<FoldedOutput> LineFolder::due(base::Nanos now) {
  std::vector<FoldedOutput> shown;
  while (!queue_.empty() && queue_.front().since + limits_.window <= now) show_front(shown);
  return shown;
}

std::vector<FoldedOutput> LineFolder::flush() {
  std::vector<FoldedOutput> shown;
  while (!queue_.empty()) show_front(shown);
  return shown;
}

std::optional<base::Nanos> LineFolder::next_due() const {
  if (queue_.empty()) return std::nullopt;
  return queue_.front().since + limits_.window;
}

std::string describe_ranks(const std::vector<base::Rank>& ranks) {
  RR_ASSERT(!ranks.empty());
  if (ranks.size() == 1) return fmt::format("rank {}", ranks.front().value);
  std::string text = "ranks ";
  std::size_t pieces = 0;
  for (std::size_t i = 0; i < ranks.size(); ++pieces) {
    if (pieces == kFoldRangesMax) return fmt::format("{} ranks", ranks.size());
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end].value == ranks[end - 1].value + 1) ++end;
    if (pieces > 0) text += ',';
    text += std::to_string(ranks[i].value);
    if (end - i > 1) text += fmt::format("-{}", ranks[end - 1].value);
    i = end;
  }
  return text;
}

std::string folded_prefix(const std::vector<base::Rank>& ranks, bool colour) {
  const std::string text = "[" + describe_ranks(ranks) + "]";
  return colour ? "\x1b[2m" + text + "\x1b[0m " : text + " ";
}

}  // namespace robustrun::supervisor
