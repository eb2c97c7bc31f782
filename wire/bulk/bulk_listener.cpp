#include "wire/bulk/bulk_listener.h"

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <utility>

#include "wire/bulk/keys.h"
#include "wire/net/bounded_listener.h"
#include "wire/net/peer_user.h"
#include "wire/tls/stream.h"

namespace robustrun::wire {
namespace {

using boost::asio::posix::stream_descriptor;
using boost::system::error_code;

// Shared by pending connections and their listener; may outlive the listener.
struct BulkServerState {
  SharedBulkKeys keys;
  BulkListener::OnConnection on_connection;  // empty: the listener was destroyed
  std::chrono::milliseconds pending_time_max{};
};

// A connection whose peer has not sent its request yet. Kept alive by its pending waits.
class PendingBulkConnection : public std::enable_shared_from_this<PendingBulkConnection> {
 public:
  PendingBulkConnection(const boost::asio::any_io_executor& executor,
                        std::shared_ptr<const BulkServerState> server, BoundedListener::Slot slot)
      : peer_(executor), deadline_(executor), server_(std::move(server)), slot_(std::move(slot)) {}

  void begin(base::Fd fd) {
    auto tls = TlsStream::make(server_->keys->callee, fd.get(), TlsStream::Side::kServer);
    error_code error;
    if (tls) peer_.assign(fd.get(), error);
    if (!tls || error) return;
    static_cast<void>(fd.release());
    slot_->give_up = [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->hang_up();
    };
    tls_ = *std::move(tls);
    deadline_.expires_after(server_->pending_time_max);
    deadline_.async_wait([self = shared_from_this()](error_code timer_error) {
      if (!timer_error) self->hang_up();
    });
    go_on();
  }

 private:
  void go_on() {
    while (true) {
      const auto waits = received_ == 0 ? tls_->handshake() : Stream::Waits::kNothing;
      if (!waits) return hang_up();
      if (*waits != Stream::Waits::kNothing) return await(*waits);
      if (!peer_name_) peer_name_ = bulk_peer(*server_->keys, *tls_);
      if (!peer_name_) return hang_up();
      const auto moved = tls_->read(std::span(request_).subspan(received_));
      if (!moved) return hang_up();
      received_ += moved->bytes;
      if (received_ == request_.size()) return on_request();
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
    if (!request || !server_->on_connection) return hang_up();
    deadline_.cancel();
    auto stream = std::make_shared<BulkStream>();
    stream->take({base::Fd(peer_.release()), std::move(tls_)});
    server_->on_connection({*peer_name_, *request, std::move(stream)});
  }

  void hang_up() {
    deadline_.cancel();
    error_code ignored;
    peer_.close(ignored);
  }

  stream_descriptor peer_;
  boost::asio::steady_timer deadline_;
  std::shared_ptr<const BulkServerState> server_;
  BoundedListener::Slot slot_;
  std::unique_ptr<TlsStream> tls_;
  std::optional<PeerName> peer_name_;
  std::array<char, kBulkRequestBytes> request_{};
  std::size_t received_ = 0;
};

class BulkListenerImpl final : public BulkListener {
 public:
  BulkListenerImpl(std::shared_ptr<BulkServerState> server,
                   std::unique_ptr<BoundedListener> listener)
      : server_(std::move(server)), listener_(std::move(listener)) {}
  BulkListenerImpl(const BulkListenerImpl&) = delete;
  BulkListenerImpl& operator=(const BulkListenerImpl&) = delete;
  ~BulkListenerImpl() override { server_->on_connection = nullptr; }

  [[nodiscard]] std::uint16_t port() const override { return listener_->port(); }

 private:
  std::shared_ptr<BulkServerState> server_;
  std::unique_ptr<BoundedListener> listener_;
};

}  // namespace

base::Result<std::unique_ptr<BulkListener>> BulkListener::open(
    boost::asio::any_io_executor executor, const std::string& address, SharedBulkKeys keys,
    OnConnection on_connection, std::chrono::milliseconds pending_time_max) {
  auto server = std::make_shared<BulkServerState>(
      BulkServerState{std::move(keys), std::move(on_connection), pending_time_max});
  auto listener = RR_TRY(BoundedListener::open(
      executor, address, 0, kBulkPendingMax,
      {.on_connection =
           [executor, server](base::Fd fd, BoundedListener::Slot slot) {
             std::make_shared<PendingBulkConnection>(executor, server, std::move(slot))
                 ->begin(std::move(fd));
           },
       .on_other_user = note_other_user("copies of checkpoints in memory")}));
  return std::make_unique<BulkListenerImpl>(std::move(server), std::move(listener));
}

}  // namespace robustrun::wire
