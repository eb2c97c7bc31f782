#include "supervisor/console/frame_fold.h"

#include <algorithm>
#include <utility>

#include "base/core/text.h"
#include "supervisor/console/limits.h"

namespace robustrun::supervisor {
namespace {

constexpr std::size_t kEscapeBytesMax = 2048;
constexpr unsigned kLooksMax = 4;

// ECMA-48: ESC [, parameters, and a final byte from '@' to '~'; ESC ] (of links) up to BEL or the
// string terminator; others are taken as two bytes.
bool is_complete(std::string_view escape) {
  if (escape.size() < 2 || escape.size() == kEscapeBytesMax) return escape.size() >= 2;
  if (escape[1] == ']') return escape.ends_with('\a') || escape.ends_with("\x1b\\");
  if (escape[1] != '[') return true;
  return escape.size() > 2 && escape.back() >= '@' && escape.back() <= '~';
}

}  // namespace

bool FrameFold::take(std::string_view& bytes, std::string& rest) {
  looks_ = 0;
  while (!bytes.empty()) {
    const char c = bytes.front();
    bytes.remove_prefix(1);
    if (!escape_.empty() || c == '\x1b') {
      escape_ += c;
      if (is_complete(escape_) && take_escape(rest)) return true;
    } else if (c == '\r') {
      has_returned_ = true;
      ups_ = 0;
    } else {
      take_text(c, rest);
    }
  }
  return false;
}

bool FrameFold::take_escape(std::string& rest) {
  const std::string escape = std::exchange(escape_, {});
  if (escape == kShowCursor) {
    end(rest);
    return true;
  }
  const char kind = escape.back();
  if (has_returned_ && kind == 'A') ++ups_;
  // Colours belong to the text. Movements and erasures do not, as each frame is drawn whole.
  if (kind == 'm' && !has_returned_) frame_ += escape;
  bound(rest);
  return false;
}

void FrameFold::take_text(char c, std::string& rest) {
  if (std::exchange(has_returned_, false)) {
    height_ = ups_ + 1;
    settle(rest);
  }
  frame_ += c;
  bound(rest);
}

void FrameFold::bound(std::string& rest) {
  if (frame_.size() < kFrameBytesMax) return;
  rest += frame_;  // no display is so large
  frame_.clear();
}

// The frame is complete: its last lines are the display.
void FrameFold::settle(std::string& rest) {
  if (frame_.empty()) return;
  std::vector<std::string> lines;
  for (const std::string_view line : base::split(frame_, '\n')) lines.emplace_back(line);
  frame_.clear();
  const std::size_t height = std::min(*height_, lines.size());
  const auto display = lines.end() - static_cast<std::ptrdiff_t>(height);
  for (auto line = lines.begin(); line != display; ++line) rest += *line + '\n';
  lines_.assign(display, lines.end());
}

void FrameFold::release_printed(std::string& rest) {
  if (++looks_ < kLooksMax) return;
  // A program that only hid the cursor prints ordinary lines.
  const std::size_t height = height_.value_or(1);
  auto left = static_cast<std::size_t>(std::ranges::count(frame_, '\n')) + 1;
  for (; left > height; --left) {
    const std::size_t end = frame_.find('\n') + 1;
    rest += frame_.substr(0, end);
    frame_.erase(0, end);
  }
}

void FrameFold::end(std::string& rest) {
  if (height_) {
    if (frame_.ends_with('\n')) frame_.pop_back();
    return settle(rest);
  }
  // Never drawn again: these were ordinary lines.
  rest += std::exchange(frame_, {});
}

}  // namespace robustrun::supervisor
