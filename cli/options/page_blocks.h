#pragma once
// Splits a page of help_pages.h: usage lines, prose, rows, and names of tables. Pure.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace robustrun::cli {

struct PageRow {
  std::string name;  // with its indentation
  std::string help;  // in one line; may be empty
};

struct PagePart {
  enum class Kind : std::uint8_t { kUsage, kProse, kRows, kTable };
  Kind kind = Kind::kProse;
  std::string text;  // kUsage: the lines as written; kProse: one line; kTable: the topic behind "@"
  std::vector<PageRow> rows;  // kRows
};

// Parts without an empty line between them.
using PageBlock = std::vector<PagePart>;

[[nodiscard]] std::vector<PageBlock> page_blocks(std::string_view text);

}  // namespace robustrun::cli
