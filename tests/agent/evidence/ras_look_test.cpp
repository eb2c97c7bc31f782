#include "agent/evidence/ras_look.h"

#include <doctest/doctest.h>

#include <optional>

#include "agent/node/limits.h"
#include "tests/support/fake_ras.h"

namespace ras_look_test {

using namespace robustrun;
using namespace std::chrono_literals;
using agent::RasLook;
using agent::read_ras_address;
using base::Errc;
using test::FakeRas;
using Strings = std::vector<std::string>;

namespace {

base::Result<std::string> look(test::Loop& loop, const Strings& hosts, std::uint16_t port,
                               std::chrono::milliseconds within = 10s) {
  std::optional<base::Result<std::string>> answer;
  const auto looking =
      RasLook::ask(loop.executor(), {hosts, port}, within, [&](base::Result<std::string> got) {
        CHECK_FALSE(answer);
        answer = std::move(got);
      });
  CHECK_FALSE(answer);
  REQUIRE(loop.run_until([&] { return answer.has_value(); }));
  return *std::move(answer);
}

}  // namespace

TEST_CASE("NCCL_RAS_ADDR is where RAS listens, if that is on this machine") {
  struct Row {
    const char* text;
    Strings hosts;
    std::uint16_t port;
  };
  const Strings local = {"10.0.0.5", "fd00::5", "127.0.0.1", "::1"};
  const Row rows[] = {
      {"", {"127.0.0.1", "::1"}, 28028},
      {"localhost:1234", {"127.0.0.1", "::1"}, 1234},
      {"127.0.0.1:1234", {"127.0.0.1"}, 1234},
      {"127.0.0.9:1234", {"127.0.0.9"}, 1234},
      {"0.0.0.0:1234", {"127.0.0.1"}, 1234},
      {"[::1]:65535", {"::1"}, 65535},
      {"[::]:1", {"::1"}, 1},
      {"10.0.0.5:1234", {"10.0.0.5"}, 1234},
      {"[fd00::5]:1234", {"fd00::5"}, 1234},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const auto address = read_ras_address(row.text, local);
    REQUIRE(address);
    CHECK(address->hosts == row.hosts);
    CHECK(address->port == row.port);
  }
  for (const char* text : {"10.0.0.6:1234", "other-host:1234", "localhost", "localhost:",
                           "localhost:0", "localhost:65536", "localhost:x", ":1234", "1234"}) {
    CAPTURE(text);
    CHECK_FALSE(read_ras_address(text, local));
  }
}

TEST_CASE("the address that we choose is parsed as one") {
  const auto address = read_ras_address(agent::ras_address_text(4321), {});
  REQUIRE(address);
  CHECK(address->hosts == Strings{"127.0.0.1"});
  CHECK(address->port == 4321);
}

TEST_CASE("of two addresses the one that answers counts") {
  test::Loop loop;
  FakeRas ras(loop, {test::ras_answer});
  // Nothing listens at the other one, first or last.
  for (const Strings& hosts :
       {Strings{"127.0.0.1", "127.0.0.2"}, Strings{"127.0.0.2", "127.0.0.1"}}) {
    const auto answer = look(loop, hosts, ras.port());
    REQUIRE(answer);
    CHECK(*answer == test::kRasReport);
  }
}

TEST_CASE("without any answer there is one error") {
  test::Loop loop;
  std::uint16_t port = 0;
  {
    const FakeRas gone(loop, {test::ras_silence});
    port = gone.port();
  }
  const auto answer = look(loop, {"127.0.0.1", "127.0.0.2"}, port, 250ms);
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == Errc::kUnavailable);
}

TEST_CASE("a report that is too long is not passed on") {
  test::Loop loop;
  FakeRas ras(loop, {[](const std::string& line) -> std::optional<std::string> {
                if (line != "VERBOSE STATUS") return test::ras_answer(line);
                return std::string(agent::kRasSentBytesMax + 1, 'x');
              }});
  const auto answer = look(loop, {"127.0.0.1"}, ras.port(), 20s);
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == Errc::kLimit);
}

TEST_CASE("a dropped look does not call back") {
  test::Loop loop;
  FakeRas ras(loop, {test::ras_silence});
  bool called = false;
  auto looking = RasLook::ask(loop.executor(), {{"127.0.0.1"}, ras.port()}, 50ms,
                              [&](const base::Result<std::string>&) { called = true; });
  REQUIRE(loop.run_until([&] { return !ras.lines.empty(); }));
  looking.reset();
  loop.run_for(100ms);
  CHECK_FALSE(called);
}

}  // namespace ras_look_test
