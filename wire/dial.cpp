#include "wire/dial.h"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "wire/tcp.h"

namespace robustrun::wire {
namespace {

using boost::asio::posix::stream_descriptor;
using boost::system::error_code;
using Waits = Stream::Waits;

std::string seconds_text(std::chrono::milliseconds time) {
  return std::to_string(std::chrono::ceil<std::chrono::seconds>(time).count()) + " s";
}

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
  void cancel() override;

 private:
  base::Status connect(const std::string& endpoint);
  void within(std::chrono::milliseconds time, const char* what);
  void await(Waits what, void (TlsDial::*then)());
  void on_connected();
  void shake_hands();
  void finish(base::Result<Reached> result);

  stream_descriptor descriptor_;
  boost::asio::steady_timer deadline_;
  std::shared_ptr<const TlsContext> context_;
  DialerLimits limits_;
  Done done_;
  std::unique_ptr<TlsStream> tls_;
};

void TlsDial::begin(const std::string& endpoint) {
  if (auto connecting = connect(endpoint); !connecting) {
    boost::asio::post(deadline_.get_executor(),
                      [self = shared_from_this(), error = std::move(connecting).error()] {
                        self->finish(std::unexpected(error));
                      });
    return;
  }
  within(limits_.connect_max, "no answer from there");
  await(Waits::kWritable, &TlsDial::on_connected);
}

base::Status TlsDial::connect(const std::string& endpoint) {
  const TcpAddress address = RR_TRY(parse_endpoint(endpoint));
  base::Fd fd = RR_TRY(begin_connect(address));
  error_code error;
  descriptor_.assign(fd.get(), error);
  if (error) return base::fail_errno("cannot connect", error.value());
  static_cast<void>(fd.release());
  return {};
}

void TlsDial::within(std::chrono::milliseconds time, const char* what) {
  deadline_.expires_after(time);
  deadline_.async_wait([self = shared_from_this(), time, what](error_code error) {
    if (error) return;
    self->finish(
        base::fail(base::Errc::kTimeout, std::string(what) + " within " + seconds_text(time)));
  });
}

void TlsDial::await(Waits what, void (TlsDial::*then)()) {
  descriptor_.async_wait(
      what == Waits::kWritable ? stream_descriptor::wait_write : stream_descriptor::wait_read,
      [self = shared_from_this(), then](error_code error) {
        if (!error && self->done_) (self.get()->*then)();
      });
}

void TlsDial::on_connected() {
  const int fd = descriptor_.native_handle();
  if (auto connected = connect_result(fd); !connected) {
    return finish(std::unexpected(std::move(connected).error()));
  }
  auto tls = TlsStream::make(*context_, fd, TlsStream::Side::kClient);
  if (!tls) return finish(std::unexpected(std::move(tls).error()));
  tls_ = *std::move(tls);
  within(limits_.handshake_max, "it did not finish TLS's handshake");
  shake_hands();
}

void TlsDial::shake_hands() {
  const auto waits = tls_->handshake();
  if (!waits) return finish(std::unexpected(waits.error()));
  if (*waits != Waits::kNothing) return await(*waits, &TlsDial::shake_hands);
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

}  // namespace robustrun::wire
