#include "supervisor/console/traceback_fold.h"

#include <fmt/core.h>

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

}  // namespace

void TracebackFolder::set_active(bool active) {
  if (active == active_) return;
  active_ = active;
  if (!active) return streams_.clear();
  for (auto& [rank, stream] : streams_) {
    // What was shown of a line goes on; it may be the exception, which ends the traceback.
    const std::string_view begun = without_rank(stream.rest);
    const bool is_end = !begun.empty() && !begun.starts_with(' ');
    stream.in_line = !stream.rest.empty();
    if (stream.place == Place::kBehind || is_end) stream.place = Place::kOutside;
    stream.rest.clear();
    stream.blanks = 0;
  }
}

std::string TracebackFolder::take(const wire::Output& output) {
  if (!output.is_stderr) return output.bytes;
  Stream& stream = streams_[output.rank.value];
  std::string shown;
  std::string_view bytes = output.bytes;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end == bytes.npos ? end : end + 1);
    bytes.remove_prefix(piece.size());
    if (!active_) {
      follow(stream, piece);
      continue;
    }
    if (stream.in_line || (stream.place != Place::kInside && end == bytes.npos)) {
      shown += piece;
      stream.in_line = !piece.ends_with('\n');
      continue;
    }
    if (stream.rest.size() < kTracebackLineMax + 1) {
      stream.rest += piece.substr(0, kTracebackLineMax + 1);
    }
    if (!piece.ends_with('\n')) continue;
    const std::string line = std::exchange(stream.rest, {});
    take_line(stream, output.rank, std::string_view(line).substr(0, line.find('\n')), shown);
  }
  return active_ ? shown : output.bytes;
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
