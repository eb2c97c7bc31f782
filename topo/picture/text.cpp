#include "topo/picture/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/core/text.h"
#include "base/core/words.h"

namespace robustrun::topo {
namespace {

constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
constexpr char kSpare = '+';
constexpr char kFree = '.';
constexpr char kNoLetter = '#';  // a working node without a shown group
constexpr std::size_t kNameMax = 24;
// Those of a terminal's 256 colours that are readable on black and on white.
constexpr std::array<int, 12> kColours = {33, 166, 34, 161, 136, 37, 129, 202, 64, 170, 25, 130};

char letter_of(const NodeUse& use) {
  if (use.kind == NodeUse::Kind::kSpare) return kSpare;
  if (use.kind == NodeUse::Kind::kFree) return kFree;
  return use.group == kNoGroup ? kNoLetter : kLetters[use.group % kLetters.size()];
}

std::string painted(std::string_view text, const NodeUse& use, bool colour) {
  if (!colour || use.kind != NodeUse::Kind::kWorks || use.group == kNoGroup) {
    return std::string(text);
  }
  return fmt::format("\x1b[1;38;5;{}m{}\x1b[0m", kColours[use.group % kColours.size()], text);
}

struct Run {
  NodeUse use;
  std::size_t length;
};

std::vector<Run> runs_of(const Scene& scene, const std::vector<NodeIndex>& nodes) {
  std::vector<Run> runs;
  for (const NodeIndex node : nodes) {
    const NodeUse& use = scene.uses[node];
    if (!runs.empty() && letter_of(runs.back().use) == letter_of(use)) {
      ++runs.back().length;
    } else {
      runs.push_back({use, 1});
    }
  }
  return runs;
}

// A character per node or, if there are too many, "A*12 B*4".
std::string nodes_text(const Scene& scene, const std::vector<NodeIndex>& nodes, std::size_t columns,
                       bool colour) {
  const bool folded = nodes.size() > columns;
  std::string out;
  std::size_t used = 0;
  for (const Run& run : runs_of(scene, nodes)) {
    std::string text(folded ? 1 : run.length, letter_of(run.use));
    if (folded && run.length > 1) text += fmt::format("*{}", run.length);
    const std::size_t gap = folded && used > 0 ? 1 : 0;
    const std::size_t left = columns - used;
    constexpr std::string_view kMore = " ...";
    if (folded && text.size() + gap + kMore.size() > left) return out + std::string(kMore);
    out += std::string(gap, ' ') + painted(text, run.use, colour);
    used += gap + text.size();
  }
  return out;
}

std::string counts_text(const SwitchCounts& counts) {
  std::string text =
      fmt::format("{} of {}", counts.works, counts.works + counts.spare + counts.free);
  if (counts.spare > 0) {
    text += ", " + base::counted(counts.spare, "spare");
  }
  return text;
}

struct Line {
  std::uint32_t level = 0, at = 0;
  std::string name;  // with its indentation
};

// From `scene.top` down to level `lowest`, depth first.
std::vector<Line> lines_of(const Scene& scene, std::uint32_t lowest) {
  std::vector<Line> lines;
  std::vector<Line> open;
  for (std::size_t at = scene.cluster->levels[scene.top].switches.size(); at-- > 0;) {
    open.push_back({scene.top, static_cast<std::uint32_t>(at), ""});
  }
  while (!open.empty()) {
    Line line = open.back();
    open.pop_back();
    std::string name = scene.cluster->levels[line.level].switches[line.at].name;
    if (name.size() > kNameMax) name = name.substr(0, kNameMax - 3) + "...";
    line.name = std::string(std::size_t{2} * (scene.top - line.level), ' ') + base::printable(name);
    if (line.level > lowest) {
      const auto& below = scene.switches[line.level][line.at];
      for (auto at = below.rbegin(); at != below.rend(); ++at) {
        open.push_back({line.level - 1, *at, ""});
      }
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string legend(const Scene& scene, bool colour) {
  bool spare = false;
  bool free = false;
  for (const NodeUse& use : scene.uses) {
    spare = spare || use.kind == NodeUse::Kind::kSpare;
    free = free || use.kind == NodeUse::Kind::kFree;
  }
  std::string text;
  if (!scene.kind) {
    text = fmt::format("{} a working node", kNoLetter);
  } else {
    NodeUse first;
    first.kind = NodeUse::Kind::kWorks;
    first.group = 0;
    text = painted("A", first, colour) +
           fmt::format(" the nodes of {} group 0", to_string(*scene.kind));
    if (scene.groups > 1) {
      first.group = 1;
      text += ", " + painted("B", first, colour) + " of group 1, ...";
    }
    if (scene.groups > kLetters.size())
      text += fmt::format(" (repeated after {})", kLetters.size());
  }
  if (spare) text += fmt::format("; {} a spare", kSpare);
  if (free) text += fmt::format("; {} not used", kFree);
  return text + "\n";
}

}  // namespace

std::string picture_text(const Scene& scene, const TextPictureStyle& style) {
  std::uint32_t lowest = 0;
  while (lowest < scene.top && scene.cluster->levels[lowest].switches.size() > style.lines_max) {
    ++lowest;
  }
  const std::vector<Line> lines = lines_of(scene, lowest);
  std::size_t name_columns = 0;
  std::size_t count_columns = 0;
  for (const Line& line : lines) {
    name_columns = std::max(name_columns, line.name.size());
    count_columns =
        std::max(count_columns, counts_text(counts_below(scene, line.level, line.at)).size());
  }
  const std::size_t left = name_columns + 2 + count_columns + 2;
  const std::size_t right = std::max<std::size_t>(style.columns, left + 16) - left;
  std::string out;
  std::size_t shown = 0;
  for (const Line& line : lines) {
    if (++shown > 2 * style.lines_max) {
      out += fmt::format("... and {} more switches\n", lines.size() - shown + 1);
      break;
    }
    const std::string counts = counts_text(counts_below(scene, line.level, line.at));
    std::string text =
        fmt::format("{:<{}}  {:<{}}", line.name, name_columns, counts, count_columns);
    if (line.level == lowest) {
      text +=
          "  " + nodes_text(scene, nodes_below(scene, line.level, line.at), right, style.colour);
    } else {
      text.resize(text.find_last_not_of(' ') + 1);
    }
    out += text + "\n";
  }
  return out + legend(scene, style.colour);
}

}  // namespace robustrun::topo
