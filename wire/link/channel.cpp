#include "wire/link/channel.h"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "wire/link/stream_channel.h"
#include "wire/messages/frame.h"
#include "wire/messages/limits.h"

namespace robustrun::wire {
namespace {

using boost::asio::posix::stream_descriptor;
using boost::system::error_code;
using Waits = Stream::Waits;

// Sending: send() encodes directly to the end of `pending_`. One write is under way at a time, out
// of `writing_`; when it is done the two are swapped, so what was queued meanwhile goes out in one
// write. Reading: waits for readability first, so that an idle channel holds no buffer. The
// descriptor says when, the stream moves the bytes.
class StreamChannel final : public Channel, public std::enable_shared_from_this<StreamChannel> {
 public:
  StreamChannel(const boost::asio::any_io_executor& executor, Begin begin, Handlers handlers)
      : descriptor_(executor),
        linger_(executor),
        handlers_(std::make_shared<const Handlers>(std::move(handlers))),
        begin_(begin) {
    if (begin != Begin::kReading) reader_.limit_messages(kFirstMessageBytesMax);
  }

  void start(Connection connection);
  // Calls on_closed from the loop, once.
  void end(base::Error error);

  void set_handlers(Handlers handlers) override;
  void send(const Message& message) override;
  [[nodiscard]] std::size_t queued_bytes() const override {
    return pending_.size() + writing_.size() - written_;
  }
  [[nodiscard]] bool congested() const override { return queued_bytes() > kCongestedBytes; }
  void pause_reading() override;
  void resume_reading() override;
  void close() override;

 private:
  enum class State : std::uint8_t {
    kOpen,
    kWriteFailed,  // the peer is gone; what it sent before is still read
    kEnding,       // on_closed is about to be called
    kLingering,    // close(): writes what is queued, calls no handler
    kDraining,     // close(): all is written; waits for the peer's end
    kClosed,
  };

  [[nodiscard]] bool may_deliver() const {
    return !paused_ && begin_ != Begin::kWaiting &&
           (state_ == State::kOpen || state_ == State::kWriteFailed);
  }
  void await(Waits what, void (StreamChannel::*then)());
  void post(void (StreamChannel::*then)());
  void go_on_reading();
  void on_peer_gone();
  void read_turn();
  Stream::Moved read_some();
  // Delivers the buffered messages; false when reading stops there: paused, or ended.
  bool deliver();
  void drain();
  void write();
  void after_write();
  void drop_queue();
  // Everything is written: the last part of close().
  void finish();
  void shut();

  stream_descriptor descriptor_;
  std::unique_ptr<Stream> stream_;
  boost::asio::steady_timer linger_;
  // Shared, because a handler may close the channel while it runs.
  std::shared_ptr<const Handlers> handlers_;
  State state_ = State::kOpen;

  FrameReader reader_;
  Begin begin_;
  bool paused_ = false;
  bool watching_ = false;    // for the peer's end while reading is paused
  bool reading_ = false;     // a wait for readability or a turn is under way or posted

  std::string pending_;
  std::string writing_;
  std::size_t written_ = 0;  // of writing_
  bool write_under_way_ = false;
  bool write_failed_ = false;
  bool was_congested_ = false;
};

void StreamChannel::start(Connection connection) {
  stream_ = std::move(connection.stream);
  error_code error;
  descriptor_.assign(connection.fd.get(), error);
  if (error) return end(connection_broke(error.value()));
  static_cast<void>(connection.fd.release());
  if (begin_ == Begin::kWaiting) return;
  reading_ = true;
  await(Waits::kReadable, &StreamChannel::read_turn);
}

void StreamChannel::await(Waits what, void (StreamChannel::*then)()) {
  descriptor_.async_wait(
      what == Waits::kWritable ? stream_descriptor::wait_write : stream_descriptor::wait_read,
      [self = shared_from_this(), then](error_code error) {
        if (!error) (self.get()->*then)();
      });
}

void StreamChannel::post(void (StreamChannel::*then)()) {
  boost::asio::post(descriptor_.get_executor(),
                    [self = shared_from_this(), then] { (self.get()->*then)(); });
}

void StreamChannel::set_handlers(Handlers handlers) {
  RR_ASSERT(handlers.on_message && handlers.on_closed);
  if (state_ == State::kLingering || state_ == State::kDraining || state_ == State::kClosed) return;
  handlers_ = std::make_shared<const Handlers>(std::move(handlers));
  if (std::exchange(begin_, Begin::kReading) == Begin::kReading) return;
  reader_.limit_messages(kMessageBytesMax);
  go_on_reading();
}

void StreamChannel::send(const Message& message) {
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

void StreamChannel::pause_reading() {
  paused_ = true;
  if (!handlers_->on_peer_gone || std::exchange(watching_, true)) return;
  // The wait stays for later pauses; it costs nothing until it fires.
  descriptor_.async_wait(stream_descriptor::wait_error,
                         [self = shared_from_this()](error_code error) {
                           self->watching_ = false;
                           if (!error) self->on_peer_gone();
                         });
}

void StreamChannel::on_peer_gone() {
  // TCP urgent data also triggers this.
  if (!paused_ || !is_broken(descriptor_.native_handle())) return;
  const auto handlers = handlers_;
  if (handlers->on_peer_gone) handlers->on_peer_gone();
}

void StreamChannel::resume_reading() {
  paused_ = false;
  go_on_reading();
}

void StreamChannel::go_on_reading() {
  if (!may_deliver() || std::exchange(reading_, true)) return;
  // Posted, because messages may be in the buffer and must not be delivered inside this call.
  post(&StreamChannel::read_turn);
}

void StreamChannel::read_turn() {
  std::size_t read = 0;
  Waits waits = Waits::kNothing;
  while (deliver()) {
    if (waits != Waits::kNothing) {
      reader_.release_if_empty();
      return await(waits, &StreamChannel::read_turn);
    }
    if (read >= kReadTurnBytes) return post(&StreamChannel::read_turn);
    const Stream::Moved moved = read_some();
    read += moved.bytes;
    waits = moved.waits;
  }
  reading_ = false;
  if (state_ == State::kDraining) drain();
}

Stream::Moved StreamChannel::read_some() {
  // An unidentified peer gets no large buffer.
  const std::span<char> room =
      reader_.prepare(begin_ == Begin::kReading ? kReadBytes : kFirstReadBytes);
  const auto moved = stream_->read(room);
  if (!moved) {
    end(moved.error());
    return {};
  }
  reader_.commit(moved->bytes);
  return *moved;
}

bool StreamChannel::deliver() {
  while (may_deliver()) {
    auto message = reader_.next();
    if (!message) {
      end(std::move(message).error());
      return false;
    }
    if (!*message) return true;
    if (begin_ == Begin::kOneMessage) begin_ = Begin::kWaiting;
    const auto handlers = handlers_;
    handlers->on_message(**std::move(message));
  }
  return false;
}

void StreamChannel::write() {
  if (written_ == writing_.size()) {
    writing_.clear();
    written_ = 0;
    writing_.swap(pending_);
  }
  write_under_way_ = true;
  const auto moved = stream_->write(std::string_view(writing_).substr(written_));
  write_failed_ = !moved;
  if (moved) written_ += moved->bytes;
  if (moved && moved->waits != Waits::kNothing) {
    await(moved->waits, &StreamChannel::after_write);
  } else {
    post(&StreamChannel::after_write);
  }
}

void StreamChannel::after_write() {
  write_under_way_ = false;
  if (state_ != State::kOpen && state_ != State::kLingering) return drop_queue();
  if (write_failed_) {
    drop_queue();
    if (state_ == State::kLingering) return shut();
    // The socket still holds what the peer sent before its end; reading then meets that end.
    state_ = State::kWriteFailed;
    return;
  }
  if (queued_bytes() > 0) {
    write();
  } else {
    drop_queue();
    if (state_ == State::kLingering) return finish();
  }
  if (was_congested_ && queued_bytes() < kDrainedBytes) {
    was_congested_ = false;
    const auto handlers = handlers_;
    if (state_ == State::kOpen && handlers->on_drained) handlers->on_drained();
  }
}

void StreamChannel::drop_queue() {
  written_ = 0;
  for (std::string* buffer : {&pending_, &writing_}) {
    buffer->clear();
    if (buffer->capacity() > kIdleBufferBytes) buffer->shrink_to_fit();
  }
}

void StreamChannel::end(base::Error error) {
  if (state_ != State::kOpen && state_ != State::kWriteFailed) return;
  state_ = State::kEnding;
  boost::asio::post(descriptor_.get_executor(),
                    [self = shared_from_this(), error = std::move(error)] {
                      if (self->state_ != State::kEnding) return;  // closed meanwhile
                      const auto handlers = self->handlers_;
                      self->shut();
                      handlers->on_closed(error);
                    });
}

void StreamChannel::close() {
  if (state_ == State::kClosed || state_ == State::kLingering || state_ == State::kDraining) return;
  const bool can_write = state_ == State::kOpen;
  // Handlers often own the channel, so they are released only after a handler that runs has
  // returned.
  handlers_ = std::make_shared<const Handlers>();
  if (!can_write) return shut();
  state_ = State::kLingering;
  linger_.expires_after(kCloseLinger);
  linger_.async_wait([self = shared_from_this()](error_code error) {
    if (!error) self->shut();
  });
  if (queued_bytes() == 0 && !write_under_way_) finish();
}

void StreamChannel::finish() {
  if (!stream_->finish()) return shut();
  state_ = State::kDraining;
  // If a turn is under way, it gets here by itself.
  if (!reading_) drain();
}

void StreamChannel::drain() {
  reading_ = true;
  if (discard_input(descriptor_.native_handle())) return shut();
  await(Waits::kReadable, &StreamChannel::read_turn);
}

void StreamChannel::shut() {
  state_ = State::kClosed;
  handlers_ = std::make_shared<const Handlers>();
  linger_.cancel();
  error_code ignored;
  descriptor_.close(ignored);
}

}  // namespace

std::shared_ptr<Channel> Channel::open(boost::asio::any_io_executor executor, base::Fd socket,
                                       Handlers handlers) {
  RR_ASSERT(handlers.on_message && handlers.on_closed);
  auto channel = std::make_shared<StreamChannel>(executor, Begin::kReading, std::move(handlers));
  auto stream = make_socket_stream(socket.get());
  if (stream) {
    channel->start({std::move(socket), *std::move(stream)});
  } else {
    channel->end(std::move(stream).error());
  }
  return channel;
}

std::shared_ptr<Channel> open_channel(boost::asio::any_io_executor executor, Connection connection,
                                      Begin begin, Channel::Handlers handlers) {
  auto channel = std::make_shared<StreamChannel>(executor, begin, std::move(handlers));
  channel->start(std::move(connection));
  return channel;
}

}  // namespace robustrun::wire
