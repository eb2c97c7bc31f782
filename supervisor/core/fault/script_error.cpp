#include "supervisor/core/fault/script_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/core/text.h"
#include "supervisor/core/fault/fault_lines.h"

namespace robustrun::supervisor {
namespace {

constexpr std::string_view kFrame = "  File \"";

bool is_library(std::string_view file) {
  constexpr std::array<std::string_view, 6> kParts = {"/site-packages/",    "/dist-packages/",
                                                      "/lib/python3",       "<frozen ",
                                                      "/robustrun/python/", "<string>"};
  return std::ranges::any_of(kParts,
                             [&](std::string_view part) { return file.find(part) != file.npos; });
}

struct Frame {
  std::string_view file;
  std::uint32_t line = 0;
  std::string_view function;
};

// `  File "train.py", line 40, in step`; a SyntaxError's has no function.
std::optional<Frame> frame_of(std::string_view line) {
  if (!line.starts_with(kFrame)) return std::nullopt;
  line.remove_prefix(kFrame.size());
  constexpr std::string_view kLine = "\", line ";
  const std::size_t quote = line.find(kLine);
  if (quote == line.npos) return std::nullopt;
  Frame frame;
  frame.file = line.substr(0, quote);
  line.remove_prefix(quote + kLine.size());
  const std::size_t digits = std::min(line.find(','), line.size());
  const auto number = base::parse_int<std::uint32_t>(line.substr(0, digits));
  if (!number) return std::nullopt;
  frame.line = *number;
  constexpr std::string_view kIn = ", in ";
  if (line.substr(digits).starts_with(kIn)) frame.function = line.substr(digits + kIn.size());
  return frame;
}

// What the interpreter prints, below no frame, where it cannot begin with `-m MODULE`: behind its
// own path. Empty: `line` is another one.
std::string_view missing_module(std::string_view line) {
  const std::size_t path = line.find(": ");
  if (path == line.npos || line.substr(0, path).find("python") == line.npos) return {};
  const std::string_view words = line.substr(path + 2);
  const bool is_it = words.starts_with("No module named ") ||
                     words.starts_with("Error while finding module specification for ");
  return is_it ? words : std::string_view();
}

}  // namespace

std::optional<ScriptError> script_error(std::span<const std::string> lines) {
  std::optional<ScriptError> found;
  std::vector<Frame> frames;
  for (const std::string& whole : lines) {
    const std::string_view line = without_rank_prefix(whole);
    if (const auto frame = frame_of(line)) {
      frames.push_back(*frame);
      continue;
    }
    if (const std::string_view module = missing_module(line); !module.empty()) {
      found = ScriptError{std::string(module), {}, 0, {}};
      continue;
    }
    // Source lines and marks below a frame are indented.
    if (frames.empty() || line.empty() || line.front() == ' ' || line.front() == '\t') continue;
    if (line.starts_with("Traceback (most recent call last):")) {
      frames.clear();
      continue;
    }
    if (exception_type(line).empty()) continue;
    const auto own = std::ranges::find_if(
        frames.rbegin(), frames.rend(), [](const Frame& frame) { return !is_library(frame.file); });
    const Frame& place = own != frames.rend() ? *own : frames.back();
    found = ScriptError{std::string(line), std::string(place.file), place.line,
                        place.function == "<module>" ? "" : std::string(place.function)};
    frames.clear();
  }
  return found;
}

std::string place_in_words(const ScriptError& error) {
  if (error.file.empty()) return "";
  const std::string name = error.file.substr(error.file.rfind('/') + 1);
  const std::string place = fmt::format("{}:{}", name, error.line);
  return error.function.empty() ? place : fmt::format("{} ({})", error.function, place);
}

}  // namespace robustrun::supervisor
