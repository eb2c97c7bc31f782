#include "agent/output/line_filter.h"

#include <algorithm>

#include "agent/output/limits.h"

namespace robustrun::agent {

LineFilter::LineFilter(std::vector<std::string> needles, std::string prefix)
    : needles_(std::move(needles)), prefix_(std::move(prefix)) {}

void LineFilter::judge(std::string_view line, std::string& out) const {
  const auto holds = [line](const std::string& needle) {
    return line.find(needle) != std::string_view::npos;
  };
  if (std::ranges::none_of(needles_, holds)) return;
  out.append(prefix_).append(line).append("\n");
}

void LineFilter::feed(std::string_view bytes, std::string& out) {
  while (!bytes.empty()) {
    const std::size_t room = kLineBytesMax - rest_.size();
    const std::size_t end = bytes.find('\n');
    const std::size_t size = std::min({end, room, bytes.size()});
    const bool ended = size == end;
    if (!ended && size < room) {
      rest_.append(bytes);
      return;
    }
    if (rest_.empty()) {
      judge(bytes.substr(0, size), out);
    } else {
      rest_.append(bytes.substr(0, size));
      judge(rest_, out);
      rest_.clear();
    }
    bytes.remove_prefix(ended ? size + 1 : size);
  }
}

void LineFilter::finish(std::string& out) {
  if (!rest_.empty()) judge(rest_, out);
  rest_.clear();
}

}  // namespace robustrun::agent
