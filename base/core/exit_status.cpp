#include "base/core/exit_status.h"

#include <sys/wait.h>

#include <charconv>
#include <csignal>
#include <cstring>
#include <string_view>

#include "base/core/result.h"

namespace robustrun::base {
namespace {

// The whole of `text` as a number in [0, SIGRTMAX]; -1 when it is not such a number.
int small_number(std::string_view text) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return -1;
  return value >= 0 && value <= SIGRTMAX ? value : -1;
}

}  // namespace

ExitStatus exit_status_from_siginfo(int cld_code, int value) {
  if (cld_code == CLD_EXITED) return {ExitStatus::Kind::kExited, value, false};
  RR_ASSERT(cld_code == CLD_KILLED || cld_code == CLD_DUMPED);
  return {ExitStatus::Kind::kSignaled, value, cld_code == CLD_DUMPED};
}

std::string describe(const ExitStatus& status) {
  if (status.kind == ExitStatus::Kind::kExited) return "exit code " + std::to_string(status.code);
  return signal_name(status.code) + (status.core_dumped ? " (core dumped)" : "");
}

std::string signal_name(int signal) {
  if (const char* name = ::sigabbrev_np(signal)) return std::string("SIG") + name;
  if (signal == SIGRTMIN) return "SIGRTMIN";
  if (signal > SIGRTMIN && signal <= SIGRTMAX) {
    return "SIGRTMIN+" + std::to_string(signal - SIGRTMIN);
  }
  return "signal " + std::to_string(signal);
}

int signal_number(const std::string& name) {
  std::string_view text = name;
  if (const int number = small_number(text); number >= 0) return number;
  if (text.starts_with("SIG")) text.remove_prefix(3);
  if (text == "RTMIN") return SIGRTMIN;
  if (text == "RTMAX") return SIGRTMAX;
  if (text.starts_with("RTMIN+")) {
    const int offset = small_number(text.substr(6));
    return offset >= 0 && SIGRTMIN + offset <= SIGRTMAX ? SIGRTMIN + offset : 0;
  }
  for (int number = 1; number < SIGRTMIN; ++number) {
    const char* known = ::sigabbrev_np(number);
    if (known != nullptr && text == known) return number;
  }
  return 0;
}

}  // namespace robustrun::base
