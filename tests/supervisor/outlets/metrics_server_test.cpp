#include "supervisor/outlets/metrics_server.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <vector>

#include "base/io/fd.h"
#include "tests/support/loop.h"

namespace robustrun::supervisor::metrics_server_test {
namespace {

using namespace std::chrono_literals;

struct Fixture {
  robustrun::test::Loop loop;
  unsigned pages = 0;
  std::unique_ptr<MetricsServer> server;

  explicit Fixture(MetricsServer::Limits limits = {}) {
    auto opened = MetricsServer::open(
        loop.executor(), "127.0.0.1", 0,
        [this] {
          ++pages;
          return std::string("robustrun_attempt 0\n");
        },
        limits);
    REQUIRE_MESSAGE(opened, opened.error().what);
    server = *std::move(opened);
  }
  [[nodiscard]] std::uint16_t port() const {
    const std::string url = server->url();
    const auto colon = url.rfind(':');
    std::uint16_t port = 0;
    std::from_chars(url.data() + colon + 1, url.data() + url.size(), port);
    return port;
  }
};

// A client as rude as a test wants it; the server's loop runs while it waits.
class Client {
 public:
  explicit Client(Fixture& fixture) : loop_(fixture.loop) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(fixture.port());
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
    REQUIRE(base::set_nonblocking(fd_.get(), true));
  }
  void send(const std::string& bytes) {
    static_cast<void>(::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
  }
  // All that comes until the server closes.
  std::string answer() {
    std::string got;
    REQUIRE(loop_.run_until([&] {
      char chunk[4096];
      const ssize_t n = ::recv(fd_.get(), chunk, sizeof chunk, 0);
      if (n > 0) got.append(chunk, static_cast<std::size_t>(n));
      return n == 0 || (n < 0 && errno != EAGAIN);
    }));
    return got;
  }
  std::string ask(const std::string& bytes) {
    send(bytes);
    return answer();
  }

 private:
  robustrun::test::Loop& loop_;
  base::Fd fd_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

std::string get(const std::string& target, const std::string& method = "GET") {
  return method + " " + target + " HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n";
}

bool is_page(const std::string& answer) {
  return answer.starts_with("HTTP/1.1 200 OK\r\n") &&
         answer.ends_with("\r\n\r\nrobustrun_attempt 0\n");
}

TEST_CASE("the page is there, in the text format, and the connection ends") {
  Fixture f;
  CHECK(f.server->url() == "http://127.0.0.1:" + std::to_string(f.port()) + "/metrics");
  const std::string answer = Client(f).ask(get("/metrics"));
  CHECK(is_page(answer));
  CHECK(answer.find("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n") !=
        std::string::npos);
  CHECK(answer.find("\r\nContent-Length: 20\r\n") != std::string::npos);
  CHECK(answer.find("\r\nConnection: close\r\n") != std::string::npos);
  CHECK(is_page(Client(f).ask(get("/metrics?name=x"))));
  CHECK(is_page(Client(f).ask("GET /metrics HTTP/1.0\r\n\r\n")));
  CHECK(f.pages == 3);
}

TEST_CASE("nothing else is") {
  Fixture f;
  for (const char* target : {"/", "/metric", "/metrics/", "/../etc/passwd", "*"}) {
    INFO(target);
    CHECK(Client(f).ask(get(target)).starts_with("HTTP/1.1 404 Not Found\r\n"));
  }
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "BREW"}) {
    INFO(method);
    const std::string answer = Client(f).ask(get("/metrics", method));
    CHECK(answer.starts_with("HTTP/1.1 405 Method Not Allowed\r\n"));
    CHECK(answer.find("\r\nAllow: GET\r\n") != std::string::npos);
  }
  CHECK(f.pages == 0);
}

TEST_CASE("garbage is refused, and the next one is served") {
  Fixture f;
  for (const std::string& bytes :
       {std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello tls\r\n\r\n"),
        std::string("GET\r\n\r\n"), std::string("GET /metrics HTTP/9.9\r\n\r\n"),
        std::string("\r\n\r\n\0\0\0\r\n\r\n", 11),
        std::string("GET /metrics HTTP/1.1\r\nContent-Length: x\r\n\r\n"),
        std::string("GET /metrics HTTP/1.1\r\n: \r\n\r\n")}) {
    Client client(f);
    const std::string answer = client.ask(bytes);
    INFO(answer);
    CHECK(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"));
  }
  CHECK(f.pages == 0);
  CHECK(is_page(Client(f).ask(get("/metrics"))));
}

TEST_CASE("a header without end is not read for ever") {
  Fixture f;
  Client client(f);
  client.send("GET /metrics HTTP/1.1\r\nX: " + std::string(2 * kHttpHeaderBytesMax, 'a'));
  CHECK(client.answer().starts_with("HTTP/1.1 431 "));
  CHECK(is_page(Client(f).ask(get("/metrics"))));
}

TEST_CASE("a client that sends nothing, or one byte at a time, is disconnected") {
  Fixture f({.connections_max = kHttpConnectionsMax, .request_max = 50ms});
  Client silent(f);
  Client slow(f);
  for (const char byte : {'G', 'E', 'T'}) {
    slow.send(std::string(1, byte));
    f.loop.run_for(5ms);
  }
  CHECK(silent.answer().empty());
  CHECK(slow.answer().empty());
}

TEST_CASE("however many hold connections, the next one is served") {
  Fixture f({.connections_max = 4, .request_max = 1h});
  std::vector<Client> holders;
  holders.reserve(12);
  for (int i = 0; i < 12; ++i) {
    holders.emplace_back(f);
    holders.back().send("GET /metrics HTTP/1.1\r\n");
    f.loop.run_for(5ms);
  }
  CHECK(is_page(Client(f).ask(get("/metrics"))));
  CHECK(holders.front().answer().empty());  // it had been there longest
}

TEST_CASE("a client that leaves in the middle does no harm, and the server may go first") {
  Fixture f;
  {
    Client(f).send("GET /met");
  }
  f.loop.run_for(5ms);
  CHECK(is_page(Client(f).ask(get("/metrics"))));
  Client waiting(f);
  waiting.send("GET /met");
  f.loop.run_for(5ms);
  f.server.reset();
  CHECK(waiting.answer().empty());
}

TEST_CASE("a port that is taken, or an address of another machine, says what to do") {
  Fixture f;
  const auto open = [&](const std::string& address, std::uint16_t port) {
    const auto opened =
        MetricsServer::open(f.loop.executor(), address, port, [] { return std::string(); }, {});
    return opened ? "opened" : opened.error().what;
  };
  const std::string taken = "127.0.0.1:" + std::to_string(f.port());
  CHECK(open("127.0.0.1", f.port()) ==
        "cannot serve metrics at " + taken +
            ": Address already in use; choose another --metrics-port, or 0 for any that is free");
  CHECK(open("192.0.2.1", 0).find("an address of this machine") != std::string::npos);
  CHECK(open("node1", 0).find("no numeric address") != std::string::npos);
}

}  // namespace
}  // namespace robustrun::supervisor::metrics_server_test
