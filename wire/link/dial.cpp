#include "wire/link/dial.h"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "wire/net/tcp.h"
#include "wire/net/tcp_dial.h"

namespace robustrun::wire {
namespace {

using boost::asio::posix::stream_descriptor;
using boost::system::error_code;
using Waits = Stream::Waits;

class TlsDial final : public Dial, public std::enable_shared_from_this<TlsDial> {
 public:
  TlsDial(const boost::asio::any_io_executor& executor, std::shared_ptr<const TlsContext> context,
          DialerLimits limits, Done done)
      : descriptor_(executor),
        deadline_(executor),
        context_(std::move(context)),
        limits_(limits),
        done_(std::move(done)) {}

  void begin(const std::string& endpoint);
  void take(base::Fd connected);
  void cancel() override;

 private:
  base::Status begin_tls(base::Fd connected);
  void await(Waits what);
  void shake_hands();
  void finish(base::Result<Reached> result);

  std::shared_ptr<TcpDial> tcp_;
  stream_descriptor descriptor_;
  boost::asio::steady_timer deadline_;
  std::shared_ptr<const TlsContext> context_;
  DialerLimits limits_;
  Done done_;
  std::unique_ptr<TlsStream> tls_;
};

void TlsDial::begin(const std::string& endpoint) {
  tcp_ = TcpDial::start(deadline_.get_executor(), endpoint, limits_.connect_max,
                        [weak = weak_from_this()](base::Result<base::Fd> connected) {
                          const auto self = weak.lock();
                          if (!self) return;
                          if (!connected) return self->finish(std::unexpected(connected.error()));
                          self->take(*std::move(connected));
                        });
}

void TlsDial::take(base::Fd connected) {
  if (auto begun = begin_tls(std::move(connected)); !begun) {
    boost::asio::post(deadline_.get_executor(),
                      [self = shared_from_this(), error = std::move(begun).error()] {
                        self->finish(std::unexpected(error));
                      });
    return;
  }
  deadline_.expires_after(limits_.handshake_max);
  deadline_.async_wait([self = shared_from_this()](error_code error) {
    if (error) return;
    self->finish(std::unexpected(
        timeout_error("it did not finish TLS's handshake", self->limits_.handshake_max)));
  });
  shake_hands();
}

base::Status TlsDial::begin_tls(base::Fd connected) {
  error_code error;
  descriptor_.assign(connected.get(), error);
  if (error) return base::fail_errno("cannot connect", error.value());
  const int fd = connected.release();
  tls_ = RR_TRY(TlsStream::make(*context_, fd, TlsStream::Side::kClient));
  return {};
}

void TlsDial::await(Waits what) {
  descriptor_.async_wait(
      what == Waits::kWritable ? stream_descriptor::wait_write : stream_descriptor::wait_read,
      [self = shared_from_this()](error_code error) {
        if (!error && self->done_) self->shake_hands();
      });
}

void TlsDial::shake_hands() {
  const auto waits = tls_->handshake();
  if (!waits) return finish(std::unexpected(waits.error()));
  if (*waits != Waits::kNothing) return await(*waits);
  Reached reached;
  reached.tls = tls_.get();
  reached.addresses = addresses_of(descriptor_.native_handle());
  reached.connection.fd = base::Fd(descriptor_.release());
  reached.connection.stream = std::move(tls_);
  finish(std::move(reached));
}

void TlsDial::finish(base::Result<Reached> result) {
  const Done done = std::exchange(done_, nullptr);
  cancel();
  if (done) done(std::move(result));
}

void TlsDial::cancel() {
  done_ = nullptr;
  if (tcp_) tcp_->cancel();
  deadline_.cancel();
  error_code ignored;
  descriptor_.close(ignored);
}

}  // namespace

std::shared_ptr<Dial> Dial::start(boost::asio::any_io_executor executor,
                                  const std::string& endpoint,
                                  std::shared_ptr<const TlsContext> context, DialerLimits limits,
                                  Done done) {
  auto dial = std::make_shared<TlsDial>(executor, std::move(context), limits, std::move(done));
  dial->begin(endpoint);
  return dial;
}

std::shared_ptr<Dial> Dial::over(boost::asio::any_io_executor executor, base::Fd connected,
                                 std::shared_ptr<const TlsContext> context, DialerLimits limits,
                                 Done done) {
  auto dial = std::make_shared<TlsDial>(executor, std::move(context), limits, std::move(done));
  dial->take(std::move(connected));
  return dial;
}

}  // namespace robustrun::wire
