#include "cli/options/page_blocks.h"

#include <utility>

#include "base/core/text.h"

namespace robustrun::cli {
namespace {

using PartKind = PagePart::Kind;

// A block of rows and prose.
PageBlock block_parts(std::string_view block) {
  PageBlock parts;
  std::string prose;
  std::vector<PageRow> rows;
  const auto flush = [&] {
    if (!prose.empty()) parts.push_back({PartKind::kProse, std::exchange(prose, {}), {}});
    if (!rows.empty()) parts.push_back({PartKind::kRows, {}, std::exchange(rows, {})});
  };
  for (const std::string_view line : base::split(block, '\n')) {
    if (!line.starts_with("  ")) {
      if (!rows.empty()) flush();
      prose += (prose.empty() ? "" : " ") + std::string(line);
      continue;
    }
    if (!prose.empty()) flush();
    if (line.starts_with("   ") && !rows.empty()) {
      std::string& help = rows.back().help;
      help += (help.empty() ? "" : " ") + std::string(base::trim(line));
      continue;
    }
    // "- " begins an item of a list: its text is wrapped behind the dash.
    const std::size_t gap = line.starts_with("  - ") ? 3 : line.find("  ", 2);
    const bool has_help = gap != std::string_view::npos;
    rows.push_back({std::string(line.substr(0, gap)),
                    has_help ? std::string(base::trim(line.substr(gap))) : std::string()});
  }
  flush();
  return parts;
}

}  // namespace

std::vector<PageBlock> page_blocks(std::string_view text) {
  std::vector<PageBlock> blocks;
  for (;;) {
    const auto end = text.find("\n\n");
    const std::string_view block = text.substr(0, end);
    if (block.starts_with('@')) {
      blocks.push_back({{PartKind::kTable, std::string(block.substr(1)), {}}});
    } else if (block.starts_with("usage:")) {
      blocks.push_back({{PartKind::kUsage, std::string(block), {}}});
    } else {
      blocks.push_back(block_parts(block));
    }
    if (end == std::string_view::npos) return blocks;
    text.remove_prefix(end + 2);
  }
}

}  // namespace robustrun::cli
