// What an agent determines for a check: space, half-open connections, versions, GPUs, speed.
#include <doctest/doctest.h>
#include <sys/socket.h>

#include <boost/asio/any_io_executor.hpp>
#include <filesystem>
#include <optional>

#include "agent/gpu/gpu_list.h"
#include "agent/node/limits.h"
#include "agent/preflight/exchange.h"
#include "agent/preflight/local_facts.h"
#include "agent/preflight/software.h"
#include "agent/process/ask_program.h"
#include "base/io/strays.h"
#include "tests/paths.h"
#include "tests/scratch_folder.h"
#include "tests/support/loop.h"

namespace robustrun::agent::preflight_parts_test {
namespace {

using std::chrono::milliseconds;

TEST_CASE("space is that of the nearest existing folder") {
  const test::ScratchFolder folder;
  const base::Space here = space_at(folder.path());
  CHECK(here.error.empty());
  CHECK(here.total >= here.free);
  CHECK(here.free > 0);
  const base::Space below = space_at(folder / "not/made/yet");
  CHECK(below.path == folder.path());
  CHECK(below.total == here.total);
  folder.write("file", "x");
  CHECK(space_at(folder / "file/below").path == folder / "file");
  CHECK_FALSE(space_at("").error.empty());
  CHECK_FALSE(space_at(std::string(5000, 'x')).error.empty());
}

TEST_CASE("RDMA devices are those of sysfs") {
  const test::ScratchFolder root;
  CHECK(rdma_devices(root.path()) == 0);
  std::filesystem::create_directories(root / "sys/class/infiniband/mlx5_0");
  std::filesystem::create_directories(root / "sys/class/infiniband/mlx5_1");
  CHECK(rdma_devices(root.path()) == 2);
}

TEST_CASE("half-open connections of a port are found, whatever else the table holds") {
  const std::string tables =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt\n"
      "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000\n"
      "   1: 0100000A:1F90 0200000A:C001 03 00000000:00000000 01:00000013 00000000\n"
      "   2: 0100000A:1F90 0300000A:C001 01 00000000:00000000 00:00000000 00000000\n"
      "   3: 0100000A:1F91 0400000A:C001 03 00000000:00000000 00:00000000 00000000\n"
      "   4: 000000FD000000000000000001000000:1F90 "
      "000000FD000000000000000002000000:C001 03 00\n"
      "   5: 0000000000000000FFFF00000100000A:1F90 0000000000000000FFFF00000500000A:C001 03 00\n"
      "   6: nonsense:1F90 xyz:C001 03\n"
      "   7: 0100000A 0200000A 03\n"
      "   8: 0100000A:1F90 020000:C001 03 00\n";
  CHECK(half_open_peers(tables, 0x1F90) ==
        std::vector<std::string>{"10.0.0.2", "fd00::2", "10.0.0.5"});
  CHECK(half_open_peers(tables, 0x1F92).empty());
  CHECK(half_open_peers("", 1).empty());
}

TEST_CASE("an interpreter's answer is read") {
  base::Software found = read_software(std::string("python 3.11.2\ntorch 2.5.1+cu124\n"));
  CHECK((found.asked && !found.missing && found.error.empty()));
  CHECK(found.python == "3.11.2");
  CHECK(found.torch == "2.5.1+cu124");
  CHECK(read_software(std::string("warning: x\npython 3.9\ntorch \n")).torch.empty());
  CHECK(read_software(std::string("")).error == "its answer makes no sense");
  CHECK(read_software("python " + std::string(5000, '3')).python.size() == kVersionBytesMax);
  found = read_software(base::fail(base::Errc::kNotFound, "cannot start 'python'"));
  CHECK((found.missing && found.error == "cannot start 'python'"));
  found = read_software(base::fail(base::Errc::kTimeout, std::string(5000, 'x')));
  CHECK((!found.missing && found.error.size() == kFactBytesMax));
}

TEST_CASE("the answer of the GPU library's helper is read") {
  const base::Gpus found = read_gpus(std::string("driver 550.54\ncount 8\n"));
  CHECK((found.has_library && found.error.empty() && found.driver == "550.54"));
  CHECK(found.count == 8);
  CHECK_FALSE(read_gpus(std::string("none\n")).has_library);
  CHECK(read_gpus(std::string("error nvmlInit failed with 18 (x)\n")).error ==
        "nvmlInit failed with 18 (x)");
  CHECK(read_gpus(std::string("")).error == "its answer makes no sense");
  CHECK(read_gpus(std::string("driver 1\ncount -3\n")).count == 0);
  CHECK(read_gpus(base::fail(base::Errc::kTimeout, "no answer")).error == "no answer");
}

// A program below a real shim.
base::Result<std::string> answer(std::vector<std::string> argv, milliseconds within) {
  base::become_subreaper();
  test::Loop loop;
  std::optional<base::Result<std::string>> came;
  const auto asked =
      AskedProgram::ask(loop.executor(),
                        {built_program("robustrun-shim"),
                         std::move(argv),
                         {"PATH=/usr/bin:/bin", "WORD=hello"},
                         {},
                         within},
                        [&](base::Result<std::string> result) { came.emplace(std::move(result)); });
  REQUIRE(loop.run_until([&] { return came.has_value(); }));
  return *std::move(came);
}

TEST_CASE("a program's answer, failure, absence and silence") {
  CHECK(answer({"/bin/sh", "-c", "echo $WORD"}, milliseconds(5000)).value() == "hello\n");
  const auto failed =
      answer({"/bin/sh", "-c", "echo first; echo last words >&2; exit 3"}, milliseconds(5000));
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == base::Errc::kUnavailable);
  CHECK(failed.error().what.find("last words") != std::string::npos);
  CHECK(failed.error().what.find("first") == std::string::npos);
  CHECK(answer({"/no/such/python"}, milliseconds(5000)).error().code == base::Errc::kNotFound);
  const auto late = answer({"/bin/sleep", "100"}, milliseconds(100));
  CHECK(late.error().code == base::Errc::kTimeout);
  CHECK(late.error().what == "no answer within 0.1 s");
  // More output than allowed, and a child that holds the pipe.
  const auto much =
      answer({"/bin/sh", "-c", "sleep 100 & head -c 300000 /dev/zero"}, milliseconds(5000));
  CHECK(much.value().size() == kAnswerBytesMax);
}

TEST_CASE("both ends measure the same path; with a silent peer it is slow, not stuck") {
  const base::SystemClock clock;
  test::Loop loop;
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
  std::vector<double> rates;
  std::vector<std::shared_ptr<Exchange>> exchanges;
  for (const int end : ends) {
    exchanges.push_back(Exchange::start(loop.executor(), clock, base::Fd(end),
                                        [&](double rate) { rates.push_back(rate); }));
  }
  REQUIRE(loop.run_until([&] { return rates.size() == 2; }));
  for (const double rate : rates) CHECK(rate > 1e6);
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
  const base::Fd mute(ends[1]);
  exchanges.push_back(Exchange::start(loop.executor(), clock, base::Fd(ends[0]),
                                      [&](double rate) { rates.push_back(rate); }));
  CHECK(::shutdown(mute.get(), SHUT_WR) == 0);  // like a dead process
  REQUIRE(loop.run_until([&] { return rates.size() == 3; }));
  CHECK(rates.back() == 0);
}

TEST_CASE("computing takes some time") { CHECK(time_computing() > base::Nanos{}); }

}  // namespace
}  // namespace robustrun::agent::preflight_parts_test
