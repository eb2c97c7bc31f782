#include "supervisor/console/bar_fold.h"

#include <algorithm>

#include "base/core/text.h"
#include "supervisor/console/limits.h"

namespace robustrun::supervisor {
namespace {

constexpr std::string_view kBlanks = " \t";

constexpr std::size_t kBegunEscapeMax = 32;

bool ends_escape(char c) { return c >= '@' && c <= '~'; }

// The length of the escape sequence at the start of `text`, which begins with ESC.
std::size_t escape_length(std::string_view text) {
  if (text.size() < 2 || text[1] != '[') return std::min<std::size_t>(text.size(), 2);
  const auto* const end = std::ranges::find_if(text.substr(2), ends_escape);
  const auto length = static_cast<std::size_t>(end - text.begin());
  return std::min(length + 1, text.size());
}

// Whether `text` is an escape sequence whose end has not come yet.
bool is_begun_escape(std::string_view text) {
  if (text[0] != '\x1b' || text.size() > kBegunEscapeMax) return false;
  if (text.size() <= 2) return text.size() == 1 || text[1] == '[';
  return text[1] == '[' && std::ranges::none_of(text.substr(2), ends_escape);
}

// Without escape sequences and control characters.
std::string plain(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (text[0] == '\x1b') {
      text.remove_prefix(escape_length(text));
      continue;
    }
    const auto c = static_cast<unsigned char>(text[0]);
    if (c >= 0x20 && c != 0x7f) out += text[0];
    text.remove_prefix(1);
  }
  return out;
}

bool is_blank(std::string_view text) {
  return plain(text).find_first_not_of(kBlanks) == std::string::npos;
}

// Whether a character of three bytes begins `text` that draws: lines, blocks (U+2500 to U+25BF) and
// the dots of spinners (U+2800 to U+28FF).
bool is_drawing(std::string_view text) {
  if (text.size() < 3 || text[0] != '\xe2') return false;
  const auto second = static_cast<unsigned char>(text[1]);
  return (second >= 0x94 && second <= 0x96) || (second >= 0xa0 && second <= 0xa3);
}

// The words before the first digit: the same for all states of a bar.
std::string label_of(std::string_view text) {
  const std::string words = plain(text);
  std::string_view left = std::string_view(words).substr(0, words.find_first_of("0123456789"));
  std::string label;
  while (!left.empty()) {
    const std::size_t length = is_drawing(left) ? 3 : 1;
    if (length == 1) label += left.front();
    left.remove_prefix(length);
  }
  return std::string(base::trim(label));
}

// The first line of a display that shows anything.
std::string first_line(const FrameFold& frames) {
  const auto& lines = frames.lines();
  const auto line = std::ranges::find_if_not(lines, is_blank);
  return line == lines.end() ? "" : line->substr(0, kBarBytesMax);
}

// Where a bar begins in ordinary output: at the beginning of the line that '\r' returns to, or
// where the cursor is hidden.
std::size_t bar_begin(std::string_view bytes) {
  const std::size_t hidden = bytes.find(kHideCursor);
  std::size_t at = bytes.find('\r');
  while (at != std::string_view::npos && at + 1 < bytes.size() && bytes[at + 1] == '\n') {
    at = bytes.find('\r', at + 2);  // the end of an ordinary line
  }
  if (hidden < at || at == std::string_view::npos) return hidden;
  const std::size_t newline = bytes.substr(0, at).rfind('\n');
  return newline == std::string_view::npos ? 0 : newline + 1;
}

// How many bytes at the end of `bytes` may be the beginning of kHideCursor.
std::size_t begun_hide(std::string_view bytes) {
  std::size_t count = std::min(bytes.size(), kHideCursor.size() - 1);
  while (count > 0 && !kHideCursor.starts_with(bytes.substr(bytes.size() - count))) --count;
  return count;
}

// Takes what rich writes behind the end of a display that leaves nothing: the way up over it.
bool take_way_up(std::string_view& bytes) {
  bool is_up = false;
  while (bytes.starts_with('\r') || bytes.starts_with("\x1b[1A") || bytes.starts_with("\x1b[2K")) {
    is_up = is_up || bytes.starts_with("\x1b[1A");
    bytes.remove_prefix(bytes.front() == '\r' ? 1 : 4);
  }
  return is_up;
}

bool is_up(std::string_view next) { return next.starts_with('\x1b') && next.ends_with('A'); }

}  // namespace

std::string BarFold::take(const wire::Output& output) {
  const Key key{output.rank.value, output.is_stderr};
  std::string_view bytes = output.bytes;
  std::string joined;
  if (const auto held = held_.find(key); held != held_.end()) {
    joined = held->second + output.bytes;
    bytes = joined;
    held_.erase(held);
  }
  std::string rest;
  auto known = streams_.find(key);
  while (!bytes.empty()) {
    if (known != streams_.end() && known->second.is_bar) {
      Stream& stream = known->second;
      stream.is_quiet = false;
      if (stream.frames) {
        take_frames(key, stream, bytes, rest);
      } else {
        take_bar(key, stream, bytes, rest);
      }
      continue;
    }
    const std::size_t begin = bar_begin(bytes);
    if (begin == std::string_view::npos) {
      const std::size_t left = begun_hide(bytes);
      rest += bytes.substr(0, bytes.size() - left);
      if (left > 0) held_[key] = bytes.substr(bytes.size() - left);
      break;
    }
    rest += bytes.substr(0, begin);
    bytes.remove_prefix(begin);
    known = streams_.try_emplace(key).first;
    known->second.source = output;
    known->second.source.bytes.clear();
    known->second.is_bar = true;
  }
  return rest;
}

// The line at the cursor is a state of the bar, or of an inner one, and the next one begins.
void BarFold::redraw(Stream& stream) {
  if (!is_blank(stream.line)) {
    stream.drawn = true;
    if (stream.depth == 0) stream.text = stream.line;
  }
  stream.line.clear();
}

void BarFold::take_frames(const Key& key, Stream& stream, std::string_view& bytes,
                          std::string& rest) {
  const bool has_ended = stream.frames->take(bytes, rest);
  stream.text = first_line(*stream.frames);
  if (!has_ended) return;
  const std::string shown = end_frames(key, stream);
  if (!take_way_up(bytes)) rest += shown;
}

std::string BarFold::end_frames(const Key& key, Stream& stream) {
  const std::vector<std::string> lines = stream.frames->lines();
  if (end_bar(key, stream).empty()) return {};
  std::string shown;
  for (const std::string& line : lines) shown += line + '\n';
  return shown;
}

// Takes bytes as long as they belong to the bar.
void BarFold::take_bar(const Key& key, Stream& stream, std::string_view& bytes, std::string& rest) {
  while (!bytes.empty() && stream.is_bar && !stream.frames) {
    if (is_begun_escape(bytes)) {
      held_[key] = std::exchange(bytes, {});
      return;
    }
    const std::size_t length = bytes[0] == '\x1b' ? escape_length(bytes) : 1;
    const std::string_view next = bytes.substr(0, length);
    bytes.remove_prefix(length);
    if (next == "\n") {
      take_newline(key, stream, rest);
    } else if (next == kHideCursor) {
      if (!is_blank(newest(stream))) rest += close(key, stream).bytes;
      stream.is_bar = true;
      stream.depth = 0;
      stream.line.clear();
      stream.frames.emplace();
    } else if (next == "\r") {
      // Two states below the bar, without a way up: it has ended, and another bar follows.
      if (stream.depth > 0 && stream.drawn && !is_blank(stream.line)) {
        std::string line = std::move(stream.line);
        rest += end_bar(key, stream);
        stream.is_bar = true;
        stream.line = std::move(line);
      }
      redraw(stream);
      stream.returned = true;
    } else if (is_up(next)) {
      redraw(stream);
      stream.depth -= std::min<std::size_t>(stream.depth, 1);
      stream.drawn = false;
    } else if (stream.line.size() + length <= kBarBytesMax) {
      stream.line += next;
    } else if (stream.depth > 0 && !stream.returned) {
      // The beginning of a long ordinary line: it is not held.
      const std::string line = stream.line + std::string(next);
      rest += end_bar(key, stream) + line;
    }
  }
}

void BarFold::take_newline(const Key& key, Stream& stream, std::string& rest) {
  if (stream.depth > 0 && !is_blank(stream.line)) {
    // The bar has ended. This is an ordinary line, or the only state of another bar.
    const bool is_bar = stream.returned;
    std::string line = std::move(stream.line);
    rest += end_bar(key, stream);
    if (!is_bar) {
      rest += line + '\n';
      return;
    }
    stream.is_bar = true;
    stream.line = std::move(line);
  }
  redraw(stream);
  ++stream.depth;
  stream.drawn = false;
  stream.returned = false;
}

const std::string& BarFold::newest(const Stream& stream) {
  return stream.depth == 0 && !is_blank(stream.line) ? stream.line : stream.text;
}

std::string BarFold::end_bar(const Key& key, Stream& stream) {
  const std::string text = stream.text;
  const std::string label = label_of(text);
  const bool is_shown = std::ranges::none_of(streams_, [&](const auto& other) {
    if (other.first.second != key.second || other.first.first >= key.first) return false;
    return other.second.label == label ||
           (other.second.is_bar && label_of(newest(other.second)) == label);
  });
  wire::Output source = std::move(stream.source);
  stream = {};
  stream.source = std::move(source);
  stream.label = label;
  return is_shown && !is_blank(text) ? text + '\n' : "";
}

// What is shown of a bar that has ended, and of an open line below it.
wire::Output BarFold::close(const Key& key, Stream& stream) {
  std::string below;
  if (stream.frames) {
    wire::Output shown = stream.source;
    stream.frames->end(shown.bytes);
    stream.text = first_line(*stream.frames);
    shown.bytes += end_frames(key, stream);
    return shown;
  }
  if (stream.depth > 0 && !stream.returned) {
    below = stream.line;
  } else {
    redraw(stream);
  }
  wire::Output shown = stream.source;
  shown.bytes = end_bar(key, stream) + below;
  return shown;
}

std::vector<wire::Output> BarFold::end_quiet() {
  std::vector<wire::Output> ended;
  for (auto& [key, stream] : streams_) {
    const bool was_quiet = std::exchange(stream.is_quiet, true);
    if (stream.is_bar && stream.depth > 0 && was_quiet) ended.push_back(close(key, stream));
    if (!stream.frames) continue;
    ended.push_back(stream.source);
    stream.frames->release_printed(ended.back().bytes);
  }
  std::erase_if(ended, [](const wire::Output& shown) { return shown.bytes.empty(); });
  return ended;
}

std::vector<wire::Output> BarFold::end() {
  std::vector<wire::Output> ended;
  for (auto& [key, stream] : streams_) {
    if (stream.is_bar) ended.push_back(close(key, stream));
  }
  held_.clear();
  std::erase_if(ended, [](const wire::Output& shown) { return shown.bytes.empty(); });
  streams_.clear();
  return ended;
}

std::optional<ProgressBar> BarFold::bar() const {
  std::optional<ProgressBar> bar;
  for (const auto& [key, stream] : streams_) {
    if (!stream.is_bar) continue;
    const std::string text = plain(newest(stream));
    if (is_blank(text)) continue;
    if (!bar) {
      bar = ProgressBar{base::Rank{key.first}, text};
    } else if (key.first != bar->rank.value) {
      ++bar->others;
    }
  }
  return bar;
}

}  // namespace robustrun::supervisor
