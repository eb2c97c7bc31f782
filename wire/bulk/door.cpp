#include "wire/bulk/door.h"

#include <sys/socket.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <utility>

#include "wire/bulk/keys.h"
#include "wire/net/tcp.h"
#include "wire/tls/stream.h"

namespace robustrun::wire {
namespace {

using boost::asio::posix::stream_descriptor;
using boost::system::error_code;

struct BulkHouse {
  SharedBulkKeys keys;
  BulkDoor::OnVisitor on_visitor;
  std::chrono::milliseconds visit_max{};
};

// One who has not said yet what it wants. Lives as long as one of its waits.
class BulkVisit : public std::enable_shared_from_this<BulkVisit> {
 public:
  using OnEnd = std::function<void()>;

  BulkVisit(const boost::asio::any_io_executor& executor, std::shared_ptr<const BulkHouse> house,
            OnEnd on_end)
      : peer_(executor),
        deadline_(executor),
        house_(std::move(house)),
        on_end_(std::move(on_end)) {}
  ~BulkVisit() { on_end_(); }
  BulkVisit(const BulkVisit&) = delete;
  BulkVisit& operator=(const BulkVisit&) = delete;

  void begin(base::Fd fd) {
    auto tls = TlsStream::make(house_->keys->callee, fd.get(), TlsStream::Side::kServer);
    error_code error;
    if (tls) peer_.assign(fd.get(), error);
    if (!tls || error) return;
    static_cast<void>(fd.release());
    tls_ = *std::move(tls);
    deadline_.expires_after(house_->visit_max);
    deadline_.async_wait([self = shared_from_this()](error_code timer_error) {
      if (!timer_error) self->hang_up();
    });
    go_on();
  }

 private:
  void go_on() {
    while (true) {
      const auto waits = heard_ == 0 ? tls_->handshake() : Stream::Waits::kNothing;
      if (!waits) return hang_up();
      if (*waits != Stream::Waits::kNothing) return await(*waits);
      if (!peer_name_) peer_name_ = bulk_peer(*house_->keys, *tls_);
      if (!peer_name_) return hang_up();
      const auto moved = tls_->read(std::span(request_).subspan(heard_));
      if (!moved) return hang_up();
      heard_ += moved->bytes;
      if (heard_ == request_.size()) return on_request();
      if (moved->waits != Stream::Waits::kNothing) return await(moved->waits);
    }
  }

  void await(Stream::Waits what) {
    peer_.async_wait(what == Stream::Waits::kWritable ? stream_descriptor::wait_write
                                                      : stream_descriptor::wait_read,
                     [self = shared_from_this()](error_code error) {
                       if (!error) self->go_on();
                     });
  }

  void on_request() {
    const auto request = parse_bulk_request({request_.data(), request_.size()});
    if (!request || !house_->on_visitor) return hang_up();
    deadline_.cancel();
    auto stream = std::make_shared<BulkStream>();
    stream->take({base::Fd(peer_.release()), std::move(tls_)});
    house_->on_visitor({*peer_name_, *request, std::move(stream)});
  }

  void hang_up() {
    deadline_.cancel();
    error_code ignored;
    peer_.close(ignored);
  }

  stream_descriptor peer_;
  boost::asio::steady_timer deadline_;
  std::shared_ptr<const BulkHouse> house_;
  OnEnd on_end_;
  std::unique_ptr<TlsStream> tls_;
  std::optional<PeerName> peer_name_;
  std::array<char, kBulkRequestBytes> request_{};
  std::size_t heard_ = 0;
};

class BulkDoorImpl final : public BulkDoor {
 public:
  BulkDoorImpl(const boost::asio::any_io_executor& executor, std::shared_ptr<BulkHouse> house)
      : state_(std::make_shared<State>(executor, std::move(house))) {}
  BulkDoorImpl(const BulkDoorImpl&) = delete;
  BulkDoorImpl& operator=(const BulkDoorImpl&) = delete;
  ~BulkDoorImpl() override {
    state_->house->on_visitor = nullptr;
    error_code ignored;
    state_->listening.close(ignored);
    state_->retry.cancel();
  }

  base::Status start(base::Fd fd) {
    port_ = local_port(fd.get());
    error_code error;
    state_->listening.assign(fd.get(), error);
    if (error) return base::fail_errno("cannot listen", error.value());
    static_cast<void>(fd.release());
    state_->await();
    return {};
  }

  [[nodiscard]] std::uint16_t port() const override { return port_; }

 private:
  struct State : std::enable_shared_from_this<State> {
    State(const boost::asio::any_io_executor& executor, std::shared_ptr<BulkHouse> of)
        : listening(executor), retry(executor), house(std::move(of)) {}

    void await() {
      listening.async_wait(stream_descriptor::wait_read,
                           [self = shared_from_this()](error_code error) {
                             if (!error) self->accept_some();
                           });
    }

    void accept_some() {
      for (int i = 0; i < kAcceptsPerTurn && visitors < kBulkVisitorsMax; ++i) {
        base::Fd fd(
            ::accept4(listening.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!fd) return errno == EAGAIN || errno == EINTR ? await() : rest();
        ++visitors;
        std::make_shared<BulkVisit>(listening.get_executor(), house, [self = shared_from_this()] {
          if (self->visitors-- == kBulkVisitorsMax && self->listening.is_open()) self->await();
        })->begin(std::move(fd));
      }
      if (visitors < kBulkVisitorsMax) await();
    }

    // Out of descriptors or memory: others may give some back.
    void rest() {
      retry.expires_after(kAcceptRetry);
      retry.async_wait([self = shared_from_this()](error_code error) {
        if (!error && self->listening.is_open()) self->await();
      });
    }

    stream_descriptor listening;
    boost::asio::steady_timer retry;
    std::shared_ptr<BulkHouse> house;
    std::size_t visitors = 0;
  };

  std::shared_ptr<State> state_;
  std::uint16_t port_ = 0;
};

}  // namespace

base::Result<std::unique_ptr<BulkDoor>> BulkDoor::open(boost::asio::any_io_executor executor,
                                                       const std::string& address,
                                                       SharedBulkKeys keys, OnVisitor on_visitor,
                                                       std::chrono::milliseconds visit_max) {
  base::Fd fd = RR_TRY(listen_tcp(address, 0));
  auto house =
      std::make_shared<BulkHouse>(BulkHouse{std::move(keys), std::move(on_visitor), visit_max});
  auto door = std::make_unique<BulkDoorImpl>(executor, std::move(house));
  if (auto started = door->start(std::move(fd)); !started) {
    return std::unexpected(std::move(started).error());
  }
  return door;
}

}  // namespace robustrun::wire
