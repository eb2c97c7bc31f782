#include "wire/link/channel.h"

#include <fcntl.h>
#include <malloc.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "tests/wire/channel_ends.h"
#include "tests/wire/examples.h"
#include "wire/messages/limits.h"

namespace channel_test {

using namespace robustrun::test;
using namespace robustrun::wire;
using robustrun::base::Errc;
using robustrun::base::Error;
using robustrun::base::Fd;
using robustrun::base::FdPair;
using robustrun::base::make_socket_pair;
using robustrun::base::write_all;

TEST_CASE_TEMPLATE("every message passes both ways, in order", Over, OverSocketPair, OverTcp,
                   OverTls) {
  PairOver<Over> pair;
  for (const auto& example : example_messages()) {
    pair.left.channel->send(example.message);
    pair.right.channel->send(example.message);
  }
  const std::size_t count = example_messages().size();
  REQUIRE(run_until(pair.loop, [&] {
    return pair.left.messages.size() == count && pair.right.messages.size() == count;
  }));
  for (std::size_t i = 0; i < count; ++i) {
    CHECK(frames_of(pair.left.messages[i]) == frames_of(example_messages()[i].message));
    CHECK(frames_of(pair.right.messages[i]) == frames_of(example_messages()[i].message));
  }
}

TEST_CASE_TEMPLATE("a message larger than a frame passes", Over, OverSocketPair, OverTcp, OverTls) {
  PairOver<Over> pair;
  pair.left.channel->send(output(3 << 20));
  pair.left.channel->send(Bye{});
  REQUIRE(run_until(pair.loop, [&] { return pair.right.messages.size() == 2; }));
  CHECK(std::get<Output>(pair.right.messages[0]).bytes == std::string(3 << 20, 'x'));
  pair.left.channel->close();
  REQUIRE(run_until(pair.loop, [&] { return pair.right.closed.has_value(); }));
  CHECK(pair.right.closed->code == Errc::kUnavailable);
}

TEST_CASE("no handler runs inside send, pause, resume or close") {
  Half half;
  half.end.channel->send(output(kFrameBytesMax));
  half.end.channel->pause_reading();
  half.end.channel->resume_reading();
  REQUIRE(write_all(half.peer.get(), frames_of(Bye{})));
  half.end.channel->resume_reading();
  CHECK(half.end.messages.empty());
  for (int i = 0; i < 65; ++i) half.end.channel->send(output(kFrameBytesMax));
  CHECK_FALSE(half.end.closed);  // the queue is over its limit, but that is reported from the loop
  REQUIRE(half.run_until_closed());
}

TEST_CASE("messages that came before the end are delivered before on_closed") {
  Half half;
  REQUIRE(write_all(half.peer.get(), frames_of(Heartbeat{.sequence = 1}) + frames_of(Bye{})));
  half.peer.reset();
  REQUIRE(half.run_until_closed());
  CHECK(half.end.messages.size() == 2);
  CHECK(half.end.closed->code == Errc::kUnavailable);
}

TEST_CASE("all messages of a peer that went while we were writing are delivered") {
  Half half;
  REQUIRE(write_all(half.peer.get(), frames_of(Bye{})));
  half.peer.reset();
  half.end.channel->send(Heartbeat{});  // EPIPE
  half.end.channel->send(Heartbeat{});
  REQUIRE(half.run_until_closed());
  CHECK(half.end.messages.size() == 1);
  CHECK(half.end.channel->queued_bytes() == 0);
}

TEST_CASE("a reset connection is an error that names its cause") {
  boost::asio::io_context loop;
  FdPair sockets = tcp_pair();
  End end;
  end.open(loop, std::move(sockets.first));
  const linger abort{1, 0};
  REQUIRE(::setsockopt(sockets.second.get(), SOL_SOCKET, SO_LINGER, &abort, sizeof abort) == 0);
  sockets.second.reset();
  REQUIRE(run_until(loop, [&] { return end.closed.has_value(); }));
  CHECK(end.closed->os_errno == ECONNRESET);
}

TEST_CASE("garbage, an oversized frame and an unknown kind end the connection") {
  const std::string oversized("\xff\xff\xff\x7f\x0e\x00\x00\x00", 8);
  const std::string unknown("\x00\x00\x00\x00\x63\x00\x00\x00", 8);
  const std::pair<std::string, Errc> cases[] = {{"GET / HTTP/1.1\r\n", Errc::kProtocol},
                                                {oversized, Errc::kLimit},
                                                {unknown, Errc::kProtocol}};
  for (const auto& [bytes, code] : cases) {
    Half half;
    REQUIRE(write_all(half.peer.get(), frames_of(Bye{}) + bytes));
    REQUIRE(half.run_until_closed());
    CHECK(half.end.closed->code == code);
    CHECK(half.end.messages.size() == 1);
    char byte = 0;
    CHECK(::read(half.peer.get(), &byte, 1) <= 0);  // we hung up
  }
}

TEST_CASE("a descriptor that is not a socket is reported by on_closed") {
  boost::asio::io_context loop;
  End end;
  end.open(loop, std::move(robustrun::base::make_pipe().value().first));
  CHECK_FALSE(end.closed);
  REQUIRE(run_until(loop, [&] { return end.closed.has_value(); }));
  CHECK(end.closed->os_errno == ENOTSOCK);
}

TEST_CASE("the socket becomes close-on-exec and non-blocking") {
  int sockets[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
  const Fd peer(sockets[1]);
  boost::asio::io_context loop;
  End end;
  end.open(loop, Fd(sockets[0]));
  CHECK((::fcntl(sockets[0], F_GETFD) & FD_CLOEXEC) != 0);
  CHECK((::fcntl(sockets[0], F_GETFL) & O_NONBLOCK) != 0);
}

TEST_CASE_TEMPLATE("new handlers get all later messages, in order", Over, OverSocketPair, OverTls) {
  PairOver<Over> pair;
  std::vector<std::uint64_t> before;
  std::vector<std::uint64_t> after;
  const auto note = [](std::vector<std::uint64_t>& seen, const Message& message) {
    seen.push_back(std::get<Heartbeat>(message).sequence);
  };
  Channel& channel = *pair.right.channel;
  channel.set_handlers({.on_message =
                            [&](Message message) {
                              note(before, message);
                              if (before.size() < 3) return;
                              channel.set_handlers(
                                  {.on_message = [&](Message next) { note(after, next); },
                                   .on_closed = [](const Error&) {},
                                   .on_drained = nullptr});
                            },
                        .on_closed = [](const Error&) {},
                        .on_drained = nullptr});
  for (std::uint64_t i = 0; i < 6; ++i) pair.left.channel->send(Heartbeat{.sequence = i});
  REQUIRE(run_until(pair.loop, [&] { return after.size() == 3; }));
  CHECK(before == std::vector<std::uint64_t>{0, 1, 2});
  CHECK(after == std::vector<std::uint64_t>{3, 4, 5});
  CHECK(pair.right.messages.empty());
}

TEST_CASE_TEMPLATE("an idle channel releases its buffers", Over, OverSocketPair, OverTls) {
  PairOver<Over> pair;
  for (int i = 0; i < 30; ++i) pair.left.channel->send(output(100000));
  REQUIRE(run_until(pair.loop, [&] { return pair.right.messages.size() == 30; }));
  pair.right.messages.clear();
  pair.right.messages.shrink_to_fit();
  const struct mallinfo2 before = ::mallinfo2();
  pair.left.channel->close();
  pair.right.channel->close();
  pair.left.channel.reset();
  pair.right.channel.reset();
  pair.loop.poll();
  const struct mallinfo2 after = ::mallinfo2();
  CHECK(before.uordblks + before.hblkhd < after.uordblks + after.hblkhd + 3 * kIdleBufferBytes);
}

TEST_CASE("two loops on two threads exchange messages") {
  FdPair sockets = make_socket_pair(SOCK_STREAM).value();
  constexpr std::uint64_t kRounds = 500;
  const auto play = [](Fd socket, bool first) {
    boost::asio::io_context loop;
    std::shared_ptr<Channel> channel;
    std::uint64_t seen = 0;
    channel = Channel::open(loop.get_executor(), std::move(socket),
                            {.on_message =
                                 [&](Message message) {
                                   seen = std::get<Heartbeat>(message).sequence;
                                   if (seen < kRounds) {
                                     channel->send(Heartbeat{.sequence = seen + 1});
                                   }
                                   if (seen >= kRounds - 1) channel->close();
                                 },
                             .on_closed = [&](const Error&) { channel->close(); },
                             .on_drained = nullptr});
    if (first) channel->send(Heartbeat{.sequence = 1});
    loop.run();
    return seen;
  };
  std::uint64_t other_seen = 0;
  std::jthread other([&, socket = std::move(sockets.second)]() mutable {
    other_seen = play(std::move(socket), false);
  });
  const std::uint64_t seen = play(std::move(sockets.first), true);
  other.join();
  CHECK(std::max(seen, other_seen) == kRounds);
  CHECK(std::min(seen, other_seen) == kRounds - 1);
}

}  // namespace channel_test
