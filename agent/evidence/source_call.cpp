#include "agent/evidence/source_call.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "agent/node/limits.h"
#include "base/io/fd.h"

namespace robustrun::agent {
namespace {

constexpr std::array<std::string_view, 12> kWaits = {"wait",
                                                     "recv",
                                                     "send",
                                                     "irecv",
                                                     "isend",
                                                     "batch_isend_irecv",
                                                     "barrier",
                                                     "all_reduce",
                                                     "broadcast",
                                                     "send_object_list",
                                                     "recv_object_list",
                                                     "all_gather"};

// A name and what leads to it: "dist", "requests[0].".
bool is_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '[' || c == ']';
}

// From the bracket at `open` to its closing one, or to the end of the line.
std::string_view arguments(std::string_view line, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < line.size(); ++i) {
    if (line[i] == '(') ++depth;
    if (line[i] == ')' && --depth == 0) return line.substr(open, i + 1 - open);
  }
  return line.substr(open);
}

// Without arguments that may be any text, and cut to the limit.
std::string shown(std::string_view callee, std::string_view arguments) {
  const bool is_plain = arguments.ends_with(')') &&
                        arguments.find_first_of("'\"#") == std::string_view::npos &&
                        callee.size() + arguments.size() <= kCallBytesMax;
  if (is_plain) return fmt::format("{}{}", callee, arguments);
  return fmt::format("{}(...)", callee.substr(0, kCallBytesMax));
}

bool is_torchs_call(const tracer::Frame& frame) {
  constexpr std::string_view kFiles[] = {"torch/distributed/distributed_c10d.py",
                                         "torch/distributed/c10d_logger.py",
                                         "torch/distributed/_functional_collectives.py"};
  return std::ranges::any_of(
      kFiles, [&](std::string_view file) { return frame.file.find(file) != std::string::npos; });
}

std::string line_of(const std::string& path, std::uint32_t number) {
  const base::Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return "";
  const auto size = static_cast<std::size_t>(std::max<off_t>(status.st_size, 0));
  if (size > kSourceBytesMax) return "";
  std::string text(size, '\0');
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  std::size_t begin = 0;
  for (std::uint32_t line = 1; line < number; ++line) {
    begin = text.find('\n', begin);
    if (begin == std::string::npos) return "";
    ++begin;
  }
  return text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace

std::string call_in(std::string_view line) {
  for (std::size_t open = line.find('('); open != std::string_view::npos;
       open = line.find('(', open + 1)) {
    std::size_t begin = open;
    while (begin > 0 && is_of_name(line[begin - 1])) --begin;
    const std::string_view callee = line.substr(begin, open - begin);
    const std::string_view name = callee.substr(callee.rfind('.') + 1);
    if (std::ranges::find(kWaits, name) == kWaits.end()) continue;
    return shown(callee, arguments(line, open));
  }
  return "";
}

void add_call(pid_t pid, tracer::ThreadStack& stack) {
  const auto frame = std::ranges::find_if_not(stack.frames, is_torchs_call);
  if (frame == stack.frames.end() || frame->line == 0 || frame->file.empty()) return;
  const std::string path = frame->file.starts_with('/')
                               ? fmt::format("/proc/{}/root{}", pid, frame->file)
                               : fmt::format("/proc/{}/cwd/{}", pid, frame->file);
  frame->call = call_in(line_of(path, frame->line));
}

}  // namespace robustrun::agent
