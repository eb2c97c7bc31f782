#pragma once
// A grid of styled characters: the content of the screen. Pure.
//
// put() makes texts from outside inert: none of their bytes can move the cursor.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/top/cells.h"

namespace robustrun::cli {

struct Style {
  Ink ink = Ink::kPlain;
  bool bold = false;
  bool dim = false;
  bool filled = false;  // `ink` colours the background
  bool reverse = false;
  friend bool operator==(const Style&, const Style&) = default;
};

struct Size {
  int columns = 80;
  int rows = 24;
  friend bool operator==(const Size&, const Size&) = default;
};

class Canvas {
 public:
  // Without `unicode`, characters other than ASCII become "?".
  explicit Canvas(Size size, bool unicode = true);

  // Writes one line of text in `row` from `column` on; both count from 0. A text that would reach
  // column `end` is cut and ends in "…" (without `unicode` in ">"). Returns the column after the
  // text.
  int put(int row, int column, std::string_view text, Style style = {}, int end = INT32_MAX);
  // Writes text that ends before column `end`. A text that is too long begins at column `begin` and
  // is cut.
  void put_right(int row, int end, std::string_view text, Style style = {}, int begin = 0);
  void fill(int row, int column, int end, char character, Style style = {});

  [[nodiscard]] Size size() const { return size_; }
  [[nodiscard]] bool unicode() const { return unicode_; }
  // The characters of a row, without spaces at its end.
  [[nodiscard]] std::string text(int row) const;
  [[nodiscard]] std::string text() const;  // all rows
  // A row for a terminal: characters and SGR sequences; without colours if `colour` is false.
  [[nodiscard]] std::string ansi(int row, bool colour) const;
  [[nodiscard]] Style style(int row, int column) const { return cell(row, column).style; }
  [[nodiscard]] bool same_row(const Canvas& other, int row) const;

 private:
  struct Cell {
    std::string glyph = " ";  // one character; empty: the second half of a wide one
    Style style;
    friend bool operator==(const Cell&, const Cell&) = default;
  };
  [[nodiscard]] const Cell& cell(int row, int column) const;
  Cell& cell(int row, int column);

  Size size_;
  bool unicode_;
  std::vector<Cell> cells_;
};

// The columns that a text takes on a canvas.
[[nodiscard]] int text_columns(std::string_view text);

}  // namespace robustrun::cli
