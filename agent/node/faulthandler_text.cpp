#include "agent/node/faulthandler_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string>

#include "agent/node/limits.h"
#include "base/core/text.h"

namespace robustrun::agent {
namespace {

constexpr std::string_view kThread = "Thread 0x";
constexpr std::string_view kCurrent = "Current thread 0x";
constexpr std::string_view kHeaderEnd = " (most recent call first):";
constexpr std::string_view kFile = "  File ";
constexpr std::string_view kLine = ", line ";
constexpr std::string_view kQuotedEnd = "\", line ";
constexpr std::string_view kIn = " in ";
constexpr std::string_view kMore = "...";

// "Thread 0x00007f637d5f86c0 [name] (most recent call first):"; the name since Python 3.14.
std::optional<std::uint64_t> thread_of(std::string_view line) {
  if (!line.ends_with(kHeaderEnd)) return std::nullopt;
  if (line.starts_with(kCurrent)) {
    line.remove_prefix(kCurrent.size());
  } else if (line.starts_with(kThread)) {
    line.remove_prefix(kThread.size());
  } else {
    return std::nullopt;
  }
  std::uint64_t ident = 0;
  const auto parsed = std::from_chars(line.data(), line.data() + line.size(), ident, 16);
  if (parsed.ec != std::errc{} || *parsed.ptr != ' ') return std::nullopt;
  return ident;
}

// '  File "x", line 87 in step'; ??? stands for unknown parts.
std::optional<tracer::Frame> frame_of(std::string_view line, std::size_t& budget) {
  if (!line.starts_with(kFile)) return std::nullopt;
  line.remove_prefix(kFile.size());
  const std::size_t quote = line.starts_with('"') ? line.find(kQuotedEnd, 1) : line.npos;
  std::string_view file;
  if (quote != line.npos) {
    file = line.substr(1, quote - 1);
    line.remove_prefix(quote + 1);
  }
  const std::size_t name_end = line.find(kLine);
  if (name_end == line.npos) return std::nullopt;
  line.remove_prefix(name_end + kLine.size());
  const std::size_t number_end = line.find(kIn);
  if (number_end == line.npos) return std::nullopt;
  const auto number = base::parse_int<std::uint32_t>(line.substr(0, number_end));
  return bounded_frame(line.substr(number_end + kIn.size()), file, number ? *number : 0, budget);
}

struct Thread {
  std::uint64_t ident = 0;
  std::vector<std::string_view> lines;
};

// As written. The threads of a dump are separated by empty lines, dumps are not. Where the end of a
// dump is missing, a thread that occurs again marks the next one.
std::vector<Thread> threads_of_last_dump(std::string_view text, bool& cut) {
  std::vector<Thread> threads;
  std::set<std::uint64_t> seen;
  bool after_empty = false;
  for (const std::string_view line : base::split(text, '\n')) {
    if (const auto ident = thread_of(line)) {
      if (!after_empty || !seen.insert(*ident).second) {
        threads.clear();
        seen = {*ident};
        cut = false;
      }
      threads.push_back({*ident, {}});
    } else if (!threads.empty()) {
      if (line == kMore) cut = true;
      threads.back().lines.push_back(line);
    }
    after_empty = line.empty();
  }
  return threads;
}

std::string_view last_line(std::string_view text) {
  text = text.substr(0, text.find_last_not_of('\n') + 1);
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

tracer::Frame bounded_frame(std::string_view function, std::string_view file, std::uint32_t line,
                            std::size_t& budget) {
  function = function.substr(0, kStackNameBytesMax);
  if (file.size() > kStackNameBytesMax) file.remove_prefix(file.size() - kStackNameBytesMax);
  function = function.substr(0, budget);
  budget -= function.size();
  file = file.substr(0, budget);
  budget -= file.size();
  return {std::string(function), std::string(file), line};
}

const tracer::ThreadStack* main_stack(const std::vector<tracer::ThreadStack>& stacks) {
  const auto found = std::ranges::find_if(
      stacks, [](const tracer::ThreadStack& each) { return each.is_main && !each.is_native; });
  return found == stacks.end() ? nullptr : &*found;
}

bool ends_like_dump(std::string_view text) {
  constexpr std::string_view kScript = " in <module>";
  const std::size_t current = text.rfind(kCurrent);
  return text.ends_with('\n') && current != text.npos &&
         text.find('\n' + std::string(kThread), current) == text.npos &&
         last_line(text).ends_with(kScript);
}

StackDump parse_faulthandler(std::string_view text) {
  bool cut = false;
  std::vector<Thread> threads = threads_of_last_dump(text, cut);
  StackDump dump;
  dump.cut = cut;
  if (threads.empty()) return dump;
  // First, so that the other threads cannot use up its budget.
  if (!cut) std::ranges::rotate(threads, threads.end() - 1);
  if (threads.size() > kStackThreadsMax) threads.resize(kStackThreadsMax);
  std::size_t budget = kStackBytesMax;
  for (const Thread& thread : threads) {
    tracer::ThreadStack stack;
    stack.thread = fmt::format("0x{:x}", thread.ident);
    for (const std::string_view line : thread.lines) {
      if (budget == 0 || stack.frames.size() == kStackFramesMax) break;
      if (auto frame = frame_of(line, budget)) stack.frames.push_back(*std::move(frame));
    }
    dump.stacks.push_back(std::move(stack));
    dump.idents.push_back(thread.ident);
  }
  dump.stacks.front().is_main = !cut;
  return dump;
}

}  // namespace robustrun::agent
