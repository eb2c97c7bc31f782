// Boxes get their sizes from the inside out, level by level, and their positions from the outside
// in. The parts of a box flow in rows, with a width that makes the whole about 3 to 2.

#include "topo/picture/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/core/text.h"

namespace robustrun::topo {
namespace {

constexpr int kPad = 8;
constexpr int kTitle = 18;     // a box's name
constexpr int kLine = 20;      // height of a line of text
constexpr int kCharacter = 7;  // average width
constexpr int kMargin = 16;
constexpr int kLeastWidth = 480;
constexpr std::uint32_t kLegendGroupsMax = 24;
constexpr double kAspect = 1.5;

struct Box {
  int x = 0, y = 0, width = 0, height = 0;
};

// Escapes text for XML, without control characters.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : base::printable(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

// Hues a golden angle apart: neighbours differ well.
std::string colour_of(std::uint32_t group) {
  constexpr double kGoldenAngle = 137.508;
  const double lightness = group % 2 == 0 ? 0.74 : 0.66;
  const double hue = std::fmod(group * kGoldenAngle + 205, 360.0) / 60;
  const double chroma = (1 - std::abs(2 * lightness - 1)) * 0.62;
  const auto channel = [&](double shift) {
    const double at = std::fmod(hue + shift, 6.0);
    const double share = std::clamp(std::min(at, 4 - at), 0.0, 1.0);
    return static_cast<int>(std::lround(255 * (lightness - chroma / 2 + chroma * share)));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", channel(2), channel(0), channel(4));
}

// Places `parts` in rows from (0, 0) on, at most `width` wide unless one part is wider; returns the
// size of the whole.
Box flow(std::vector<Box*>& parts, int width) {
  Box all;
  int x = 0;
  int y = 0;
  int row = 0;
  for (Box* part : parts) {
    if (x > 0 && x + part->width > width) {
      x = 0;
      y += row + kPad;
      row = 0;
    }
    part->x = x;
    part->y = y;
    x += part->width + kPad;
    row = std::max(row, part->height);
    all.width = std::max(all.width, x - kPad);
    all.height = std::max(all.height, y + row);
  }
  return all;
}

int good_width(const std::vector<Box*>& parts) {
  double area = 0;
  for (const Box* part : parts) area += double(part->width + kPad) * (part->height + kPad);
  return static_cast<int>(std::sqrt(area * kAspect));
}

class Drawing {
 public:
  explicit Drawing(const Scene& scene)
      : scene_(scene), named_(scene.uses.size() <= kNamedNodesMax), nodes_(scene.uses.size()) {
    std::size_t longest = 0;
    for (const Node& node : scene.cluster->nodes) longest = std::max(longest, node.name.size());
    node_.width =
        named_ ? static_cast<int>(std::clamp<std::size_t>(longest, 11, 24)) * kCharacter + 10 : 14;
    node_.height = named_ ? 36 : 14;
    for (std::uint32_t level = 0; level <= scene.top; ++level) measure(level);
  }

  std::string draw(std::string_view caption) {
    std::vector<Box*> roots;
    for (Box& root : boxes_[scene_.top]) roots.push_back(&root);
    Box all = flow(roots, std::max(good_width(roots), kLeastWidth));
    int top = kMargin;
    for (const std::string_view line : base::split(base::trim(caption), '\n')) {
      top += kLine;
      text(kMargin, top - 6, 13, line);
      all.width = std::max(all.width, static_cast<int>(line.size()) * kCharacter);
    }
    top += kPad;
    for (std::uint32_t root = 0; root < roots.size(); ++root) {
      shift(boxes_[scene_.top][root], kMargin, top);
      box(scene_.top, root);
    }
    for (std::uint32_t level = scene_.top; level > 0; --level) draw_below(level);
    for (std::uint32_t leaf = 0; leaf < scene_.nodes.size(); ++leaf) {
      for (const NodeIndex node : scene_.nodes[leaf]) {
        shift(nodes_[node], boxes_[0][leaf].x + kPad, boxes_[0][leaf].y + kTitle + kPad / 2);
        this->node(node);
      }
    }
    const int width = std::max(all.width, kLeastWidth) + 2 * kMargin;
    const int bottom = legend(top + all.height + kPad, width);
    return fmt::format(
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
               "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\">\n"
               "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
               width, bottom + kMargin) +
           out_ + "</svg>\n";
  }

 private:
  static void shift(Box& box, int x, int y) {
    box.x += x;
    box.y += y;
  }

  [[nodiscard]] const std::string& name(std::uint32_t level, std::uint32_t at) const {
    return scene_.cluster->levels[level].switches[at].name;
  }

  // The sizes of a level's boxes, and the positions of their parts.
  void measure(std::uint32_t level) {
    auto& boxes = boxes_.emplace_back(scene_.cluster->levels[level].switches.size());
    for (std::uint32_t at = 0; at < boxes.size(); ++at) {
      std::vector<Box*> parts;
      if (level == 0) {
        for (const NodeIndex one : scene_.nodes[at]) {
          nodes_[one] = node_;
          parts.push_back(&nodes_[one]);
        }
      } else {
        for (const std::uint32_t one : scene_.switches[level][at]) {
          parts.push_back(&boxes_[level - 1][one]);
        }
      }
      const Box inside = flow(parts, good_width(parts));
      const int title = static_cast<int>(name(level, at).size()) * kCharacter;
      boxes[at].width = std::max(inside.width, title) + 2 * kPad;
      boxes[at].height = inside.height + kTitle + kPad + kPad / 2;
    }
  }

  void draw_below(std::uint32_t level) {
    for (std::uint32_t at = 0; at < boxes_[level].size(); ++at) {
      for (const std::uint32_t one : scene_.switches[level][at]) {
        shift(boxes_[level - 1][one], boxes_[level][at].x + kPad,
              boxes_[level][at].y + kTitle + kPad / 2);
        box(level - 1, one);
      }
    }
  }

  void text(int x, int y, int size, std::string_view what) {
    fmt::format_to(std::back_inserter(out_),
                   "<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"#222222\">{}</text>\n", x, y,
                   size, escaped(what));
  }

  void rectangle(const Box& box, std::string_view fill, std::string_view stroke, int round) {
    fmt::format_to(std::back_inserter(out_),
                   "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\" fill=\"{}\" "
                   "stroke=\"{}\"/>\n",
                   box.x, box.y, box.width, box.height, round, fill, stroke);
  }

  void box(std::uint32_t level, std::uint32_t at) {
    const Box& where = boxes_[level][at];
    rectangle(where, level % 2 == 0 ? "#fafafa" : "#eef1f4", "#8a94a0", 6);
    text(where.x + kPad, where.y + kTitle - 4, 12, name(level, at));
  }

  [[nodiscard]] std::string words(NodeIndex node) const {
    const NodeUse& use = scene_.uses[node];
    if (use.kind == NodeUse::Kind::kSpare) return "spare";
    if (use.kind == NodeUse::Kind::kFree) return "not used";
    const std::uint32_t slots = slots_of(node);
    return slots < 2 ? fmt::format("rank {}", use.first_rank)
                     : fmt::format("{}-{}", use.first_rank, use.first_rank + slots - 1);
  }

  [[nodiscard]] std::uint32_t slots_of(NodeIndex node) const {
    return std::max(1U, scene_.cluster->nodes[node].slots);
  }

  void node(NodeIndex index) {
    const NodeUse& use = scene_.uses[index];
    const std::string& name = scene_.cluster->nodes[index].name;
    std::string tip = name;
    if (use.kind == NodeUse::Kind::kWorks) {
      tip += fmt::format(": place {}, {}{}", use.place, slots_of(index) < 2 ? "" : "ranks ",
                         words(index));
      if (use.group != kNoGroup) {
        tip += fmt::format(", {} group {}", to_string(*scene_.kind), use.group);
      }
    } else {
      tip += ": " + words(index);
    }
    out_ += "<g><title>" + escaped(tip) + "</title>\n";
    const bool works = use.kind == NodeUse::Kind::kWorks;
    const std::string fill = !works                  ? "#ffffff"
                             : use.group == kNoGroup ? "#c8c8c8"
                                                     : colour_of(use.group);
    const bool spare = use.kind == NodeUse::Kind::kSpare;
    rectangle(nodes_[index], fill, works ? "#444444" : spare ? "#2060c0" : "#c0c0c0", 2);
    if (named_) {
      const Box& where = nodes_[index];
      const auto fits = static_cast<std::size_t>((where.width - 8) / kCharacter);
      text(where.x + 5, where.y + 15, 12, name.size() > fits ? name.substr(0, fits) : name);
      text(where.x + 5, where.y + 30, 11, words(index));
    }
    out_ += "</g>\n";
  }

  // The legend: swatches in rows; returns the lower end.
  int legend(int y, int width) {
    struct Entry {
      std::string words, fill, stroke;
    };
    std::vector<Entry> entries;
    for (std::uint32_t g = 0; g < std::min(scene_.groups, kLegendGroupsMax); ++g) {
      entries.push_back(
          {fmt::format("{} group {}", to_string(*scene_.kind), g), colour_of(g), "#444444"});
    }
    if (scene_.groups > kLegendGroupsMax) {
      entries.push_back({fmt::format("... {} groups", scene_.groups), "#ffffff", "#ffffff"});
    }
    entries.push_back({"spare", "#ffffff", "#2060c0"});
    entries.push_back({"not used", "#ffffff", "#c0c0c0"});
    constexpr int kEntry = 116;
    int x = kMargin;
    for (const Entry& entry : entries) {
      if (x + kEntry > width) {
        x = kMargin;
        y += kLine;
      }
      rectangle({x, y, 12, 12}, entry.fill, entry.stroke, 2);
      text(x + 18, y + 11, 12, entry.words);
      x += kEntry;
    }
    return y + kLine;
  }

  const Scene& scene_;
  bool named_;
  Box node_;
  std::vector<Box> nodes_;  // by node
  std::vector<std::vector<Box>> boxes_;  // by level, switch
  std::string out_;
};

}  // namespace

std::string picture_svg(const Scene& scene, std::string_view caption) {
  RR_ASSERT(scene.cluster != nullptr && scene.top < scene.cluster->levels.size());
  return Drawing(scene).draw(caption);
}

}  // namespace robustrun::topo
