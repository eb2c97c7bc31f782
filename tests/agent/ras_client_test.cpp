#include "agent/ras_client.h"

#include <doctest/doctest.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/limits.h"
#include "tests/support/loop.h"
#include "tracer/ras.h"

using namespace robustrun;
using namespace std::chrono_literals;
using agent::RasClient;
using base::Errc;
using boost::asio::ip::tcp;
using boost::system::error_code;

namespace {

const std::string kReport =
    R"({"nccl_version":"2.29.2","communicators":[{"hash":"0x1","size":1,"ranks":[{"rank":0}]}]})";

// What a connection is told for a line; none: silence. "" closes it.
using Behaviour = std::function<std::optional<std::string>(const std::string& line)>;

std::optional<std::string> good(const std::string& line) {
  if (line.starts_with("CLIENT PROTOCOL")) return "SERVER PROTOCOL 2\n";
  if (line.starts_with("TIMEOUT ") || line == "SET FORMAT json") return "OK\n";
  return line == "VERBOSE STATUS" ? kReport : "ERROR: Unknown command\n";
}

std::optional<std::string> silent(const std::string&) { return std::nullopt; }

// RAS's side, whose n-th connection behaves as it is told; the last behaviour stays.
class FakeRas {
 public:
  FakeRas(test::Loop& loop, std::vector<Behaviour> behaviours)
      : behaviours_(std::move(behaviours)),
        acceptor_(loop.executor(), tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0)) {
    accept();
  }
  [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  [[nodiscard]] std::size_t connections() const { return connections_.size(); }
  std::vector<std::string> lines;  // that were received

 private:
  struct Connection {
    tcp::socket socket;
    Behaviour behaviour;
    std::string input, output;
  };

  void accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (error) return;
      const std::size_t last = std::min(connections_.size(), behaviours_.size() - 1);
      connections_.push_back(
          std::make_shared<Connection>(Connection{std::move(socket), behaviours_[last], "", ""}));
      read(connections_.back());
      accept();
    });
  }

  void read(const std::shared_ptr<Connection>& from) {
    boost::asio::async_read_until(from->socket, boost::asio::dynamic_buffer(from->input), '\n',
                                  [this, from](error_code error, std::size_t size) {
                                    if (error) return;
                                    const std::string line = from->input.substr(0, size - 1);
                                    from->input.erase(0, size);
                                    lines.push_back(line);
                                    const auto answer = from->behaviour(line);
                                    if (answer)
                                      write(from, *answer,
                                            line == "VERBOSE STATUS" || answer->empty());
                                    if (!answer) read(from);
                                  });
  }

  void write(const std::shared_ptr<Connection>& to, std::string text, bool then_close) {
    to->output = std::move(text);
    boost::asio::async_write(to->socket, boost::asio::buffer(to->output),
                             [this, to, then_close](error_code error, std::size_t) {
                               if (error) return;
                               if (!then_close) return read(to);
                               error_code ignored;
                               to->socket.close(ignored);
                             });
  }

  std::vector<Behaviour> behaviours_;
  tcp::acceptor acceptor_;
  std::vector<std::shared_ptr<Connection>> connections_;
};

base::Result<std::string> ask(test::Loop& loop, std::uint16_t port,
                              std::chrono::milliseconds within = 10s) {
  std::optional<base::Result<std::string>> answer;
  const auto client =
      RasClient::ask(loop.executor(), "127.0.0.1", port, within,
                     [&](base::Result<std::string> got) { answer = std::move(got); });
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
  FakeRas ras(loop, {good});
  const auto answer = ask(loop, ras.port());
  REQUIRE(answer);
  CHECK(*answer == kReport);
  CHECK(tracer::read_ras_report(*answer));
  CHECK(ras.lines == std::vector<std::string>{"CLIENT PROTOCOL 2", "TIMEOUT 10", "SET FORMAT json",
                                              "VERBOSE STATUS"});
}

TEST_CASE("the text of a RAS that knows no JSON is taken") {
  test::Loop loop;
  FakeRas ras(loop, {[](const std::string& line) -> std::optional<std::string> {
                if (line.starts_with("SET FORMAT")) return "ERROR: Unknown command SET FORMAT\n";
                if (line == "VERBOSE STATUS") return "NCCL version 2.27.5\n";
                return good(line);
              }});
  const auto answer = ask(loop, ras.port());
  REQUIRE(answer);
  CHECK(*answer == "NCCL version 2.27.5\n");
}

TEST_CASE("a process that is stopped is passed over: the next connection meets another") {
  test::Loop loop;
  FakeRas ras(loop, {silent, good});
  CHECK(ask(loop, ras.port()));
  CHECK(ras.connections() == 2);
}

TEST_CASE("a connection that breaks is tried again") {
  test::Loop loop;
  FakeRas ras(loop, {[](const std::string&) { return ""; }, good});
  CHECK(ask(loop, ras.port()));
  CHECK(ras.connections() == 2);
}

TEST_CASE("silence ends with the time that was given") {
  CHECK(refusal(silent) == Errc::kTimeout);
  // Also of one that is silent once the report has been asked for.
  CHECK(refusal([](const std::string& line) {
          return line == "VERBOSE STATUS" ? std::nullopt : good(line);
        }) == Errc::kTimeout);
}

TEST_CASE("what is not RAS is told") {
  CHECK(refusal([](const std::string&) { return "HTTP/1.1 400 Bad Request\n"; }) ==
        Errc::kProtocol);
  CHECK(refusal([](const std::string&) { return std::string(agent::kRasLineMax + 1, 'x'); }) ==
        Errc::kProtocol);
  CHECK(refusal([](const std::string& line) -> std::optional<std::string> {
          return line.starts_with("TIMEOUT") ? "MAYBE\n" : good(line);
        }) == Errc::kProtocol);
  CHECK(refusal([](const std::string& line) -> std::optional<std::string> {
          return line == "VERBOSE STATUS" ? "ERROR: busy\n" : good(line);
        }) == Errc::kProtocol);
}

TEST_CASE("a report that does not end is cut off") {
  CHECK(refusal(
            [](const std::string& line) -> std::optional<std::string> {
              if (line != "VERBOSE STATUS") return good(line);
              return std::string(agent::kRasReportBytesMax + 1, 'x');
            },
            20s) == Errc::kLimit);
}

TEST_CASE("a port where nobody listens is told") {
  test::Loop loop;
  std::uint16_t port = 0;
  {
    const FakeRas gone(loop, {silent});
    port = gone.port();
  }
  const auto answer = ask(loop, port, 250ms);
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == Errc::kUnavailable);
  CHECK(answer.error().what == "cannot ask NCCL's RAS: nobody listens there");
}

TEST_CASE("a name is no address, and the answer comes from the loop") {
  test::Loop loop;
  std::optional<base::Result<std::string>> answer;
  const auto client =
      RasClient::ask(loop.executor(), "localhost", 1, 1s,
                     [&](base::Result<std::string> got) { answer = std::move(got); });
  CHECK_FALSE(answer);
  REQUIRE(loop.run_until([&] { return answer.has_value(); }));
  CHECK(answer->error().code == Errc::kInvalidArgument);
}

TEST_CASE("whoever was dropped says nothing") {
  test::Loop loop;
  bool answered = false;
  {
    FakeRas ras(loop, {good});
    const auto client = RasClient::ask(loop.executor(), "127.0.0.1", ras.port(), 10s,
                                       [&](const base::Result<std::string>&) { answered = true; });
    REQUIRE(loop.run_until([&] { return !ras.lines.empty(); }));
    client->drop();
  }
  loop.run_out();
  CHECK_FALSE(answered);
}
