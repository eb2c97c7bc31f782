#include "supervisor/console/live_area.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "supervisor/console/limits.h"

namespace robustrun::supervisor {
namespace {

constexpr std::string_view kSave =
    "\x1b"
    "7";     // the cursor's place
constexpr std::string_view kRestore =
    "\x1b"
    "8";
constexpr std::string_view kDown =
    "\x1b"
    "D";     // scrolls at the bottom; the column stays
constexpr std::string_view kWholeScreen = "\x1b[r";

// The first `columns` code points of UTF-8 text.
std::string cut(std::string text, std::size_t columns) {
  std::size_t at = 0;
  for (std::size_t seen = 0; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U;
    if (begins && seen++ == columns) break;
  }
  text.resize(at);
  return text;
}

std::string clear_row(std::size_t row) { return fmt::format("\x1b[{};1H\x1b[2K", row); }

std::string clear_bottom(TerminalSize size, std::size_t rows) {
  std::string bytes;
  for (std::size_t i = 0; i < rows && i < size.rows; ++i) bytes += clear_row(size.rows - i);
  return bytes;
}

}  // namespace

std::string LiveArea::draw(TerminalSize size, std::vector<std::string> lines) {
  if (size.rows < kLiveRowsMin || size.columns < 2) lines.clear();
  for (std::string& line : lines) line = cut(std::move(line), size.columns - 1);
  if (size == size_ && lines == lines_) return {};
  if (lines.empty()) {
    size_ = size;
    return release();
  }
  std::string bytes;
  if (size != size_ || lines.size() != lines_.size()) {
    bytes += kSave;
    bytes += clear_bottom(size, lines_.size());
    bytes += kWholeScreen;
    bytes += kRestore;
    // Make room, if the cursor is there.
    for (std::size_t i = 0; i < lines.size(); ++i) bytes += kDown;
    bytes += fmt::format("\x1b[{}A", lines.size());
    bytes += kSave;
    bytes += fmt::format("\x1b[1;{}r", size.rows - lines.size());
    bytes += kRestore;
  }
  bytes += kSave;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    bytes += clear_row(size.rows - lines.size() + 1 + i);
    bytes += lines[i];
  }
  bytes += kRestore;
  size_ = size;
  lines_ = std::move(lines);
  return bytes;
}

std::string LiveArea::release() {
  if (lines_.empty()) return {};
  std::string bytes(kSave);
  bytes += clear_bottom(size_, lines_.size());
  bytes += kWholeScreen;
  bytes += kRestore;
  lines_.clear();
  return bytes;
}

}  // namespace robustrun::supervisor
