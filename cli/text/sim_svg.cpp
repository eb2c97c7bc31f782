#include "cli/text/sim_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/core/text.h"

namespace robustrun::cli {
namespace {

using simulator::in_seconds;
using simulator::Phase;
using simulator::PolicyResult;

constexpr double kBarLeft = 150, kBarWidth = 560, kRowHeight = 34, kBarHeight = 20, kTop = 46;
constexpr double kAxisHeight = 40;
constexpr double kLegendColumn = 240;
constexpr std::size_t kLegendColumns = 3;
// By Phase.
constexpr std::array<const char*, simulator::kPhases> kColours = {
    "#1b7f3b", "#4e79a7", "#e15759", "#f28e2b", "#edc948",
    "#76b7b2", "#b07aa1", "#59a14f", "#9c755f", "#bab0ac"};

double share_of(const PolicyResult& one, Phase phase) {
  return in_seconds(one.sum.at(phase)) / in_seconds(one.sum.total);
}

std::string escaped(const std::string& text) {
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
          "<line x1=\"{0:.2f}\" y1=\"{1:.0f}\" x2=\"{0:.2f}\" y2=\"{2:.0f}\" stroke=\"#ccc\"/>"
          "<text x=\"{0:.2f}\" y=\"{3:.0f}\" text-anchor=\"middle\">{4:.3g} %</text>\n",
          x(share), kTop - 4, bottom, bottom + 16, 100 * share);
    }
    return out;
  }

 private:
  double from_;
};

std::string bar(const PolicyResult& one, double top, const Axis& axis) {
  std::string out = fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{}</text>\n",
                                kBarLeft - 8, top + 15, escaped(one.name));
  double done = 0;
  for (std::size_t i = 0; i < simulator::kPhases; ++i) {
    const auto phase = static_cast<Phase>(i);
    const double left = axis.x(done);
    done += share_of(one, phase);
    const double width = axis.x(done) - left;
    if (width <= 0) continue;
    out += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.0f}\" width=\"{:.2f}\" height=\"{:.0f}\" fill=\"{}\""
        "{}><title>{}: {:.3f} %</title></rect>\n",
        left, top, width, kBarHeight, kColours[i],
        phase == Phase::kProductive ? "" : " opacity=\"0.45\"", words_of(phase),
        100 * share_of(one, phase));
  }
  return out + fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\">{:.2f} %</text>\n",
                           kBarLeft + kBarWidth + 8, top + 15, 100 * one.ettr.mean);
}

}  // namespace

std::string sim_svg(const simulator::StudyRequest& request, const simulator::Study& study) {
  double least = 1;
  for (const PolicyResult& one : study.policies) {
    least = std::min(least, share_of(one, Phase::kProductive));
  }
  const Axis axis(least);
  const double bottom = kTop + static_cast<double>(study.policies.size()) * kRowHeight;
  const double legend = bottom + kAxisHeight;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"860\" height=\"{:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"13\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"10\" y=\"22\" font-size=\"15\">Productive time (ETTR), longer is better: {} "
      "machines and {} spares, failures of {}</text>\n",
      legend + 106, request.job.nodes, study.spares_used, escaped(request.failures.name));
  out += axis.drawn(bottom);
  double top = kTop;
  for (const PolicyResult& one : study.policies) {
    out += bar(one, top, axis);
    top += kRowHeight;
  }
  for (std::size_t i = 0; i < simulator::kPhases; ++i) {
    const std::size_t row = i / kLegendColumns;
    const double x = 20 + kLegendColumn * static_cast<double>(i % kLegendColumns);
    const double y = legend + 22 * static_cast<double>(row);
    out += fmt::format(
        "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"12\" height=\"12\" fill=\"{}\"/>"
        "<text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n",
        x, y, kColours[i], x + 18, y + 11, words_of(static_cast<Phase>(i)));
  }
  return out + "</svg>\n";
}

}  // namespace robustrun::cli
