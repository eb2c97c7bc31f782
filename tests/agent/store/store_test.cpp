#include "agent/store/store.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "agent/process/port.h"
#include "agent/store/limits.h"
#include "agent/store/store_request.h"
#include "base/core/clock.h"
#include "base/io/fd.h"

namespace store_test {

using namespace robustrun;
using agent::Store;
using agent::StoreQuery;

namespace {

template <class T>
std::string number(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

std::string text(std::string_view bytes) {
  return number(std::uint64_t{bytes.size()}).append(bytes);
}

std::string request(StoreQuery query, const std::string& fields = {}) {
  return static_cast<char>(query) + fields;
}

struct Fixture {
  boost::asio::io_context loop{1};
  std::vector<std::string> unknown;
  std::uint16_t port = 0;
  std::unique_ptr<Store> store = open();

  std::unique_ptr<Store> open() {
    base::Rng rng(std::random_device{}());
    port = agent::reserve_port(rng).value();
    auto opened = Store::listen(loop.get_executor(), port,
                                [this](const std::string& what) { unknown.push_back(what); });
    REQUIRE(opened);
    return *std::move(opened);
  }

  void run(std::chrono::milliseconds time = std::chrono::milliseconds(1)) {
    loop.restart();
    loop.run_for(time);
  }
};

// A client of the store, which waits for answers while the store's loop runs.
class Client {
 public:
  explicit Client(Fixture& fixture, bool greets = true)
      : fixture_(fixture), fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(fixture.port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
    if (greets) send(request(StoreQuery::kValidate, number(agent::kStoreMagic)));
  }

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) return;
      if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
      fixture_.run();
    }
  }

  // As much as the socket takes now.
  void send_some(std::string_view bytes, bool runs = true) {
    static_cast<void>(::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) <
                      0);
    if (runs) fixture_.run();
  }

  // Ends the connection by a reset.
  void reset() {
    const linger at_once{1, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    fd_.reset();
    fixture_.run();
  }

  // `size` bytes; fewer: the store has closed the connection, or sends no more.
  std::string take(std::size_t size) {
    std::string got;
    for (unsigned idle = 0; got.size() < size && idle < 2000;) {
      char bytes[4096];
      const std::size_t wanted = std::min(sizeof bytes, size - got.size());
      const auto read = ::recv(fd_.get(), bytes, wanted, MSG_DONTWAIT);
      if (read == 0) return got;
      if (read > 0) got.append(bytes, static_cast<std::size_t>(read));
      if (read < 0 && errno != EAGAIN) return got;
      if (read < 0) ++idle;
      fixture_.run();
    }
    return got;
  }

  bool has_bytes() {
    fixture_.run(std::chrono::milliseconds(20));
    char byte = 0;
    return ::recv(fd_.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 1;
  }

  // The store has closed the connection.
  bool is_closed() {
    for (unsigned look = 0; look < 2000; ++look) {
      char byte = 0;
      const auto read = ::recv(fd_.get(), &byte, 1, MSG_DONTWAIT);
      if (read == 0 || (read < 0 && errno != EAGAIN)) return true;
      fixture_.run();
    }
    return false;
  }

 private:
  Fixture& fixture_;
  base::Fd fd_;
};

const std::string kOne("\x00", 1);  // the wait is over

}  // namespace

TEST_CASE("clients that come early are served once the attempt begins") {
  Fixture f;
  Client early(f);
  early.send(request(StoreQuery::kPing, number(std::uint32_t{77})));
  CHECK(!early.has_bytes());
  f.store->serve(Store::Clients(std::in_place));
  CHECK(early.take(4) == number(std::uint32_t{77}));
}

TEST_CASE("with addresses of other machines, this machine is served as well") {
  Fixture f;
  f.store->serve(std::set<std::string>{"10.1.1.1"});
  Client client(f);
  client.send(request(StoreQuery::kPing, number(std::uint32_t{77})));
  CHECK(client.take(4) == number(std::uint32_t{77}));
}

TEST_CASE("a value of one client ends the wait of another, also byte by byte") {
  Fixture f;
  f.store->serve(std::nullopt);
  Client waits(f);
  Client sets(f);
  waits.send(request(StoreQuery::kWait, number(std::uint64_t{1}) + text("key")));
  CHECK(!waits.has_bytes());
  for (const char byte : request(StoreQuery::kSet, text("key") + text("value"))) {
    sets.send({&byte, 1});
  }
  CHECK(waits.take(1) == kOne);
  waits.send(request(StoreQuery::kGet, text("key")));
  CHECK(waits.take(13) == text("value"));
}

TEST_CASE("a client that goes while it waits is forgotten") {
  Fixture f;
  f.store->serve(std::nullopt);
  {
    Client gone(f);
    gone.send(request(StoreQuery::kWait, number(std::uint64_t{1}) + text("key")));
  }
  Client other(f);
  other.send(request(StoreQuery::kAdd, text("key") + number(std::int64_t{5})));
  CHECK(other.take(8) == number(std::int64_t{5}));
}

TEST_CASE("who does not begin with the magic number is disconnected") {
  Fixture f;
  f.store->serve(std::nullopt);
  Client http(f, false);
  http.send("GET / HTTP/1.1\r\n\r\n");
  CHECK(http.is_closed());
  Client hasty(f, false);
  hasty.send(request(StoreQuery::kPing, number(std::uint32_t{1})));
  CHECK(hasty.is_closed());
  CHECK(f.unknown.empty());
}

TEST_CASE("a query of a newer torch is told, and ends the connection alone") {
  Fixture f;
  f.store->serve(std::nullopt);
  Client newer(f);
  newer.send({"\x13", 1});
  CHECK(newer.is_closed());
  CHECK(f.unknown == std::vector<std::string>{"query 19, which is unknown"});
  Client other(f);
  other.send(request(StoreQuery::kKeyCount));
  CHECK(other.take(8) == number(std::int64_t{0}));
}

TEST_CASE("a client that does not read its answers is disconnected at a limit") {
  Fixture f;
  f.store->serve(std::nullopt);
  Client greedy(f);
  const std::string value(agent::kStoreValueBytesMax, 'x');
  greedy.send(request(StoreQuery::kSet, text("big") + text(value)));
  const std::string get = request(StoreQuery::kGet, text("big"));
  for (std::size_t asked = 0; asked <= agent::kStoreUnreadBytesMax + 4 * value.size();
       asked += value.size()) {
    greedy.send(get);
  }
  CHECK(greedy.take(3 * agent::kStoreUnreadBytesMax).size() <
        agent::kStoreUnreadBytesMax + 8 * value.size());
  Client other(f);
  other.send(request(StoreQuery::kKeyCount));
  CHECK(other.take(8) == number(std::int64_t{1}));
}

TEST_CASE("small answers that are not read do not stop the store either") {
  Fixture f;
  f.store->serve(std::nullopt);
  Client greedy(f);
  std::string pings;
  while (pings.size() < agent::kStoreReadBytes) {
    pings += request(StoreQuery::kPing, number(std::uint32_t{1}));
  }
  Client other(f);
  for (unsigned sent = 0; sent < 400; ++sent) greedy.send_some(pings);
  other.send(request(StoreQuery::kKeyCount));
  CHECK(other.take(8) == number(std::int64_t{0}));
}

TEST_CASE("a client that ends its own wait, and is gone by then") {
  Fixture f;
  f.store->serve(std::nullopt);
  for (unsigned round = 0; round < 20; ++round) {
    const std::string key = text("key" + std::to_string(round));
    Client gone(f, false);
    gone.send_some(request(StoreQuery::kValidate, number(agent::kStoreMagic)) +
                       request(StoreQuery::kWait, number(std::uint64_t{1}) + key) +
                       request(StoreQuery::kSet, key + text("")) +
                       request(StoreQuery::kPing, number(std::uint32_t{1})),
                   false);
    gone.reset();
  }
  Client other(f);
  other.send(request(StoreQuery::kPing, number(std::uint32_t{1})));
  CHECK(other.take(4) == number(std::uint32_t{1}));
}

TEST_CASE("a client of torch 2.1 is told apart by its first bytes") {
  Fixture f;
  f.store->serve(std::nullopt);
  Client old(f, false);
  old.send("\x03" + text("init/") + number(std::int64_t{1}));  // numbers began with SET then
  CHECK(old.is_closed());
  CHECK(f.unknown == std::vector<std::string>{"the protocol of torch 2.1 and older"});
}

TEST_CASE("a port that is in use is a conflict") {
  Fixture f;
  const auto second = Store::listen(f.loop.get_executor(), f.port);
  REQUIRE(!second);
  CHECK(second.error().code == base::Errc::kConflict);
}

}  // namespace store_test
