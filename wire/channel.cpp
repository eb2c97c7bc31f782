#include "wire/channel.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <utility>

#include "wire/frame.h"
#include "wire/limits.h"

namespace robustrun::wire {
namespace {

using boost::asio::generic::stream_protocol;
using boost::system::error_code;

// Sending: send() encodes right behind `pending_`; one write is under way at a time, out of
// `writing_`; when that is done the two swap, so what was queued meanwhile goes out in one write.
// Reading: waits for readability first, so that an idle channel holds no buffer.
class SocketChannel final : public Channel, public std::enable_shared_from_this<SocketChannel> {
 public:
  SocketChannel(const boost::asio::any_io_executor& executor, Handlers handlers)
      : socket_(executor),
        linger_(executor),
        handlers_(std::make_shared<const Handlers>(std::move(handlers))) {}

  void start(base::Fd fd);

  void send(const Message& message) override;
  [[nodiscard]] std::size_t queued_bytes() const override {
    return pending_.size() + writing_.size() - written_;
  }
  [[nodiscard]] bool congested() const override { return queued_bytes() > kCongestedBytes; }
  void pause_reading() override { paused_ = true; }
  void resume_reading() override;
  void close() override;

 private:
  enum class State : std::uint8_t {
    kOpen,
    kWriteFailed,  // the peer is gone; what it had sent before is still read
    kEnding,       // on_closed is on its way
    kLingering,    // close(): writes what is queued, calls no handler
    kClosed,
  };

  void await_readable();
  void read_turn();
  // 0 when the socket is empty or at its end (which is then handled).
  std::size_t read_some();
  // Hands out the messages in the buffer; false when reading stops there: paused, or ended.
  bool deliver();
  void write();
  void on_written(error_code error, std::size_t size);
  void drop_queue();
  // Calls on_closed from the loop, once.
  void end(base::Error error);
  void shut();

  stream_protocol::socket socket_;
  boost::asio::steady_timer linger_;
  // Shared, because a handler may close the channel while it runs.
  std::shared_ptr<const Handlers> handlers_;
  State state_ = State::kOpen;

  FrameReader reader_;
  bool paused_ = false;
  bool reading_ = false;     // a wait for readability or a turn is under way or posted

  std::string pending_;
  std::string writing_;
  std::size_t written_ = 0;  // of writing_
  bool write_under_way_ = false;
  bool was_congested_ = false;
};

base::Error closed_error(error_code error) {
  if (error == boost::asio::error::eof) {
    return {base::Errc::kUnavailable, 0, "the peer closed the connection"};
  }
  return base::fail_errno("the connection to the peer broke", error.value()).error();
}

void SocketChannel::start(base::Fd fd) {
  int domain = AF_UNIX;
  socklen_t size = sizeof domain;
  const bool known = ::getsockopt(fd.get(), SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
                     ::fcntl(fd.get(), F_SETFD, FD_CLOEXEC) == 0;
  error_code error(known ? 0 : errno, boost::system::system_category());
  if (!error) socket_.assign(stream_protocol(domain, 0), fd.get(), error);
  if (!error) {
    static_cast<void>(fd.release());
    socket_.non_blocking(true, error);
  }
  if (error) return end(closed_error(error));
  await_readable();
}

void SocketChannel::send(const Message& message) {
  if (state_ != State::kOpen) return;
  if (auto appended = append_frames(message, pending_); !appended) {
    return end(std::move(appended).error());
  }
  if (queued_bytes() > kSendQueueBytesMax) {
    return end({base::Errc::kLimit, 0, "the peer does not read: the send queue is full"});
  }
  was_congested_ = was_congested_ || congested();
  if (!write_under_way_) write();
}

void SocketChannel::resume_reading() {
  if (!std::exchange(paused_, false) || std::exchange(reading_, true)) return;
  // Posted, because messages may be waiting in the buffer and the caller must not meet them.
  boost::asio::post(socket_.get_executor(), [self = shared_from_this()] { self->read_turn(); });
}

void SocketChannel::await_readable() {
  reading_ = true;
  socket_.async_wait(stream_protocol::socket::wait_read,
                     [self = shared_from_this()](error_code error) {
                       if (!error) self->read_turn();
                     });
}

void SocketChannel::read_turn() {
  std::size_t read = 0;
  bool more = true;
  while (deliver()) {
    if (!more || read >= kReadTurnBytes) {
      reader_.release_if_empty();
      return await_readable();
    }
    const std::size_t size = read_some();
    read += size;
    // A short read has emptied the socket: the next one would only say so.
    more = size >= kReadBytes;
  }
  reading_ = false;
}

std::size_t SocketChannel::read_some() {
  const std::span<char> room = reader_.prepare(kReadBytes);
  error_code error;
  const std::size_t size = socket_.read_some(boost::asio::buffer(room.data(), room.size()), error);
  reader_.commit(size);
  if (error && error != boost::asio::error::would_block) end(closed_error(error));
  return size;
}

bool SocketChannel::deliver() {
  while (!paused_ && (state_ == State::kOpen || state_ == State::kWriteFailed)) {
    auto message = reader_.next();
    if (!message) {
      end(std::move(message).error());
      return false;
    }
    if (!*message) return true;
    const auto handlers = handlers_;
    handlers->on_message(**std::move(message));
  }
  return false;
}

void SocketChannel::write() {
  if (written_ == writing_.size()) {
    writing_.clear();
    written_ = 0;
    writing_.swap(pending_);
  }
  write_under_way_ = true;
  socket_.async_write_some(
      boost::asio::buffer(writing_.data() + written_, writing_.size() - written_),
      [self = shared_from_this()](error_code error, std::size_t size) {
        self->on_written(error, size);
      });
}

void SocketChannel::on_written(error_code error, std::size_t size) {
  write_under_way_ = false;
  if (state_ == State::kClosed || state_ == State::kEnding) return drop_queue();
  if (error) {
    drop_queue();
    if (state_ == State::kLingering) return shut();
    // The socket still holds what the peer sent before it went; reading then meets the end.
    state_ = State::kWriteFailed;
    return;
  }
  written_ += size;
  if (queued_bytes() > 0) {
    write();
  } else {
    drop_queue();
    if (state_ == State::kLingering) return shut();
  }
  if (was_congested_ && queued_bytes() < kDrainedBytes) {
    was_congested_ = false;
    const auto handlers = handlers_;
    if (state_ == State::kOpen && handlers->on_drained) handlers->on_drained();
  }
}

void SocketChannel::drop_queue() {
  written_ = 0;
  for (std::string* buffer : {&pending_, &writing_}) {
    buffer->clear();
    if (buffer->capacity() > kIdleBufferBytes) buffer->shrink_to_fit();
  }
}

void SocketChannel::end(base::Error error) {
  if (state_ != State::kOpen && state_ != State::kWriteFailed) return;
  state_ = State::kEnding;
  boost::asio::post(socket_.get_executor(), [self = shared_from_this(), error = std::move(error)] {
    if (self->state_ != State::kEnding) return;  // closed meanwhile
    const auto handlers = self->handlers_;
    self->shut();
    handlers->on_closed(error);
  });
}

void SocketChannel::close() {
  if (state_ == State::kClosed || state_ == State::kLingering) return;
  const bool can_write = state_ == State::kOpen;
  // Handlers often own the channel; they go once the call that is perhaps under way has returned.
  handlers_ = std::make_shared<const Handlers>();
  if (!can_write || queued_bytes() == 0) return shut();
  state_ = State::kLingering;
  linger_.expires_after(kCloseLinger);
  linger_.async_wait([self = shared_from_this()](error_code error) {
    if (!error) self->shut();
  });
}

void SocketChannel::shut() {
  state_ = State::kClosed;
  handlers_ = std::make_shared<const Handlers>();
  linger_.cancel();
  error_code ignored;
  socket_.close(ignored);
}

}  // namespace

std::shared_ptr<Channel> Channel::open(boost::asio::any_io_executor executor, base::Fd socket,
                                       Handlers handlers) {
  RR_ASSERT(handlers.on_message && handlers.on_closed);
  auto channel = std::make_shared<SocketChannel>(executor, std::move(handlers));
  channel->start(std::move(socket));
  return channel;
}

}  // namespace robustrun::wire
