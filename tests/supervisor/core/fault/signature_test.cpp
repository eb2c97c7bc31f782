#include "supervisor/core/fault/failure_signature.h"

#include <doctest/doctest.h>

#include "supervisor/core/types/limits.h"
#include "tests/supervisor/job_harness.h"

namespace robustrun::supervisor::signature_test {
namespace {

using test::exited;
using test::killed;

TEST_CASE("numbers, addresses and the rank are no part of a signature") {
  CHECK(without_numbers("step 1234 at 0x7ffe12ab: loss 1.5e-3") == "step # at #: loss #.#e-#");
  CHECK(without_numbers("pid 17   port 29500\r") == "pid # port # ");
  CHECK(without_numbers("id deadbeef01 effaced decade") == "id # effaced decade");
  CHECK(without_numbers("first line\nsecond") == "first line");
  CHECK(without_numbers("0xzz 0x") == "#xzz #x");
  WorkerExited one = exited(0, 0, 1);
  WorkerExited other = exited(7, 5, 1);
  one.error_message = "RuntimeError: mat1 (4x8) at 0x1234";
  other.error_message = "RuntimeError: mat1 (16x2) at 0xabcd";
  CHECK(failure_signature(one) == failure_signature(other));
  other.code = 2;
  CHECK(failure_signature(one) != failure_signature(other));
}

TEST_CASE("without an error file the last line with text counts") {
  WorkerExited exit = exited(0, 0, 1);
  exit.stderr_tail = {"Traceback", "ValueError: bad", "", "  "};
  CHECK(failure_signature(exit) == "exit code 1: ValueError: bad");
  exit.error_message = "KeyError: 'x'";
  CHECK(failure_signature(exit) == "exit code 1: KeyError: 'x'");
}

TEST_CASE("exit(9) and SIGKILL differ, a core dump makes no difference") {
  CHECK(failure_signature(exited(0, 0, 9)) != failure_signature(killed(0, 0, 9)));
  WorkerExited dumped = killed(0, 0, 11);
  dumped.core_dumped = true;
  CHECK(failure_signature(dumped) == failure_signature(killed(0, 0, 11)));
}

TEST_CASE("a signature is bounded, whatever a worker says") {
  WorkerExited exit = exited(0, 0, 1);
  exit.error_message = std::string(1 << 20, 'a');
  CHECK(failure_signature(exit).size() < kSignatureBytesMax + 64);
  exit.error_message = std::string(1 << 20, '7');
  CHECK(failure_signature(exit) == "exit code 1: #");
}

TEST_CASE("an address in use is found in the message, the stack and the last lines") {
  WorkerExited exit = exited(0, 0, 1);
  CHECK_FALSE(says_address_in_use(exit));
  exit.stderr_tail = {"x",
                      "RuntimeError: failed to bind to port 29500 (errno: 98 - Address "
                      "already in use).",
                      "[end]"};
  CHECK(says_address_in_use(exit));
  exit.stderr_tail.clear();
  exit.error_message = "DistNetworkError: port: 29500, code: -98, name: EADDRINUSE";
  CHECK(says_address_in_use(exit));
  exit.error_message = "EADDR";
  CHECK_FALSE(says_address_in_use(exit));
}

}  // namespace
}  // namespace robustrun::supervisor::signature_test
