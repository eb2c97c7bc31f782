// A listener with slots: which connections are handed over, and which wait in the kernel.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tests/support/loop.h"
#include "wire/net/bounded_listener.h"
#include "wire/net/peer_user.h"
#include "wire/net/tcp.h"

namespace robustrun::wire::bounded_listener_test {
namespace {

using std::chrono::milliseconds;
using Slot = BoundedListener::Slot;

struct Ends {
  test::Loop loop;
  std::vector<std::pair<base::Fd, Slot>> pending;
  std::vector<base::Fd> peers;
  std::unique_ptr<BoundedListener> listener;

  BoundedListener::Handlers handlers() {
    return {.on_connection = [this](base::Fd fd, Slot slot) {
      pending.emplace_back(std::move(fd), std::move(slot));
    }};
  }
  void open(std::size_t slots, BoundedListener::Handlers with) {
    listener =
        BoundedListener::open(loop.executor(), "127.0.0.1", 0, slots, std::move(with)).value();
  }
  void connect(int peers_more) {
    for (int i = 0; i < peers_more; ++i) {
      const TcpAddress address = parse_address("127.0.0.1", listener->port()).value();
      peers.push_back(begin_connect(address).value());
    }
  }
  bool comes_to(std::size_t connections) {
    return loop.run_until([&] { return pending.size() == connections; });
  }
};

TEST_CASE("no more connections than slots are handed over, and each slot given back admits one") {
  Ends ends;
  ends.open(2, ends.handlers());
  ends.connect(5);
  REQUIRE(ends.comes_to(2));
  ends.loop.run_for(milliseconds(20));
  CHECK(ends.pending.size() == 2);
  ends.pending[0].second = nullptr;  // its connection stays
  REQUIRE(ends.comes_to(3));
  ends.pending[1].second = nullptr;
  ends.pending[2].second = nullptr;
  REQUIRE(ends.comes_to(5));
}

TEST_CASE("a slot that is given back within the handler does not count") {
  Ends ends;
  ends.open(1, {.on_connection = [&](base::Fd fd, const Slot&) {
              ends.pending.emplace_back(std::move(fd), nullptr);
            }});
  ends.connect(100);  // several turns
  CHECK(ends.comes_to(100));
}

TEST_CASE("when peers wait at a full listener its owner is asked for a slot, and again in time") {
  Ends ends;
  int asked = 0;
  auto handlers = ends.handlers();
  handlers.on_crowded = [&]() -> std::optional<base::Nanos> {
    if (++asked < 3) return milliseconds(5);
    ends.pending[0].second = nullptr;
    return std::nullopt;
  };
  ends.open(1, std::move(handlers));
  ends.connect(1);
  REQUIRE(ends.comes_to(1));
  ends.loop.run_for(milliseconds(20));
  CHECK(asked == 0);  // no peer waits
  ends.connect(1);
  REQUIRE(ends.comes_to(2));
  CHECK(asked == 3);
}

TEST_CASE("while peers wait, the oldest connection that had its time gives up its slot") {
  Ends ends;
  ends.pending.reserve(8);
  auto handlers = ends.handlers();
  handlers.patience = milliseconds(50);
  ends.open(2, std::move(handlers));
  ends.connect(2);
  REQUIRE(ends.comes_to(2));
  for (auto& [fd, slot] : ends.pending) {
    slot->give_up = [&fd, &slot] {
      fd.reset();
      slot = nullptr;
    };
  }
  ends.loop.run_for(milliseconds(80));
  CHECK(ends.pending[0].second != nullptr);  // no peer waits
  const auto began = std::chrono::steady_clock::now();
  ends.connect(1);
  REQUIRE(ends.comes_to(3));
  CHECK(ends.pending[0].second == nullptr);
  CHECK(ends.pending[1].second != nullptr);
  ends.connect(2);
  REQUIRE(ends.comes_to(4));
  ends.loop.run_for(milliseconds(80));
  CHECK(ends.pending.size() == 4);  // these two do not give theirs up
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(5));
  ends.pending[2].second = nullptr;
  CHECK(ends.comes_to(5));
}

// A process of another user that has `count` connections until it is destroyed.
class Stranger {
 public:
  Stranger(std::uint16_t port, int count)
      : shell_(::popen(fmt::format("setpriv --reuid=65534 --clear-groups bash -c "
                                   "'for i in {{1..{}}}; do exec {{one}}<>/dev/tcp/127.0.0.1/{}; "
                                   "done; read end'",
                                   count, port)
                           .c_str(),
                       "we")) {
    REQUIRE(shell_ != nullptr);
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  ~Stranger() { ::pclose(shell_); }

 private:
  FILE* shell_;
};

TEST_CASE("another user's processes get no place, and delay none of ours" *
          doctest::skip(::geteuid() != 0)) {
  Ends ends;
  int others = 0;
  auto handlers = ends.handlers();
  handlers.on_other_user = [&](uid_t user) {
    CHECK(user == 65534);
    ++others;
  };
  ends.open(4, std::move(handlers));
  const Stranger stranger(ends.listener->port(), 200);
  CHECK(ends.loop.run_until([&] { return others == 200; }));
  CHECK(ends.pending.empty());
  ends.connect(3);
  REQUIRE(ends.comes_to(3));
  CHECK(others == 200);
}

TEST_CASE("the user at the other end is told apart, in both families") {
  for (const char* const address : {"127.0.0.1", "::1"}) {
    CAPTURE(address);
    const base::Fd listening = listen_tcp(address, 0).value();
    const TcpAddress to = parse_address(address, local_port(listening.get())).value();
    base::Fd caller = begin_connect(to).value();
    const base::Fd taken(::accept(listening.get(), nullptr, nullptr));
    REQUIRE(taken);
    CHECK_FALSE(other_user_at(taken.get()).has_value());
    caller.reset();
    CHECK(other_user_at(taken.get()).value_or(0) == kUnknownUser);
  }
}

TEST_CASE("a connection that came another way takes a slot") {
  Ends ends;
  ends.open(1, ends.handlers());
  Slot other = ends.listener->take_slot();
  ends.connect(1);
  ends.loop.run_for(milliseconds(20));
  CHECK(ends.pending.empty());
  other = nullptr;
  CHECK(ends.comes_to(1));
}

TEST_CASE("slots outlive their listener, which may be destroyed within a handler") {
  Ends ends;
  ends.open(4, {.on_connection = [&](base::Fd fd, Slot slot) {
              ends.pending.emplace_back(std::move(fd), std::move(slot));
              ends.listener.reset();
            }});
  ends.connect(3);
  REQUIRE(ends.comes_to(1));
  ends.loop.run_for(milliseconds(20));
  CHECK(ends.pending.size() == 1);
  ends.pending.clear();
}

}  // namespace
}  // namespace robustrun::wire::bounded_listener_test
