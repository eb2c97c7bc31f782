#include "supervisor/console/bar_fold.h"

#include <algorithm>

#include "supervisor/console/limits.h"

namespace robustrun::supervisor {
namespace {

constexpr std::string_view kBlanks = " \t";

// The length of the escape sequence at the start of `text`, which begins with ESC.
std::size_t escape_length(std::string_view text) {
  if (text.size() < 2 || text[1] != '[') return std::min<std::size_t>(text.size(), 2);
  const auto* const end =
      std::ranges::find_if(text.substr(2), [](char c) { return c >= '@' && c <= '~'; });
  const auto length = static_cast<std::size_t>(end - text.begin());
  return std::min(length + 1, text.size());
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

// What stands before the first digit: the same for all states of a bar.
std::string label_of(std::string_view text) {
  const std::string words = plain(text);
  std::string label = words.substr(0, words.find_first_of("0123456789"));
  const std::size_t last = label.find_last_not_of(kBlanks);
  return label.substr(0, last == std::string::npos ? 0 : last + 1);
}

bool is_up(std::string_view next) { return next.starts_with('\x1b') && next.ends_with('A'); }

}  // namespace

std::string BarFold::take(const wire::Output& output) {
  const Key key{output.rank.value, output.is_stderr};
  std::string_view bytes = output.bytes;
  std::string rest;
  auto known = streams_.find(key);
  while (!bytes.empty()) {
    if (known != streams_.end() && known->second.is_bar) {
      known->second.is_quiet = false;
      take_bar(key, known->second, bytes, rest);
      continue;
    }
    std::size_t at = bytes.find('\r');
    while (at != std::string_view::npos && at + 1 < bytes.size() && bytes[at + 1] == '\n') {
      at = bytes.find('\r', at + 2);  // the end of an ordinary line
    }
    if (at == std::string_view::npos) {
      rest += bytes;
      break;
    }
    const std::size_t newline = bytes.substr(0, at).rfind('\n');
    const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
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

// Takes bytes as long as they belong to the bar.
void BarFold::take_bar(const Key& key, Stream& stream, std::string_view& bytes, std::string& rest) {
  while (!bytes.empty() && stream.is_bar) {
    const std::size_t length = bytes[0] == '\x1b' ? escape_length(bytes) : 1;
    const std::string_view next = bytes.substr(0, length);
    bytes.remove_prefix(length);
    if (next == "\n") {
      take_newline(key, stream, rest);
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
  }
  std::erase_if(ended, [](const wire::Output& shown) { return shown.bytes.empty(); });
  return ended;
}

std::vector<wire::Output> BarFold::end() {
  std::vector<wire::Output> ended;
  for (auto& [key, stream] : streams_) {
    if (stream.is_bar) ended.push_back(close(key, stream));
  }
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
