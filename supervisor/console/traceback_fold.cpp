#include "supervisor/console/traceback_fold.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "supervisor/console/limits.h"

namespace robustrun::supervisor {
namespace {

// Without the "[rank3]: " of torch's excepthook (torch/distributed/distributed_c10d.py).
std::string_view without_rank(std::string_view line) {
  if (!line.starts_with("[rank")) return line;
  const std::size_t end = line.find("]:");
  if (end == line.npos || end > 16) return line;
  line.remove_prefix(end + 2);
  if (line.starts_with(' ')) line.remove_prefix(1);
  return line;
}

bool begins(std::string_view text) { return text == "Traceback (most recent call last):"; }

bool is_chain(std::string_view text) {
  return text.starts_with("During handling of the above exception") ||
         text.starts_with("The above exception was the direct cause");
}

std::string_view shortened(std::string_view line) {
  if (line.size() <= kTracebackLineMax) return line;
  std::size_t size = kTracebackLineMax;
  while (size > 0 && (static_cast<unsigned char>(line[size]) & 0xC0) == 0x80) --size;
  return line.substr(0, size);
}

// Takes a line with its '\n', or what there is of one, from the front of `bytes`.
std::string_view next_piece(std::string_view& bytes) {
  const std::size_t end = bytes.find('\n');
  const std::string_view piece = bytes.substr(0, end == bytes.npos ? end : end + 1);
  bytes.remove_prefix(piece.size());
  return piece;
}

}  // namespace

std::vector<wire::Output> TracebackFolder::set(TracebackFold fold,
                                               std::optional<base::Rank> failed) {
  if (fold == fold_) return {};
  fold_ = fold;
  first_.reset();
  if (fold != TracebackFold::kAll) {
    auto shown = flush();
    streams_.clear();
    return shown;
  }
  std::vector<wire::Output> shown;
  for (auto& [rank, stream] : streams_) {
    if (stream.held && failed && failed->value == rank) shown.push_back(release(stream));
    if (stream.held) {
      wire::Output output = *std::exchange(stream.held, std::nullopt);
      stream.place = Place::kOutside;
      stream.blanks = 0;  // shown already
      output.bytes = folded(stream, output.rank, output.bytes);
      if (!output.bytes.empty()) shown.push_back(std::move(output));
      continue;
    }
    // What was shown of a line goes on; it may be the exception, which ends the traceback.
    const std::string_view begun = without_rank(stream.rest);
    const bool is_end = !begun.empty() && !begun.starts_with(' ');
    stream.in_line = !stream.rest.empty();
    if (stream.place == Place::kBehind || is_end) stream.place = Place::kOutside;
    stream.rest.clear();
    stream.blanks = 0;
  }
  held_bytes_ = 0;
  return shown;
}

std::string TracebackFolder::take(const wire::Output& output, base::Nanos now) {
  if (!output.is_stderr || fold_ == TracebackFold::kNone) return output.bytes;
  Stream& stream = streams_[output.rank.value];
  if (fold_ == TracebackFold::kAll) return folded(stream, output.rank, output.bytes);
  return show_or_hold(stream, output, now);
}

std::vector<wire::Output> TracebackFolder::due(base::Nanos now) {
  const bool is_full = held_bytes_ > kTracebackHeldMax;
  held_first_ = now;
  std::vector<wire::Output> shown;
  for (auto& [rank, stream] : streams_) {
    if (!stream.held) continue;
    if (is_full || now - stream.held_since >= kTracebackHold) {
      shown.push_back(release(stream));
    } else {
      held_first_ = std::min(held_first_, stream.held_since);
    }
  }
  return shown;
}

std::vector<wire::Output> TracebackFolder::flush() {
  std::vector<wire::Output> shown;
  for (auto& [rank, stream] : streams_) {
    if (stream.held) shown.push_back(release(stream));
  }
  return shown;
}

// Asked after each output, of any number of ranks.
std::optional<base::Nanos> TracebackFolder::next_due() const {
  if (held_bytes_ == 0) return std::nullopt;
  return held_bytes_ > kTracebackHeldMax ? base::Nanos{} : held_first_ + kTracebackHold;
}

// All of it, unchanged.
wire::Output TracebackFolder::release(Stream& stream) {
  wire::Output output = *std::exchange(stream.held, std::nullopt);
  held_bytes_ -= output.bytes.size();
  std::string_view bytes = output.bytes;
  while (!bytes.empty()) follow(stream, next_piece(bytes));
  return output;
}

bool TracebackFolder::is_to_hold(const Stream& stream, base::Rank rank, std::string_view piece,
                                 base::Nanos now) {
  const bool is_whole = stream.rest.empty() && piece.ends_with('\n');
  if (!is_whole || stream.place == Place::kInside) return false;
  if (!begins(without_rank(piece.substr(0, piece.size() - 1)))) return false;
  if (first_ && first_->rank != rank && now - first_->at < kTracebackFollows) return true;
  first_ = Begun{rank, now};
  return false;
}

std::string TracebackFolder::show_or_hold(Stream& stream, const wire::Output& output,
                                          base::Nanos now) {
  std::string_view bytes = output.bytes;
  while (!stream.held && !bytes.empty()) {
    const std::string_view before = bytes;
    const std::string_view piece = next_piece(bytes);
    if (is_to_hold(stream, output.rank, piece, now)) {
      bytes = before;
      stream.held = output;
      stream.held->bytes.clear();
      stream.held_since = now;
      if (held_bytes_ == 0) held_first_ = now;
    } else {
      follow(stream, piece);
    }
  }
  if (stream.held) {
    stream.held->bytes += bytes;
    stream.held->partial = output.partial;
    held_bytes_ += bytes.size();
  }
  return output.bytes.substr(0, output.bytes.size() - bytes.size());
}

std::string TracebackFolder::folded(Stream& stream, base::Rank rank, std::string_view bytes) {
  std::string shown;
  while (!bytes.empty()) {
    const std::string_view piece = next_piece(bytes);
    const bool is_whole = piece.ends_with('\n');
    if (stream.in_line || (stream.place != Place::kInside && !is_whole)) {
      shown += piece;
      stream.in_line = !is_whole;
      continue;
    }
    if (is_whole && stream.rest.empty()) {
      take_line(stream, rank, piece.substr(0, piece.size() - 1), shown);
      continue;
    }
    if (stream.rest.size() < kTracebackLineMax + 1) {
      stream.rest += piece.substr(0, kTracebackLineMax + 1);
    }
    if (!is_whole) continue;
    const std::string line = std::exchange(stream.rest, {});
    take_line(stream, rank, std::string_view(line).substr(0, line.find('\n')), shown);
  }
  return shown;
}

// Notes where a traceback is, all of which is shown.
void TracebackFolder::follow(Stream& stream, std::string_view piece) {
  if (stream.rest.size() < kTracebackLineMax + 1) {
    stream.rest += piece.substr(0, kTracebackLineMax + 1);
  }
  if (!piece.ends_with('\n')) return;
  const std::string line = std::exchange(stream.rest, {});
  std::string ignored;
  take_line(stream, {}, std::string_view(line).substr(0, line.find('\n')), ignored);
}

// `line`: without its end.
void TracebackFolder::take_line(Stream& stream, base::Rank rank, std::string_view line,
                                std::string& shown) {
  const std::string_view text = without_rank(line);
  if (stream.place == Place::kBehind) {
    if (text.empty()) {
      ++stream.blanks;
      return;
    }
    if (!is_chain(text) && !begins(text)) shown.append(stream.blanks, '\n');
    stream.blanks = 0;
  }
  if (begins(text) || (stream.place == Place::kBehind && is_chain(text))) {
    if (stream.place != Place::kInside) stream.lines = 0;
    stream.place = Place::kInside;
    ++stream.lines;
    return;
  }
  if (stream.place != Place::kInside) {
    stream.place = Place::kOutside;
    shown.append(line).push_back('\n');
    return;
  }
  ++stream.lines;
  if (text.empty() || text.starts_with(' ') || text.starts_with('\t') || is_chain(text)) return;
  const std::string_view exception = shortened(line);
  shown += fmt::format("{}{} [{} lines in the log of rank {}]\n", exception,
                       exception.size() < line.size() ? "..." : "", stream.lines, rank.value);
  stream.place = Place::kBehind;
}

}  // namespace robustrun::supervisor
