#pragma once
// How a process ended: exit(9) and SIGKILL are different values, never one integer.

#include <cstdint>
#include <string>

namespace robustrun::base {

struct ExitStatus {
  enum class Kind : std::uint8_t { kExited, kSignaled };
  Kind kind = Kind::kExited;
  int code = 0;  // exit code, or signal number
  bool core_dumped = false;

  [[nodiscard]] bool success() const { return kind == Kind::kExited && code == 0; }
  // torchrun's form: the exit code, or minus the signal number.
  [[nodiscard]] int torchrun_code() const { return kind == Kind::kExited ? code : -code; }
  // The shell's form: the exit code, or 128 + the signal number.
  [[nodiscard]] int shell_code() const { return kind == Kind::kExited ? code : 128 + code; }
  friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};

// `cld_code` and `value`: si_code (CLD_EXITED, CLD_KILLED or CLD_DUMPED) and si_status of
// waitid(2).
ExitStatus exit_status_from_siginfo(int cld_code, int value);

// "exit code 3", "SIGKILL", "SIGSEGV (core dumped)".
std::string describe(const ExitStatus& status);

// "SIGTERM" for 15, "SIGRTMIN+3", "signal 99" for an unknown number.
std::string signal_name(int signal);

// 15 for "SIGTERM", "TERM" or "15"; 0 when there is no such signal.
int signal_number(const std::string& name);

}  // namespace robustrun::base
