#include "cli/top/canvas.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/core/result.h"
#include "supervisor/core/report/inert.h"

namespace robustrun::cli {
namespace {

constexpr std::size_t kTextBytesMax = 4096;
constexpr std::string_view kCut = "\xe2\x80\xa6";

struct Glyph {
  std::string bytes;
  int columns = 1;
};

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};
// East Asian wide characters and pictures; and marks that take no column.
constexpr auto kWide = std::to_array<Range>({{0x1100, 0x115f},
                                             {0x231a, 0x231b},
                                             {0x2e80, 0x303e},
                                             {0x3041, 0xa4cf},
                                             {0xa960, 0xa97f},
                                             {0xac00, 0xd7a3},
                                             {0xf900, 0xfaff},
                                             {0xfe30, 0xfe6f},
                                             {0xff00, 0xff60},
                                             {0xffe0, 0xffe6},
                                             {0x1f300, 0x1f64f},
                                             {0x1f680, 0x1f6ff},
                                             {0x1f900, 0x1f9ff},
                                             {0x20000, 0x3fffd}});
constexpr auto kNarrow = std::to_array<Range>({{0x0300, 0x036f},
                                               {0x0483, 0x0489},
                                               {0x0591, 0x05bd},
                                               {0x0610, 0x061a},
                                               {0x064b, 0x065f},
                                               {0x0e31, 0x0e3a},
                                               {0x1ab0, 0x1aff},
                                               {0x1dc0, 0x1dff},
                                               {0x200b, 0x200f},
                                               {0x2060, 0x2064},
                                               {0x20d0, 0x20ff},
                                               {0xfe00, 0xfe0f},
                                               {0xfe20, 0xfe2f},
                                               {0xfeff, 0xfeff},
                                               {0xe0000, 0xe01ef}});

bool is_in(std::span<const Range> ranges, std::uint32_t code) {
  return std::ranges::any_of(
      ranges, [code](const Range& range) { return range.first <= code && code <= range.last; });
}

// `text` is valid UTF-8.
std::vector<Glyph> glyphs_of(std::string_view text) {
  std::vector<Glyph> glyphs;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    std::uint32_t code = length == 1 ? lead : lead & (0x7fU >> length);
    for (std::size_t k = 1; k < length && i + k < text.size(); ++k) {
      code = code << 6U | (static_cast<unsigned char>(text[i + k]) & 0x3fU);
    }
    if (!is_in(kNarrow, code)) {
      glyphs.push_back({std::string(text.substr(i, length)), is_in(kWide, code) ? 2 : 1});
    }
    i += length;
  }
  return glyphs;
}

std::vector<Glyph> inert_glyphs(std::string_view text) {
  return glyphs_of(supervisor::inert_text(text, kTextBytesMax));
}

std::string sgr(const Style& style, bool colour) {
  std::string codes = "\x1b[0";
  if (style.bold) codes += ";1";
  if (style.dim) codes += ";2";
  if (style.reverse) codes += ";7";
  if (style.ink != Ink::kPlain) {
    constexpr std::array<int, 7> kNumbers = {0, 2, 3, 1, 4, 5, 6};
    const int number = kNumbers.at(static_cast<std::size_t>(style.ink));
    if (colour && style.filled) {
      codes += ";37;4" + std::to_string(number);
    } else if (colour) {
      codes += ";3" + std::to_string(number);
    } else if (style.filled) {
      codes += ";7";
    }
  }
  return codes + "m";
}

}  // namespace

int text_columns(std::string_view text) {
  int columns = 0;
  for (const Glyph& glyph : inert_glyphs(text)) columns += glyph.columns;
  return columns;
}

Canvas::Canvas(Size size, bool unicode)
    : size_{std::max(1, size.columns), std::max(1, size.rows)}, unicode_(unicode) {
  cells_.resize(static_cast<std::size_t>(size_.columns) * static_cast<std::size_t>(size_.rows));
}

const Canvas::Cell& Canvas::cell(int row, int column) const {
  RR_ASSERT(row >= 0 && row < size_.rows && column >= 0 && column < size_.columns);
  return cells_[static_cast<std::size_t>(row) * static_cast<std::size_t>(size_.columns) +
                static_cast<std::size_t>(column)];
}

Canvas::Cell& Canvas::cell(int row, int column) {
  return const_cast<Cell&>(std::as_const(*this).cell(row, column));
}

int Canvas::put(int row, int column, std::string_view text, Style style, int end) {
  end = std::min(end, size_.columns);
  if (row < 0 || row >= size_.rows || column < 0) return column;
  const std::vector<Glyph> glyphs = inert_glyphs(text);
  int wanted = 0;
  for (const Glyph& glyph : glyphs) wanted += glyph.columns;
  const bool is_cut = wanted > end - column;
  const int last = is_cut ? end - 1 : end;
  for (const Glyph& glyph : glyphs) {
    if (column + glyph.columns > last) break;
    const bool is_shown = unicode_ || glyph.bytes.size() == 1;
    cell(row, column) = {is_shown ? glyph.bytes : "?", style};
    if (glyph.columns == 2) cell(row, column + 1) = {is_shown ? "" : "?", style};
    column += glyph.columns;
  }
  if (is_cut && last >= 0 && column <= last && last < end) {
    while (column < last) cell(row, column++) = {" ", style};
    cell(row, column++) = {std::string(unicode_ ? kCut : ">"), style};
  }
  return column;
}

void Canvas::put_right(int row, int end, std::string_view text, Style style, int begin) {
  put(row, std::max(begin, end - text_columns(text)), text, style, end);
}

void Canvas::fill(int row, int column, int end, char character, Style style) {
  if (row < 0 || row >= size_.rows) return;
  for (int at = std::max(0, column); at < std::min(end, size_.columns); ++at) {
    cell(row, at) = {std::string(1, character), style};
  }
}

std::string Canvas::text(int row) const {
  std::string out;
  for (int column = 0; column < size_.columns; ++column) out += cell(row, column).glyph;
  out.erase(out.find_last_not_of(' ') + 1);
  return out;
}

std::string Canvas::text() const {
  std::string out;
  for (int row = 0; row < size_.rows; ++row) out += text(row) + "\n";
  return out;
}

std::string Canvas::ansi(int row, bool colour) const {
  std::string out = "\x1b[0m";
  Style now;
  for (int column = 0; column < size_.columns; ++column) {
    const Cell& each = cell(row, column);
    if (each.style != now) {
      out += sgr(each.style, colour);
      now = each.style;
    }
    out += each.glyph;
  }
  return out + "\x1b[0m";
}

bool Canvas::same_row(const Canvas& other, int row) const {
  if (size_ != other.size_) return false;
  for (int column = 0; column < size_.columns; ++column) {
    if (cell(row, column) != other.cell(row, column)) return false;
  }
  return true;
}

}  // namespace robustrun::cli
