#include "cli/top/canvas.h"

#include <doctest/doctest.h>

#include "cli/top/grid_layout.h"
#include "cli/top/key_decoder.h"

namespace robustrun::cli::canvas_test {

TEST_CASE("text that does not fit is cut, with a mark") {
  Canvas canvas({10, 2});
  CHECK(canvas.put(0, 2, "0123456789") == 10);
  CHECK(canvas.text(0) == "  0123456…");
  CHECK(canvas.put(1, 0, "abcdef", {}, 4) == 4);
  CHECK(canvas.text(1) == "abc…");
  canvas.put(5, 0, "outside");
  canvas.put(0, 50, "outside");
}

TEST_CASE("wide characters take two columns, marks take none") {
  Canvas canvas({6, 1});
  CHECK(canvas.put(0, 0, "\xe8\xa8\x93\xe7\xb7\xb4") == 4);
  CHECK(text_columns("e\xcc\x81") == 1);
  Canvas ascii({6, 1}, false);
  ascii.put(0, 0, "\xe8\xa8\x93-");
  CHECK(ascii.text(0) == std::string("?") + "?-");
}

TEST_CASE("colours are left out on request; a filled cell is then reversed") {
  Canvas canvas({2, 1});
  canvas.put(0, 0, "B", {Ink::kRed, true, false, true, false});
  CHECK(canvas.ansi(0, true).contains(";1;37;41m"));
  CHECK(canvas.ansi(0, false).contains(";1;7m"));
  CHECK_FALSE(canvas.ansi(0, false).contains("41"));
}

TEST_CASE("a grid fits its space, from one node to sixteen thousand") {
  for (const Size space : {Size{78, 12}, Size{198, 48}}) {
    for (const int nodes : {1, 2, 7, 64, 1024, 16384}) {
      for (const int ranks : {1, 8, 64}) {
        CAPTURE(nodes);
        CAPTURE(ranks);
        const GridLayout layout = lay_out_grid(nodes, ranks, 8, space);
        CHECK(layout.rows >= 1);
        if (layout.kind == GridLayout::Kind::kRanks) {
          CHECK(layout.rows + 1 <= space.rows);
          CHECK(layout.tables * layout.rows >= nodes);
          CHECK(layout.tables * layout.table_columns - 3 <= space.columns);
        } else {
          CHECK(layout.rows <= space.rows);
          CHECK(layout.rows * layout.cells_per_row * layout.nodes_per_cell >= nodes);
          CHECK(layout.label_columns + layout.cells_per_row * layout.cell_columns <= space.columns);
        }
      }
    }
  }
}

TEST_CASE("racks fit with their names, or without; or not at all") {
  for (const Size space : {Size{78, 10}, Size{198, 40}, Size{38, 1}}) {
    for (const int racks : {2, 7, 64, 400, 5000}) {
      for (const int label : {3, 6, 60}) {
        CAPTURE(racks);
        const GridLayout layout = lay_out_racks(racks, label, space);
        if (layout.rows == 0) continue;
        CHECK(layout.rows <= space.rows);
        CHECK(layout.rows * layout.cells_per_row >= racks);
        const int columns = layout.label_columns + layout.cells_per_row * layout.cell_columns;
        CHECK(columns - (layout.label_columns == 0 ? 3 : 0) <= space.columns);
      }
    }
  }
  CHECK(lay_out_racks(64, 6, {78, 10}).label_columns == 0);
  CHECK(lay_out_racks(5000, 6, {78, 10}).rows == 0);
}

TEST_CASE("keys are read from a terminal's bytes; unknown sequences are skipped") {
  const auto keys = keys_of("a\x1b[A\x1bOB\x1b[5~\x1b[1;5C\x1b[200~\t\r\x7f\x03\x1b");
  REQUIRE(keys.size() == 10);
  CHECK(keys[0].character == 'a');
  CHECK(keys[1].kind == Key::Kind::kUp);
  CHECK(keys[2].kind == Key::Kind::kDown);
  CHECK(keys[3].kind == Key::Kind::kPageUp);
  CHECK(keys[4].kind == Key::Kind::kRight);
  CHECK(keys[5].kind == Key::Kind::kTab);
  CHECK(keys[6].kind == Key::Kind::kEnter);
  CHECK(keys[7].kind == Key::Kind::kBackspace);
  CHECK(keys[8].kind == Key::Kind::kInterrupt);
  CHECK(keys[9].kind == Key::Kind::kEscape);
  CHECK(keys_of("\x1b[").empty());
}

}  // namespace robustrun::cli::canvas_test
