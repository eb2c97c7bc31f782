#include "agent/preflight/exchange.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <string>
#include <utility>

#include "agent/node/limits.h"
#include "base/io/sha256.h"

namespace robustrun::agent {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

class Running final : public Exchange, public std::enable_shared_from_this<Running> {
 public:
  Running(const asio::any_io_executor& executor, const base::Clock& clock, Done done)
      : clock_(clock),
        peer_(executor),
        deadline_(executor),
        began_(clock.now()),
        done_(std::move(done)),
        outgoing_(kExchangePieceBytes, '\0'),
        incoming_(kExchangePieceBytes, '\0') {}

  void begin(base::Fd connection) {
    error_code error;
    peer_.assign(connection.get(), error);
    if (error) {
      return asio::post(deadline_.get_executor(), [self = shared_from_this()] { self->finish(); });
    }
    static_cast<void>(connection.release());
    deadline_.expires_after(kExchangeMax);
    deadline_.async_wait([self = shared_from_this()](error_code timer_error) {
      if (!timer_error) self->finish();
    });
    write();
    read();
  }

  void drop() override {
    done_ = nullptr;
    deadline_.cancel();
    error_code ignored;
    peer_.close(ignored);
  }

 private:
  void write() {
    if (clock_.now() - began_ >= kExchangeTime) {
      ::shutdown(peer_.native_handle(), SHUT_WR);
      return;
    }
    peer_.async_write_some(asio::buffer(outgoing_),
                           [self = shared_from_this()](error_code error, std::size_t) {
                             if (!error && self->done_) self->write();
                           });
  }

  void read() {
    peer_.async_read_some(asio::buffer(incoming_),
                          [self = shared_from_this()](error_code error, std::size_t size) {
                            if (!self->done_) return;
                            self->received_ += size;
                            error ? self->finish() : self->read();
                          });
  }

  void finish() {
    const auto took = std::chrono::duration<double>(std::max<base::Nanos>(
        clock_.now() - began_, std::chrono::duration_cast<base::Nanos>(kExchangeTime)));
    const Done done = std::exchange(done_, nullptr);
    drop();
    if (done) done(static_cast<double>(received_) / took.count());
  }

  const base::Clock& clock_;
  asio::posix::stream_descriptor peer_;
  asio::steady_timer deadline_;
  base::Nanos began_;
  Done done_;
  std::uint64_t received_ = 0;
  std::string outgoing_, incoming_;
};

}  // namespace

std::shared_ptr<Exchange> Exchange::start(asio::any_io_executor executor, const base::Clock& clock,
                                          base::Fd connection, Done done) {
  auto exchange = std::make_shared<Running>(executor, clock, std::move(done));
  exchange->begin(std::move(connection));
  return exchange;
}

base::Nanos time_computing() {
  const base::SystemClock clock;
  std::string piece(kComputePieceBytes, '\0');
  std::array<base::Nanos, kComputePieces> times{};
  for (base::Nanos& time : times) {
    const base::Nanos began = clock.now();
    const std::string digest = base::sha256(piece);
    time = clock.now() - began;
    piece.replace(0, digest.size(), digest);  // each piece depends on the one before
  }
  std::ranges::nth_element(times, times.begin() + kComputePieces / 4);
  return times[kComputePieces / 4];
}

}  // namespace robustrun::agent
