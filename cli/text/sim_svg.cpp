#include "cli/text/sim_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "base/core/text.h"

namespace robustrun::cli {
namespace {

using simulator::in_seconds;
using simulator::Phase;
using simulator::PolicyResult;

constexpr double kWidth = 860;
constexpr double kBarLeft = 190, kBarWidth = 560, kRowHeight = 34, kBarHeight = 20, kTop = 74;
constexpr double kAxisHeight = 58;
constexpr double kLegendColumn = 200, kLegendRow = 22;
constexpr std::size_t kLegendColumns = 4;
constexpr std::size_t kNameCharacters = 24;
constexpr double kPlotLeft = 60, kPlotWidth = 340, kPlotHeight = 150, kPlotsApart = 430;
constexpr double kPlotHead = 34, kPlotFoot = 52;
constexpr double kLabelsApart = 48;

// The colours of the report page (html/page/page.css), by Phase; each has its word in the legend.
struct Colour {
  const char* light;
  const char* dark;
};
constexpr std::array<Colour, simulator::kPhases> kColours = {{{"#2b9c79", "#2f9274"},
                                                              {"#2777b4", "#3d87bf"},
                                                              {"#7cc4ab", "#5b9c86"},
                                                              {"#e3c12f", "#cdb13c"},
                                                              {"#e59b1c", "#cf8f25"},
                                                              {"#8d939a", "#5f666d"},
                                                              {"#c77aab", "#b56c9c"},
                                                              {"#d4600f", "#cb6420"},
                                                              {"#62aee0", "#4d94c4"},
                                                              {"#c9cac4", "#454c54"}}};

std::string style() {
  std::string light, dark;
  for (std::size_t i = 0; i < kColours.size(); ++i) {
    light += fmt::format(".k{}{{fill:{}}}", i, kColours[i].light);
    dark += fmt::format(".k{}{{fill:{}}}", i, kColours[i].dark);
  }
  return "<style>text{fill:#1c2127;font:13px system-ui,-apple-system,\"Segoe UI\",Roboto,"
         "\"Noto Sans\",\"Liberation Sans\",Arial,sans-serif}.title{font-size:17px;font-weight:640}"
         ".head{font-weight:640}.soft{fill:#5b646e;font-size:12px}.back{fill:#fbfbf9}"
         ".grid{stroke:#e4e4df}.line{fill:none;stroke:#2777b4;stroke-width:2}.dot{fill:#2777b4}"
         ".best{fill:#b8480a}" +
         light +
         "@media (prefers-color-scheme:dark){text{fill:#e6e8ea}.soft{fill:#9aa3ad}"
         ".back{fill:#14171a}.grid{stroke:#2b3036}.line{stroke:#3d87bf}.dot{fill:#3d87bf}"
         ".best{fill:#f28a4b}" +
         dark + "}</style>\n";
}

double share_of(const PolicyResult& one, Phase phase) {
  return in_seconds(one.sum.at(phase)) / in_seconds(one.sum.total);
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : base::printable(text)) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string text_at(double x, double y, std::string_view css, std::string_view anchor,
                    std::string_view text) {
  return fmt::format("<text x=\"{:.2f}\" y=\"{:.0f}\" class=\"{}\" text-anchor=\"{}\">{}</text>\n",
                     x, y, css, anchor, text);
}

// A long name is cut; the whole one shows where the pointer is.
std::string name_at(double x, double y, const std::string& name) {
  const std::string shown = base::printable(name);
  if (shown.size() <= kNameCharacters) return text_at(x, y, "", "end", escaped(name));
  const std::string cut = escaped(shown.substr(0, kNameCharacters - 1)) + "…";
  return text_at(x, y, "", "end", fmt::format("{}<title>{}</title>", cut, escaped(name)));
}

// The axis begins at a multiple of ten percent, so that small differences are seen, and ends at
// 100 percent.
class Axis {
 public:
  explicit Axis(double least) : from_(std::max(0.0, std::floor(10 * least - 0.5) / 10)) {}

  [[nodiscard]] double x(double share) const {
    return kBarLeft + kBarWidth * std::clamp((share - from_) / (1 - from_), 0.0, 1.0);
  }

  [[nodiscard]] std::string drawn(double bottom) const {
    std::string out;
    constexpr int kTicks = 5;
    for (int i = 0; i <= kTicks; ++i) {
      const double share = from_ + (1 - from_) * i / kTicks;
      out += fmt::format(
          "<line class=\"grid\" x1=\"{0:.2f}\" y1=\"{1:.0f}\" x2=\"{0:.2f}\" y2=\"{2:.0f}\"/>",
          x(share), kTop - 4, bottom);
      out += text_at(x(share), bottom + 16, "soft", "middle", fmt::format("{:.3g} %", 100 * share));
    }
    return out + text_at(kBarLeft + kBarWidth / 2, bottom + 36, "soft", "middle",
                         from_ > 0 ? fmt::format("share of all time, from {:.3g} %", 100 * from_)
                                   : std::string("share of all time"));
  }

 private:
  double from_;
};

std::string bar(const PolicyResult& one, double top, const Axis& axis) {
  std::string out = name_at(kBarLeft - 10, top + 15, one.name);
  double done = 0;
  for (std::size_t i = 0; i < simulator::kPhases; ++i) {
    const auto phase = static_cast<Phase>(i);
    const double left = axis.x(done);
    done += share_of(one, phase);
    const double width = axis.x(done) - left;
    if (width <= 0) continue;
    out += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.0f}\" width=\"{:.2f}\" height=\"{:.0f}\" class=\"k{}\">"
        "<title>{}: {:.3f} %</title></rect>\n",
        left, top, width, kBarHeight, i, words_of(phase), 100 * share_of(one, phase));
  }
  return out + text_at(kBarLeft + kBarWidth + 10, top + 15, "head", "start",
                       fmt::format("{:.2f} %", 100 * one.ettr.mean));
}

// The kinds of time that occur.
std::string legend(const simulator::Study& study, double top, std::size_t& rows) {
  std::string out;
  std::size_t shown = 0;
  for (std::size_t i = 0; i < simulator::kPhases; ++i) {
    const auto phase = static_cast<Phase>(i);
    const bool occurs = std::ranges::any_of(
        study.policies, [&](const PolicyResult& one) { return share_of(one, phase) > 0; });
    if (!occurs) continue;
    const std::size_t row = shown / kLegendColumns;
    const double x = 24 + kLegendColumn * static_cast<double>(shown % kLegendColumns);
    const double y = top + kLegendRow * static_cast<double>(row);
    out += fmt::format(
        "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"12\" height=\"12\" rx=\"2\" "
        "class=\"k{}\"/>",
        x, y, i);
    out += text_at(x + 18, y + 11, "", "start", words_of(phase));
    ++shown;
  }
  rows = (shown + kLegendColumns - 1) / kLegendColumns;
  return out;
}

struct Point {
  double x = 0;  // part of the axis, 0 to 1
  double value = 0;
  std::string label;  // of x
  bool is_best = false;
};

// A line over labelled places; the best one is marked and named.
std::string plot(double left, double top, std::string_view title, std::string_view across,
                 std::string_view up, const std::vector<Point>& points) {
  double low = 1, high = 0;
  for (const Point& one : points) {
    low = std::min(low, one.value);
    high = std::max(high, one.value);
  }
  const double room = std::max(0.001, (high - low) * 0.1);
  low = std::max(0.0, low - room);
  high = std::min(1.0, high + room);
  const double x0 = left + kPlotLeft, y0 = top + kPlotHead;
  const auto y = [&](double value) {
    return y0 + kPlotHeight * (1 - (value - low) / (high - low));
  };
  std::string out = text_at(left + 24, top + 8, "head", "start", title);
  out += text_at(left + 24, top + 24, "soft", "start", up);
  constexpr int kTicks = 4;
  for (int i = 0; i <= kTicks; ++i) {
    const double value = low + (high - low) * i / kTicks;
    out +=
        fmt::format("<path class=\"grid\" d=\"M{:.0f} {:.1f}h{:.0f}\"/>", x0, y(value), kPlotWidth);
    out += text_at(x0 - 6, y(value) + 4, "soft", "end", fmt::format("{:.1f}", 100 * value));
  }
  const auto x = [&](const Point& one) { return x0 + 8 + (kPlotWidth - 16) * one.x; };
  std::string line;
  for (const Point& one : points) {
    line += fmt::format("{}{:.1f} {:.1f}", line.empty() ? "M" : "L", x(one), y(one.value));
  }
  out += fmt::format("<path class=\"line\" d=\"{}\"/>\n", line);
  double labelled = -kLabelsApart;
  for (const Point& one : points) {
    out += fmt::format(
        "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"><title>{}: {:.2f} %</title>"
        "</circle>\n",
        one.is_best ? "best" : "dot", x(one), y(one.value), one.is_best ? 5 : 3, one.label,
        100 * one.value);
    if (x(one) - labelled < kLabelsApart) continue;
    labelled = x(one);
    out += text_at(labelled, y0 + kPlotHeight + 16, "soft", "middle", one.label);
  }
  const auto best = std::ranges::find_if(points, &Point::is_best);
  const std::string which = best == points.end() ? "" : fmt::format("; best: {}", best->label);
  return out + text_at(x0 + kPlotWidth / 2, y0 + kPlotHeight + 36, "soft", "middle",
                       fmt::format("{}{}", across, which));
}

// "69 s", "12 min", "2.1 h": short, for an axis.
std::string axis_time(base::Nanos time) {
  constexpr double kMinute = 60, kHour = 3600, kAndAHalf = 1.5;
  const double seconds = in_seconds(time);
  if (seconds < kAndAHalf * kMinute) return fmt::format("{:.3g} s", seconds);
  if (seconds < kAndAHalf * kHour) return fmt::format("{:.0f} min", seconds / kMinute);
  return fmt::format("{:.1f} h", seconds / kHour);
}

std::vector<Point> interval_points(const simulator::Study& study) {
  std::vector<Point> points;
  const auto& all = study.intervals;
  if (all.size() < 2 || all.front().every <= base::Nanos{}) return points;
  const double first = std::log(in_seconds(all.front().every));
  const double span = std::max(1e-9, std::log(in_seconds(all.back().every)) - first);
  for (const simulator::IntervalResult& one : all) {
    points.push_back({(std::log(in_seconds(one.every)) - first) / span, one.ettr,
                      axis_time(one.every), one.every == study.best_interval});
  }
  return points;
}

std::vector<Point> spares_points(const simulator::Study& study) {
  std::vector<Point> points;
  const auto& all = study.spares;
  if (all.size() < 2) return points;
  const double span = std::max(1U, all.back().spares - all.front().spares);
  for (const simulator::SparesResult& one : all) {
    points.push_back({(one.spares - all.front().spares) / span, one.per_machine,
                      fmt::format("{}", one.spares), one.spares == study.best_spares});
  }
  return points;
}

}  // namespace

std::string sim_svg(const simulator::StudyRequest& request, const simulator::Study& study) {
  double least = 1;
  for (const PolicyResult& one : study.policies) {
    least = std::min(least, share_of(one, Phase::kProductive));
  }
  const Axis axis(least);
  const double bottom = kTop + static_cast<double>(study.policies.size()) * kRowHeight;
  std::string body = text_at(24, 30, "title", "start", "Productive time (ETTR)");
  body +=
      text_at(24, 52, "soft", "start",
              fmt::format("longer is better: {} machines and {} spares, failures of {}",
                          request.job.nodes, study.spares_used, escaped(request.failures.name)));
  body += axis.drawn(bottom);
  double top = kTop;
  for (const PolicyResult& one : study.policies) {
    body += bar(one, top, axis);
    top += kRowHeight;
  }
  std::size_t legend_rows = 0;
  body += legend(study, bottom + kAxisHeight, legend_rows);
  double end = bottom + kAxisHeight + kLegendRow * static_cast<double>(legend_rows) + 14;
  const auto intervals = interval_points(study);
  const auto spares = spares_points(study);
  double left = 0;
  if (!intervals.empty()) {
    body +=
        plot(left, end + 24, "Checkpoint interval", "one checkpoint every", "ETTR, %", intervals);
    left += kPlotsApart;
  }
  if (!spares.empty()) {
    body += plot(left, end + 24, "Spares", "spare machines", "ETTR per machine, %", spares);
  }
  if (!intervals.empty() || !spares.empty()) end += 24 + kPlotHead + kPlotHeight + kPlotFoot;
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
             "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n",
             kWidth, end) +
         style() + "<rect class=\"back\" width=\"100%\" height=\"100%\"/>\n" + body + "</svg>\n";
}

}  // namespace robustrun::cli
