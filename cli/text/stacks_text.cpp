#include "cli/text/stacks_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/core/text.h"
#include "base/core/words.h"

namespace robustrun::cli {
namespace {

constexpr std::size_t kRangesShown = 12;

// "0-2, 4, 6-9"
std::string ranges_of(const std::vector<std::uint32_t>& ranks) {
  std::vector<std::string> ranges;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    ranges.push_back(last == i ? fmt::format("{}", ranks[i])
                               : fmt::format("{}-{}", ranks[i], ranks[last]));
    i = last + 1;
  }
  if (ranges.size() > kRangesShown) {
    ranges.resize(kRangesShown);
    ranges.emplace_back("...");
  }
  return base::join(ranges, ", ");
}

std::string who(const std::vector<std::uint32_t>& ranks) {
  if (ranks.size() == 1) return fmt::format("rank {}", ranks.front());
  return fmt::format("{}: {}", base::counted(ranks.size(), "rank"), ranges_of(ranks));
}

std::string frame_text(const tracer::Frame& frame) {
  std::string text = "    " + frame.function;
  if (!frame.file.empty()) {
    text += fmt::format("  {}{}", frame.file, frame.line > 0 ? fmt::format(":{}", frame.line) : "");
  }
  return text + "\n";
}

}  // namespace

std::string stacks_text(const supervisor::WorkerStacks& stacks) {
  std::string out;
  for (const supervisor::RankStack& stack : stacks.stacks) {
    if (!out.empty()) out += "\n";
    out += who(stack.ranks);
    if (!stack.place.empty()) out += ", in " + stack.place;
    out += stack.is_native ? " (no Python stack)\n" : "\n";
    for (const tracer::Frame& frame : stack.frames) out += frame_text(frame);
  }
  if (!stacks.unseen.empty()) {
    if (!out.empty()) out += "\n";
    out += fmt::format("no stack of {}{}\n", who(stacks.unseen),
                       stacks.missing.empty() ? "" : ": " + base::join(stacks.missing, "; "));
  }
  return out;
}

}  // namespace robustrun::cli
