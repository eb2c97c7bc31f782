#include "launcher/ssh/dial.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

namespace robustrun::launcher {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

class Dial final : public SshDial, public std::enable_shared_from_this<Dial> {
 public:
  Dial(const boost::asio::any_io_executor& executor, std::vector<tcp::endpoint> endpoints,
       std::chrono::milliseconds deadline, std::function<void(base::Result<base::Fd>)> done)
      : socket_(executor),
        timer_(executor),
        endpoints_(std::move(endpoints)),
        share_(deadline / static_cast<int>(std::max<std::size_t>(endpoints_.size(), 1))),
        done_(std::move(done)) {}

  void next() {
    if (at_ == endpoints_.size()) return fail();
    error_code ignored;
    socket_.close(ignored);
    late_ = false;
    timer_.expires_after(share_);  // cancels the previous wait
    timer_.async_wait([self = shared_from_this(), at = at_](error_code error) {
      if (error || at != self->at_) return;
      self->late_ = true;
      error_code closing;
      self->socket_.close(closing);
    });
    socket_.async_connect(endpoints_[at_], [self = shared_from_this()](error_code error) {
      if (!self->done_) return;
      if (!error && self->socket_.is_open()) return self->succeed();
      self->cause_ = self->late_ || !error ? ETIMEDOUT : error.value();
      ++self->at_;
      self->next();
    });
  }

  void cancel() override {
    done_ = nullptr;
    end();
  }

 private:
  void succeed() {
    timer_.cancel();
    error_code error;
    socket_.set_option(tcp::no_delay(true), error);
    base::Fd fd(socket_.release(error));
    const auto done = std::exchange(done_, nullptr);
    done(std::move(fd));
  }

  void fail() {
    end();
    const auto done = std::exchange(done_, nullptr);
    const std::string cause = cause_ == ETIMEDOUT ? "no answer" : ::strerror(cause_);
    if (done) done(std::unexpected(base::Error{base::Errc::kUnavailable, cause_, cause}));
  }

  void end() {
    timer_.cancel();
    error_code ignored;
    socket_.close(ignored);
  }

  tcp::socket socket_;
  boost::asio::steady_timer timer_;
  std::vector<tcp::endpoint> endpoints_;
  std::chrono::milliseconds share_;
  std::function<void(base::Result<base::Fd>)> done_;
  std::size_t at_ = 0;
  int cause_ = EADDRNOTAVAIL;
  bool late_ = false;
};

}  // namespace

std::shared_ptr<SshDial> SshDial::start(boost::asio::any_io_executor executor,
                                        const std::vector<std::string>& addresses,
                                        std::uint16_t port, std::chrono::milliseconds deadline,
                                        std::function<void(base::Result<base::Fd>)> done) {
  std::vector<tcp::endpoint> endpoints;
  for (const std::string& address : addresses) {
    error_code error;
    const auto parsed = boost::asio::ip::make_address(address, error);
    if (!error) endpoints.emplace_back(parsed, port);
  }
  auto dial = std::make_shared<Dial>(executor, std::move(endpoints), deadline, std::move(done));
  boost::asio::post(executor, [dial] { dial->next(); });
  return dial;
}

}  // namespace robustrun::launcher
