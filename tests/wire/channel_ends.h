#pragma once
// Channels for tests: one end that records its handlers' calls, two connected ends (over a socket
// pair, or over TLS), and one end against a bare socket.

#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/base/support.h"
#include "wire/link/channel.h"
#include "wire/link/stream_channel.h"
#include "wire/messages/frame.h"

namespace robustrun::test {

inline std::string frames_of(const wire::Message& message) {
  std::string out;
  REQUIRE(wire::append_frames(message, out));
  return out;
}

inline wire::Output output(std::size_t size, std::uint32_t rank = 0) {
  return {.rank = {rank},
          .local_rank = {},
          .is_stderr = false,
          .partial = false,
          .bytes = std::string(size, 'x')};
}

// One end and the calls of its handlers.
struct End {
  std::shared_ptr<wire::Channel> channel;
  std::vector<wire::Message> messages;
  std::optional<base::Error> closed;
  int drained = 0;
  int gone = 0;

  wire::Channel::Handlers handlers() {
    return {.on_message =
                [this](wire::Message message) {
                  CHECK_FALSE(closed);
                  messages.push_back(std::move(message));
                },
            .on_closed =
                [this](const base::Error& error) {
                  CHECK_FALSE(closed);
                  closed = error;
                },
            .on_drained = [this] { ++drained; },
            .on_peer_gone = [this] { ++gone; }};
  }

  void open(boost::asio::io_context& loop, base::Fd socket) {
    channel = wire::Channel::open(loop.get_executor(), std::move(socket), handlers());
  }
  void open(boost::asio::io_context& loop, wire::Connection connection,
            wire::Begin begin = wire::Begin::kReading) {
    channel = wire::open_channel(loop.get_executor(), std::move(connection), begin, handlers());
  }
};

// Two connected TCP sockets on loopback; the first one has connected.
base::FdPair tcp_pair();

// Ways to connect two ends; tests of the channel's contract run over each.
struct OverSocketPair {
  static void connect(boost::asio::io_context& loop, End& left, End& right) {
    base::FdPair sockets = base::make_socket_pair(SOCK_STREAM).value();
    left.open(loop, std::move(sockets.first));
    right.open(loop, std::move(sockets.second));
  }
};

struct OverTcp {
  static void connect(boost::asio::io_context& loop, End& left, End& right) {
    base::FdPair sockets = tcp_pair();
    left.open(loop, std::move(sockets.first));
    right.open(loop, std::move(sockets.second));
  }
};

// Certificates on both sides.
struct OverTls {
  static void connect(boost::asio::io_context& loop, End& left, End& right);
};

template <class Over = OverSocketPair>
struct PairOver {
  boost::asio::io_context loop;
  End left;
  End right;

  PairOver() { Over::connect(loop, left, right); }
};
using Pair = PairOver<>;

// One channel against a bare socket.
struct Half {
  boost::asio::io_context loop;
  End end;
  base::Fd peer;

  Half() {
    base::FdPair sockets = base::make_socket_pair(SOCK_STREAM).value();
    end.open(loop, std::move(sockets.first));
    peer = std::move(sockets.second);
  }

  bool run_until_closed() {
    return run_until(loop, [this] { return end.closed.has_value(); });
  }
};

}  // namespace robustrun::test
