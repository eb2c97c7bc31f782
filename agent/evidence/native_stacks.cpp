#include "agent/evidence/native_stacks.h"

#include <fmt/core.h>

#include <algorithm>

#include "agent/node/faulthandler_text.h"
#include "agent/node/limits.h"
#include "base/core/text.h"

namespace robustrun::agent {
namespace {

// "clock_nanosleep@GLIBC_2.2.5" without its version.
std::string_view without_version(std::string_view function) {
  return function.substr(0, function.find('@'));
}

}  // namespace

std::vector<std::string> eu_stack_argv(const std::string& program, int pid) {
  return {program, "-1", "-m", "-n", "0", "-p", std::to_string(pid)};
}

base::Result<tracer::ThreadStack> parse_eu_stack(std::string_view text) {
  constexpr std::string_view kAddress = " 0x", kModule = "- ";
  tracer::ThreadStack stack;
  stack.is_main = stack.is_native = true;
  std::size_t budget = kStackBytesMax;
  std::string_view complaint;
  for (const std::string_view line : base::split(text, '\n')) {
    const std::size_t address = line.find(kAddress);
    if (!line.starts_with('#') || address == line.npos) {
      if (!line.starts_with("PID ") && !line.starts_with("TID ") && !line.empty()) complaint = line;
      continue;
    }
    if (stack.frames.size() == kStackFramesMax || budget == 0) break;
    std::string_view rest = line.substr(address + 1);
    rest.remove_prefix(std::min(rest.find(' '), rest.size()));
    rest = base::trim(rest);
    std::string_view function = rest, module;
    const std::size_t dash = rest.starts_with(kModule) ? 0 : rest.find(" - ");
    if (dash != rest.npos) {
      function = base::trim(rest.substr(0, dash));
      module = base::trim(rest.substr(rest.find('-', dash) + 1));
    }
    stack.frames.push_back(bounded_frame(without_version(function), module, 0, budget));
  }
  if (stack.frames.empty()) {
    return base::fail(base::Errc::kCorrupt,
                      complaint.empty() ? "it printed no stack"
                                        : base::printable(complaint.substr(0, kFactBytesMax)));
  }
  stack.thread = "main";
  return stack;
}

}  // namespace robustrun::agent
