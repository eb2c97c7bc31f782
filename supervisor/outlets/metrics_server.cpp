#include "supervisor/outlets/metrics_server.h"

#include <fmt/core.h>
#include <sys/socket.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <cerrno>
#include <list>
#include <utility>

#include "base/io/accept_loop.h"
#include "base/io/fd.h"

namespace robustrun::supervisor {
namespace {

namespace net = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using net::ip::tcp;

constexpr const char* kTextFormat = "text/plain; version=0.0.4; charset=utf-8";
constexpr int kWaitingVisitorsMax = 64;

struct Page {
  http::status status = http::status::ok;
  std::string text;
};

// One question and its answer.
class Visit : public std::enable_shared_from_this<Visit> {
 public:
  using Answer = std::function<Page(const http::request<http::empty_body>&)>;
  Visit(const net::any_io_executor& executor, Answer answer, std::function<void(Visit*)> left)
      : socket_(executor),
        deadline_(executor),
        buffer_(2 * kHttpHeaderBytesMax),
        answer_(std::move(answer)),
        left_(std::move(left)) {
    parser_.header_limit(static_cast<std::uint32_t>(kHttpHeaderBytesMax));
  }

  error_code take_over(base::Fd fd, const tcp& protocol) {
    error_code error;
    socket_.assign(protocol, fd.get(), error);
    if (!error) (void)fd.release();
    return error;
  }

  void begin(std::chrono::milliseconds time_max) {
    deadline_.expires_after(time_max);
    deadline_.async_wait([self = shared_from_this()](const error_code& error) {
      if (!error) self->end();
    });
    http::async_read_header(socket_, buffer_, parser_,
                            [self = shared_from_this()](const error_code& error, std::size_t) {
                              self->on_read(error);
                            });
  }

  // Ends the connection without a callback.
  void abandon() {
    left_ = nullptr;
    end();
  }

 private:
  void on_read(const error_code& error) {
    if (!left_) return;
    if (!error) return write(answer_(parser_.get()));
    const bool is_long =
        error == http::error::header_limit || error == http::error::buffer_overflow;
    if (is_long) {
      write({http::status::request_header_fields_too_large, "the request is too long\n"});
    } else if (error.category() == http::make_error_code(http::error::bad_method).category() &&
               error != http::error::end_of_stream && error != http::error::partial_message) {
      write({http::status::bad_request, "this is no HTTP request\n"});
    } else {
      end();
    }
  }

  void write(Page page) {
    reply_.version(11);
    reply_.result(page.status);
    reply_.keep_alive(false);
    reply_.set(http::field::content_type, kTextFormat);
    if (page.status == http::status::method_not_allowed) reply_.set(http::field::allow, "GET");
    reply_.body() = std::move(page.text);
    reply_.prepare_payload();
    http::async_write(socket_, reply_, [self = shared_from_this()](const error_code&, std::size_t) {
      error_code ignored;
      self->socket_.shutdown(tcp::socket::shutdown_send, ignored);
      self->end();
    });
  }

  void end() {
    error_code ignored;
    deadline_.cancel();
    socket_.close(ignored);
    if (const auto left = std::exchange(left_, nullptr)) left(this);
  }

  tcp::socket socket_;
  net::steady_timer deadline_;
  boost::beast::flat_buffer buffer_;
  http::request_parser<http::empty_body> parser_;
  http::response<http::string_body> reply_;
  Answer answer_;
  std::function<void(Visit*)> left_;
};

// The open connections; the accept loop is stopped before they are destroyed.
class Counter {
 public:
  Counter(net::any_io_executor executor, tcp protocol, std::function<std::string()> text,
          MetricsServer::Limits limits)
      : executor_(executor), protocol_(protocol), text_(std::move(text)), limits_(limits) {}
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;
  ~Counter() {
    for (const auto& visit : visits_) visit->abandon();
  }

  void welcome(base::Fd peer) {
    if (visits_.size() >= limits_.connections_max) {
      const auto oldest = visits_.front();
      visits_.pop_front();
      oldest->abandon();
    }
    auto visit = std::make_shared<Visit>(
        executor_, [this](const auto& request) { return page_for(request); },
        [this](Visit* one) {
          std::erase_if(visits_, [one](const auto& each) { return each.get() == one; });
        });
    if (visit->take_over(std::move(peer), protocol_)) return;
    visits_.push_back(visit);
    visit->begin(limits_.request_max);
  }

 private:
  Page page_for(const http::request<http::empty_body>& request) const {
    const std::string_view target(request.target().data(), request.target().size());
    if (target.substr(0, target.find('?')) != "/metrics") {
      return {http::status::not_found, "there is /metrics, and nothing else\n"};
    }
    if (request.method() != http::verb::get) {
      return {http::status::method_not_allowed, "only GET is answered\n"};
    }
    return {http::status::ok, text_()};
  }

  net::any_io_executor executor_;
  tcp protocol_;
  std::function<std::string()> text_;
  MetricsServer::Limits limits_;
  std::list<std::shared_ptr<Visit>> visits_;  // the longest first
};

std::string shown_endpoint(const tcp::endpoint& at) {
  return fmt::format(fmt::runtime(at.address().is_v6() ? "[{}]:{}" : "{}:{}"),
                     at.address().to_string(), at.port());
}

std::unexpected<base::Error> cannot_serve(const tcp::endpoint& at, int cause) {
  const std::string what = "cannot serve metrics at " + shown_endpoint(at);
  const char* advice = "";
  if (cause == EADDRINUSE) advice = "; choose another --metrics-port, or 0 for any that is free";
  if (cause == EADDRNOTAVAIL) advice = "; give --metrics-port an address of this machine";
  if (cause == EACCES) advice = "; choose a port of 1024 or more for --metrics-port";
  base::Error error = base::fail_errno(what, cause).error();
  error.what += advice;
  return std::unexpected(std::move(error));
}

base::Result<base::Fd> listen_at(const tcp::endpoint& at) {
  base::Fd fd(::socket(at.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (!fd || ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(fd.get(), at.data(), static_cast<socklen_t>(at.size())) != 0 ||
      ::listen(fd.get(), kWaitingVisitorsMax) != 0) {
    return cannot_serve(at, errno);
  }
  return fd;
}

class ServerImpl final : public MetricsServer {
 public:
  ServerImpl(std::unique_ptr<Counter> counter, std::unique_ptr<base::AcceptLoop> loop,
             std::string where)
      : counter_(std::move(counter)), loop_(std::move(loop)), where_(std::move(where)) {}
  [[nodiscard]] std::string url() const override { return "http://" + where_ + "/metrics"; }

 private:
  std::unique_ptr<Counter> counter_;
  std::unique_ptr<base::AcceptLoop> loop_;
  std::string where_;
};

}  // namespace

base::Result<std::unique_ptr<MetricsServer>> MetricsServer::open(
    boost::asio::any_io_executor executor, const std::string& address, std::uint16_t port,
    std::function<std::string()> text, Limits limits) {
  error_code error;
  tcp::endpoint at(net::ip::make_address(address, error), port);
  if (error) {
    return base::fail(base::Errc::kInvalidArgument,
                      "cannot serve metrics at " + address + ": it is no numeric address");
  }
  base::Fd fd = RR_TRY(listen_at(at));
  auto size = static_cast<socklen_t>(at.capacity());
  if (::getsockname(fd.get(), at.data(), &size) != 0) return cannot_serve(at, errno);
  auto counter = std::make_unique<Counter>(executor, at.protocol(), std::move(text), limits);
  auto loop = base::AcceptLoop::start(executor, std::move(fd), [to = counter.get()](base::Fd peer) {
    to->welcome(std::move(peer));
  });
  if (!loop) return cannot_serve(at, loop.error().os_errno);
  return std::make_unique<ServerImpl>(std::move(counter), *std::move(loop), shown_endpoint(at));
}

}  // namespace robustrun::supervisor
