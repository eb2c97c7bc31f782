// A channel's queues and its end: congestion, pausing, closing.

#include <boost/asio/post.hpp>

#include "tests/wire/channel_ends.h"
#include "wire/messages/limits.h"

namespace channel_flow_test {

using namespace std::chrono_literals;
using namespace robustrun::test;
using namespace robustrun::wire;
using robustrun::base::Errc;
using robustrun::base::Error;
using robustrun::base::FdPair;
using robustrun::base::make_socket_pair;
using robustrun::base::write_all;

TEST_CASE("a TLS peer that does not read makes the sender closed at the limit") {
  PairOver<OverTls> pair;
  pair.right.channel->pause_reading();
  for (int i = 0; i < 200 && !pair.left.closed; ++i) {
    pair.left.channel->send(output(1 << 19));
    pair.loop.poll();
    pair.loop.restart();
  }
  REQUIRE(pair.left.closed);
  CHECK(pair.left.closed->code == Errc::kLimit);
  CHECK(pair.right.messages.empty());
}

TEST_CASE("a peer that does not read makes the sender congested, then closed at the limit") {
  Half half;
  Channel& channel = *half.end.channel;
  CHECK_FALSE(channel.congested());
  std::size_t sent = 0;
  while (channel.queued_bytes() + (1 << 20) < kSendQueueBytesMax) {
    channel.send(output(1 << 19));
    ++sent;
    half.loop.poll();
    half.loop.restart();
  }
  CHECK(channel.congested());
  CHECK_FALSE(half.end.closed);
  CHECK(sent > 100);
  for (int i = 0; i < 4; ++i) channel.send(output(1 << 19));
  REQUIRE(half.run_until_closed());
  CHECK(half.end.closed->code == Errc::kLimit);
  channel.send(Bye{});  // ignored
}

TEST_CASE_TEMPLATE("on_drained comes once per congestion, when the queue has halved", Over,
                   OverSocketPair, OverTls) {
  PairOver<Over> pair;
  Channel& sender = *pair.left.channel;
  for (int round = 1; round <= 3; ++round) {
    std::uint32_t sent = 0;
    while (!sender.congested()) sender.send(output(65536, sent++));
    CHECK(pair.left.drained == round - 1);
    REQUIRE(run_until(pair.loop, [&] { return pair.left.drained == round; }));
    CHECK_FALSE(sender.congested());
    REQUIRE(run_until(pair.loop, [&] { return pair.right.messages.size() == sent; }));
    for (std::uint32_t i = 0; i < sent; ++i) {
      CHECK(std::get<Output>(pair.right.messages[i]).rank.value == i);
    }
    pair.right.messages.clear();
    CHECK(sender.queued_bytes() == 0);
  }
}

TEST_CASE_TEMPLATE("a paused reader delivers nothing, and everything in order once resumed", Over,
                   OverSocketPair, OverTls) {
  PairOver<Over> pair;
  Channel& reader = *pair.right.channel;
  reader.pause_reading();
  constexpr std::uint32_t kCount = 1000;  // more than the kernel's buffers ever hold
  for (std::uint32_t i = 0; i < kCount; ++i) pair.left.channel->send(output(20000, i));
  pair.loop.run_for(5ms);
  CHECK(pair.right.messages.empty());
  CHECK(pair.left.channel->queued_bytes() > 0);  // back-pressure reached the sender
  reader.resume_reading();
  REQUIRE(run_until(pair.loop, [&] { return pair.right.messages.size() == kCount; }));
  for (std::uint32_t i = 0; i < kCount; ++i) {
    CHECK(std::get<Output>(pair.right.messages[i]).rank.value == i);
  }
}

TEST_CASE("a paused reader is told that its local peer is gone, and gets its last messages later") {
  Half half;
  half.end.channel->pause_reading();
  REQUIRE(write_all(half.peer.get(), frames_of(output(100000)) + frames_of(Bye{})));
  half.loop.run_for(5ms);
  CHECK(half.end.gone == 0);
  half.peer.reset();
  REQUIRE(run_until(half.loop, [&] { return half.end.gone == 1; }));
  CHECK(half.end.messages.empty());
  CHECK_FALSE(half.end.closed);
  half.end.channel->resume_reading();
  half.end.channel->pause_reading();  // once more, before a word was read
  REQUIRE(run_until(half.loop, [&] { return half.end.gone == 2; }));
  CHECK(half.end.messages.empty());
  half.end.channel->resume_reading();
  REQUIRE(half.run_until_closed());
  CHECK(half.end.messages.size() == 2);
  CHECK(half.end.gone == 2);
}

TEST_CASE("a paused reader is told that its TCP peer is gone, at the next send or a reset") {
  for (const bool reset : {false, true}) {
    CAPTURE(reset);
    boost::asio::io_context loop;
    FdPair sockets = tcp_pair();
    End end;
    end.open(loop, std::move(sockets.first));
    loop.run_for(5ms);
    end.channel->pause_reading();
    REQUIRE(write_all(sockets.second.get(), frames_of(output(100000)) + frames_of(Bye{})));
    const linger at_once{.l_onoff = reset ? 1 : 0, .l_linger = 0};
    REQUIRE(::setsockopt(sockets.second.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) ==
            0);
    loop.run_for(5ms);
    CHECK(end.gone == 0);
    sockets.second.reset();
    if (!reset) end.channel->send(Heartbeat{});  // answered with a reset: the peer is gone
    REQUIRE(run_until(loop, [&] { return end.gone == 1; }));
    CHECK_FALSE(end.closed);
    end.channel->resume_reading();
    REQUIRE(run_until(loop, [&] { return end.closed.has_value(); }));
    CHECK(end.messages.size() == 2);
    CHECK(end.gone == 1);
  }
}

TEST_CASE("a resumed reader is told only of the end") {
  Half half;
  half.end.channel->pause_reading();
  half.loop.run_for(5ms);
  half.end.channel->resume_reading();
  half.peer.reset();
  REQUIRE(half.run_until_closed());
  CHECK(half.end.gone == 0);
}

TEST_CASE("urgent bytes are not an end, and cause no busy loop") {
  boost::asio::io_context loop;
  FdPair sockets = tcp_pair();
  End end;
  end.open(loop, std::move(sockets.first));
  end.channel->pause_reading();
  REQUIRE(write_all(sockets.second.get(), frames_of(Bye{})));
  REQUIRE(::send(sockets.second.get(), "!", 1, MSG_OOB) == 1);
  loop.restart();
  CHECK(loop.run_for(50ms) < 20);
  CHECK(end.gone == 0);
  end.channel->resume_reading();
  REQUIRE(run_until(loop, [&] { return end.messages.size() == 1; }));
}

TEST_CASE("a handler may pause after each message and get the next one on resume") {
  boost::asio::io_context loop;
  FdPair sockets = make_socket_pair(SOCK_STREAM).value();
  std::shared_ptr<Channel> channel;
  std::uint64_t next = 0;
  bool paused = false;
  bool closed = false;
  channel = Channel::open(loop.get_executor(), std::move(sockets.first),
                          {.on_message =
                               [&](Message message) {
                                 CHECK_FALSE(paused);
                                 CHECK(std::get<Heartbeat>(message).sequence == next++);
                                 channel->pause_reading();
                                 if (next % 3 == 0) {
                                   channel->resume_reading();  // at once, from inside
                                   return;
                                 }
                                 paused = true;
                                 boost::asio::post(loop, [&] {
                                   paused = false;
                                   channel->resume_reading();
                                 });
                               },
                           .on_closed = [&](const Error&) { closed = true; },
                           .on_drained = nullptr});
  std::string stream;
  for (std::uint64_t i = 0; i < 100; ++i) {
    REQUIRE(append_frames(Heartbeat{.sequence = i}, stream));
  }
  REQUIRE(write_all(sockets.second.get(), stream));
  sockets.second.reset();
  REQUIRE(run_until(loop, [&] { return closed; }));
  CHECK(next == 100);
}

TEST_CASE_TEMPLATE("close writes what is queued, calls no handler and frees the channel", Over,
                   OverSocketPair, OverTcp, OverTls) {
  PairOver<Over> pair;
  auto& [loop, left, right] = pair;
  const std::weak_ptr<Channel> watched = left.channel;
  for (int i = 0; i < 20; ++i) left.channel->send(output(100000));
  left.channel->send(Bye{});
  left.channel->close();
  left.channel.reset();
  REQUIRE(run_until(loop, [&] { return right.closed.has_value(); }));
  CHECK(right.messages.size() == 21);
  CHECK(right.closed->code == Errc::kUnavailable);
  CHECK_FALSE(left.closed);
  CHECK(left.drained == 0);
  REQUIRE(run_until(loop, [&] { return watched.expired(); }));
}

TEST_CASE_TEMPLATE("last messages arrive although their sender leaves its own input unread", Over,
                   OverTcp, OverTls) {
  PairOver<Over> pair;
  auto& [loop, left, right] = pair;
  right.channel->send(output(10000));
  REQUIRE(run_until(loop, [&] { return left.messages.size() == 1; }));
  left.channel->pause_reading();
  for (int i = 0; i < 10; ++i) right.channel->send(output(100000));
  left.channel->send(output(3 << 20));
  left.channel->send(Bye{});
  left.channel->close();
  REQUIRE(run_until(loop, [&] { return right.closed.has_value(); }));
  CHECK(right.messages.size() == 2);
}

TEST_CASE("close gives up after its linger time on a peer that does not read") {
  Half half;
  const std::weak_ptr<Channel> watched = half.end.channel;
  for (int i = 0; i < 20; ++i) half.end.channel->send(output(100000));
  const auto start = std::chrono::steady_clock::now();
  half.end.channel->close();
  half.end.channel.reset();
  half.loop.run();
  CHECK(watched.expired());
  const auto took = std::chrono::steady_clock::now() - start;
  CHECK(took >= kCloseLinger);
  CHECK(took < kCloseLinger + 5s);
  CHECK_FALSE(half.end.closed);
}

TEST_CASE("a handler may close and drop its own channel") {
  boost::asio::io_context loop;
  FdPair sockets = make_socket_pair(SOCK_STREAM).value();
  auto owner = std::make_shared<std::shared_ptr<Channel>>();
  int calls = 0;
  // The handler owns what owns the channel, as objects of the agent do.
  *owner = Channel::open(loop.get_executor(), std::move(sockets.first),
                         {.on_message =
                              [&calls, owner](Message) {
                                ++calls;
                                (*owner)->close();
                                owner->reset();
                                CHECK(calls == 1);  // the captures are still alive
                              },
                          .on_closed = [&](const Error&) { calls += 100; },
                          .on_drained = nullptr});
  const std::weak_ptr<std::shared_ptr<Channel>> watched = owner;
  owner.reset();
  REQUIRE(write_all(sockets.second.get(), frames_of(Bye{}) + frames_of(Bye{})));
  loop.run();
  CHECK(calls == 1);
  CHECK(watched.expired());
}

}  // namespace channel_flow_test
