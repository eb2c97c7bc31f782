#include "agent/evidence/ras_client.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "agent/node/limits.h"
#include "tests/support/fake_ras.h"
#include "tests/support/loop.h"
#include "tracer/ras.h"

namespace ras_client_test {

using namespace robustrun;
using namespace std::chrono_literals;
using agent::RasClient;
using base::Errc;
using test::FakeRas;
using test::kRasReport;
using Behaviour = FakeRas::Behaviour;

namespace {

base::Result<std::string> ask(test::Loop& loop, std::uint16_t port,
                              std::chrono::milliseconds within = 10s) {
  std::optional<base::Result<std::string>> answer;
  const auto client =
      RasClient::ask(loop.executor(), "127.0.0.1", port, within,
                     [&](base::Result<std::string> got) { answer.emplace(std::move(got)); });
  REQUIRE(loop.run_until([&] { return answer.has_value(); }));
  return *std::move(answer);
}

Errc refusal(const Behaviour& behaviour, std::chrono::milliseconds within = 300ms) {
  test::Loop loop;
  FakeRas ras(loop, {behaviour});
  const auto answer = ask(loop, ras.port(), within);
  REQUIRE_FALSE(answer);
  CHECK(answer.error().what.starts_with("cannot ask NCCL's RAS: "));
  return answer.error().code;
}

}  // namespace

TEST_CASE("RAS is asked for its report as JSON") {
  test::Loop loop;
  FakeRas ras(loop, {test::ras_answer});
  const auto answer = ask(loop, ras.port());
  REQUIRE(answer);
  CHECK(*answer == kRasReport);
  CHECK(tracer::read_ras_report(*answer));
  CHECK(ras.lines == std::vector<std::string>{"CLIENT PROTOCOL 2", "TIMEOUT 10", "SET FORMAT json",
                                              "VERBOSE STATUS"});
}

TEST_CASE("the text of a RAS without JSON is taken") {
  test::Loop loop;
  FakeRas ras(loop, {[](const std::string& line) -> std::optional<std::string> {
                if (line.starts_with("SET FORMAT")) return "ERROR: Unknown command SET FORMAT\n";
                if (line == "VERBOSE STATUS") return "NCCL version 2.27.5\n";
                return test::ras_answer(line);
              }});
  const auto answer = ask(loop, ras.port());
  REQUIRE(answer);
  CHECK(*answer == "NCCL version 2.27.5\n");
}

TEST_CASE("a stopped process is passed over: the next connection reaches another one") {
  test::Loop loop;
  FakeRas ras(loop, {test::ras_silence, test::ras_answer});
  CHECK(ask(loop, ras.port()));
  CHECK(ras.connections() == 2);
}

TEST_CASE("a connection that breaks is tried again") {
  test::Loop loop;
  FakeRas ras(loop, {[](const std::string&) { return ""; }, test::ras_answer});
  CHECK(ask(loop, ras.port()));
  CHECK(ras.connections() == 2);
}

TEST_CASE("silence ends when the given time is over") {
  CHECK(refusal(test::ras_silence) == Errc::kTimeout);
  // Also silence after the report was requested.
  CHECK(refusal([](const std::string& line) {
          return line == "VERBOSE STATUS" ? std::nullopt : test::ras_answer(line);
        }) == Errc::kTimeout);
}

TEST_CASE("an answer that is not RAS's is an error") {
  CHECK(refusal([](const std::string&) { return "HTTP/1.1 400 Bad Request\n"; }) ==
        Errc::kProtocol);
  CHECK(refusal([](const std::string&) { return std::string(agent::kRasLineMax + 1, 'x'); }) ==
        Errc::kProtocol);
  CHECK(refusal([](const std::string& line) -> std::optional<std::string> {
          return line.starts_with("TIMEOUT") ? "MAYBE\n" : test::ras_answer(line);
        }) == Errc::kProtocol);
  CHECK(refusal([](const std::string& line) -> std::optional<std::string> {
          return line == "VERBOSE STATUS" ? "ERROR: busy\n" : test::ras_answer(line);
        }) == Errc::kProtocol);
}

TEST_CASE("a report that does not end is cut off") {
  CHECK(refusal(
            [](const std::string& line) -> std::optional<std::string> {
              if (line != "VERBOSE STATUS") return test::ras_answer(line);
              return std::string(agent::kRasReportBytesMax + 1, 'x');
            },
            20s) == Errc::kLimit);
}

TEST_CASE("a port where nothing listens is an error") {
  test::Loop loop;
  std::uint16_t port = 0;
  {
    const FakeRas gone(loop, {test::ras_silence});
    port = gone.port();
  }
  const auto answer = ask(loop, port, 250ms);
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == Errc::kUnavailable);
  CHECK(answer.error().what == "cannot ask NCCL's RAS: nothing listens there");
}

TEST_CASE("a name is not an address, and the answer comes from the loop") {
  test::Loop loop;
  std::optional<base::Result<std::string>> answer;
  const auto client =
      RasClient::ask(loop.executor(), "localhost", 1, 1s,
                     [&](base::Result<std::string> got) { answer.emplace(std::move(got)); });
  CHECK_FALSE(answer);
  REQUIRE(loop.run_until([&] { return answer.has_value(); }));
  CHECK(answer->error().code == Errc::kInvalidArgument);
}

TEST_CASE("a dropped client does not call back") {
  test::Loop loop;
  bool answered = false;
  {
    FakeRas ras(loop, {test::ras_answer});
    const auto client = RasClient::ask(loop.executor(), "127.0.0.1", ras.port(), 10s,
                                       [&](const base::Result<std::string>&) { answered = true; });
    REQUIRE(loop.run_until([&] { return !ras.lines.empty(); }));
    client->drop();
  }
  loop.run_out();
  CHECK_FALSE(answered);
}

}  // namespace ras_client_test
