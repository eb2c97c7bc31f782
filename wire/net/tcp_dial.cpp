#include "wire/net/tcp_dial.h"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "wire/net/tcp.h"

namespace robustrun::wire {
namespace {

using boost::asio::posix::stream_descriptor;
using boost::system::error_code;

class OneTcpDial final : public TcpDial, public std::enable_shared_from_this<OneTcpDial> {
 public:
  OneTcpDial(const boost::asio::any_io_executor& executor, Done done)
      : descriptor_(executor), deadline_(executor), done_(std::move(done)) {}

  void begin(const std::string& endpoint, std::chrono::milliseconds within) {
    if (auto connecting = connect(endpoint); !connecting) {
      boost::asio::post(deadline_.get_executor(),
                        [self = shared_from_this(), error = std::move(connecting).error()] {
                          self->finish(std::unexpected(error));
                        });
      return;
    }
    deadline_.expires_after(within);
    deadline_.async_wait([self = shared_from_this(), within](error_code error) {
      if (!error) self->finish(std::unexpected(timeout_error("no answer from there", within)));
    });
    descriptor_.async_wait(stream_descriptor::wait_write,
                           [self = shared_from_this()](error_code error) {
                             if (!error && self->done_) self->on_writable();
                           });
  }

  void cancel() override {
    done_ = nullptr;
    deadline_.cancel();
    error_code ignored;
    descriptor_.close(ignored);
  }

 private:
  base::Status connect(const std::string& endpoint) {
    const TcpAddress address = RR_TRY(parse_endpoint(endpoint));
    base::Fd fd = RR_TRY(begin_connect(address));
    error_code error;
    descriptor_.assign(fd.get(), error);
    if (error) return base::fail_errno("cannot connect", error.value());
    static_cast<void>(fd.release());
    return {};
  }

  void on_writable() {
    if (auto connected = connect_result(descriptor_.native_handle()); !connected) {
      return finish(std::unexpected(std::move(connected).error()));
    }
    finish(base::Fd(descriptor_.release()));
  }

  void finish(base::Result<base::Fd> result) {
    const Done done = std::exchange(done_, nullptr);
    cancel();
    if (done) done(std::move(result));
  }

  stream_descriptor descriptor_;
  boost::asio::steady_timer deadline_;
  Done done_;
};

}  // namespace

std::shared_ptr<TcpDial> TcpDial::start(boost::asio::any_io_executor executor,
                                        const std::string& endpoint,
                                        std::chrono::milliseconds within, Done done) {
  auto dial = std::make_shared<OneTcpDial>(executor, std::move(done));
  dial->begin(endpoint, within);
  return dial;
}

base::Error timeout_error(const char* what, std::chrono::milliseconds within) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(within).count();
  return {base::Errc::kTimeout, 0, std::string(what) + " within " + std::to_string(seconds) + " s"};
}

}  // namespace robustrun::wire
