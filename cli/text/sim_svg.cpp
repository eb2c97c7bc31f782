#include "cli/text/sim_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/core/text.h"

namespace robustrun::cli {
namespace {

using simulator::in_seconds;
using simulator::Phase;
using simulator::PolicyResult;

constexpr double kBarLeft = 150, kBarWidth = 560, kRowHeight = 34, kBarHeight = 20, kTop = 46;
constexpr double kLegendColumn = 240;
constexpr std::size_t kLegendColumns = 3;
// By Phase; productive time has no bar.
constexpr std::array<const char*, simulator::kPhases> kColours = {
    "none",    "#4e79a7", "#e15759", "#f28e2b", "#edc948",
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

std::string bar(const PolicyResult& one, double top, double most) {
  std::string out = fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{}</text>\n",
                                kBarLeft - 8, top + 15, escaped(one.name));
  double left = kBarLeft;
  for (std::size_t i = 1; i < simulator::kPhases; ++i) {
    const auto phase = static_cast<Phase>(i);
    const double width = kBarWidth * share_of(one, phase) / most;
    if (width <= 0) continue;
    out += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.0f}\" width=\"{:.2f}\" height=\"{:.0f}\" fill=\"{}\"><title>{}: "
        "{:.3f} %</title></rect>\n",
        left, top, width, kBarHeight, kColours[i], words_of(phase), 100 * share_of(one, phase));
    left += width;
  }
  return out + fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\">ETTR {:.2f} %</text>\n", left + 6,
                           top + 15, 100 * one.ettr.mean);
}

}  // namespace

std::string sim_svg(const simulator::StudyRequest& request, const simulator::Study& study) {
  double most = 1e-9;
  for (const PolicyResult& one : study.policies) {
    most = std::max(most, 1 - share_of(one, Phase::kProductive));
  }
  const double rows = static_cast<double>(study.policies.size());
  const double legend = kTop + rows * kRowHeight + 14;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"860\" height=\"{:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"13\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"10\" y=\"22\" font-size=\"15\">Time that is not productive: {} machines and {} "
      "spares, failures of {}</text>\n",
      legend + 84, request.job.nodes, study.spares_used, escaped(request.failures.name));
  double top = kTop;
  for (const PolicyResult& one : study.policies) {
    out += bar(one, top, most);
    top += kRowHeight;
  }
  for (std::size_t i = 1; i < simulator::kPhases; ++i) {
    const std::size_t row = (i - 1) / kLegendColumns;
    const double x = 20 + kLegendColumn * static_cast<double>((i - 1) % kLegendColumns);
    const double y = legend + 22 * static_cast<double>(row);
    out += fmt::format(
        "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"12\" height=\"12\" fill=\"{}\"/>"
        "<text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n",
        x, y, kColours[i], x + 18, y + 11, words_of(static_cast<Phase>(i)));
  }
  return out + "</svg>\n";
}

}  // namespace robustrun::cli
