#pragma once
// A grid of styled characters: what is to be on the screen. Pure.
//
// Texts from outside are made inert when they are put on it: no byte of them can move a cursor.

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
  bool filled = false;  // `ink` is the background's
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
  // Without `unicode` only ASCII gets on it.
  explicit Canvas(Size size, bool unicode = true);

  // Puts one line of text at a row and column, from 0; what does not fit is cut off. Returns the
  // column behind it. `end`: the column where it must end; a cut text ends in "…" (or ">").
  int put(int row, int column, std::string_view text, Style style = {}, int end = INT32_MAX);
  // Ends at column `end`; a text that is too long begins at column `begin` and is cut off at `end`.
  void put_right(int row, int end, std::string_view text, Style style = {}, int begin = 0);
  void fill(int row, int column, int end, char character, Style style = {});

  [[nodiscard]] Size size() const { return size_; }
  [[nodiscard]] bool unicode() const { return unicode_; }
  // Characters of a row without styles, without spaces at its end.
  [[nodiscard]] std::string text(int row) const;
  [[nodiscard]] std::string text() const;  // all rows
  // For a terminal: characters and SGR sequences; without colours if `colour` is false.
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

// Columns that the text takes, once it is inert.
[[nodiscard]] int text_columns(std::string_view text);

}  // namespace robustrun::cli
