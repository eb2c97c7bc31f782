#include "base/core/exit_status.h"

#include <doctest/doctest.h>

#include <csignal>

namespace exit_status_test {

using namespace robustrun::base;

TEST_CASE("exit(9) and SIGKILL are different ends with different words and codes") {
  const ExitStatus exited = exit_status_from_siginfo(CLD_EXITED, 9);
  const ExitStatus killed = exit_status_from_siginfo(CLD_KILLED, SIGKILL);
  CHECK(exited != killed);
  CHECK(describe(exited) == "exit code 9");
  CHECK(describe(killed) == "SIGKILL");
  CHECK(exited.torchrun_code() == 9);
  CHECK(killed.torchrun_code() == -9);
  CHECK(exited.shell_code() == 9);
  CHECK(killed.shell_code() == 137);
}

TEST_CASE("a core dump is mentioned") {
  CHECK(describe(exit_status_from_siginfo(CLD_DUMPED, SIGSEGV)) == "SIGSEGV (core dumped)");
}

TEST_CASE("only exit code 0 is success") {
  CHECK(exit_status_from_siginfo(CLD_EXITED, 0).success());
  CHECK_FALSE(exit_status_from_siginfo(CLD_EXITED, 1).success());
  CHECK_FALSE(exit_status_from_siginfo(CLD_KILLED, SIGTERM).success());
}

TEST_CASE("every signal's name converts back to its number") {
  for (int number = 1; number <= SIGRTMAX; ++number) {
    if (number == 32 || number == 33) continue;  // the C library's own
    CAPTURE(number);
    CHECK(signal_number(signal_name(number)) == number);
    CHECK(signal_number(std::to_string(number)) == number);
  }
  CHECK(signal_number("TERM") == SIGTERM);
  CHECK(signal_number("RTMIN+3") == SIGRTMIN + 3);
  CHECK(signal_name(SIGRTMIN + 3) == "SIGRTMIN+3");
}

TEST_CASE("an unknown signal name has number 0") {
  for (const char* name :
       {"", "0", "SIG", "SIGFOO", "term", "65", "-9", "9x", "RTMIN+99", "SIG9"}) {
    CAPTURE(name);
    CHECK(signal_number(name) == 0);
  }
  CHECK(signal_name(99) == "signal 99");
}

}  // namespace exit_status_test
