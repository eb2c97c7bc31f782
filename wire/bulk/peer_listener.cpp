#include "wire/bulk/peer_listener.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "wire/messages/enrolment.h"
#include "wire/messages/limits.h"
#include "wire/net/bounded_listener.h"
#include "wire/net/peer_user.h"
#include "wire/tls/peer_proof.h"

namespace robustrun::wire {
namespace {

namespace asio = boost::asio;
using asio::posix::stream_descriptor;
using boost::system::error_code;

// Shared by pending connections and their listener; may outlive the listener.
struct PeerServerState {
  std::string nonce;
  base::NodeId self;
  PeerListener::OnExchange on_exchange;  // empty: the listener was destroyed
  std::chrono::milliseconds pending_time_max{};
};

// A connection whose peer has not proved itself yet: call, answer, proof. Kept alive by its pending
// waits.
class PendingPeerConnection : public std::enable_shared_from_this<PendingPeerConnection> {
 public:
  PendingPeerConnection(const asio::any_io_executor& executor,
                        std::shared_ptr<const PeerServerState> server, BoundedListener::Slot slot)
      : peer_(executor), deadline_(executor), server_(std::move(server)), slot_(std::move(slot)) {}

  void begin(base::Fd fd) {
    error_code error;
    peer_.assign(fd.get(), error);
    if (error) return;
    static_cast<void>(fd.release());
    slot_->give_up = [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->hang_up();
    };
    deadline_.expires_after(server_->pending_time_max);
    deadline_.async_wait([self = shared_from_this()](error_code timer_error) {
      if (!timer_error) self->hang_up();
    });
    call_.resize(kPeerCallBytes);
    asio::async_read(peer_, asio::buffer(call_),
                     [self = shared_from_this()](error_code read_error, std::size_t) {
                       read_error ? self->hang_up() : self->on_call();
                     });
  }

 private:
  void on_call() {
    const auto call = read_peer_call(call_);
    if (!call || call->callee != server_->self) return hang_up();
    parsed_ = *call;
    answer_ = make_peer_answer(server_->nonce, call_);
    asio::async_write(peer_, asio::buffer(answer_),
                      [self = shared_from_this()](error_code error, std::size_t) {
                        error ? self->hang_up() : self->await_proof();
                      });
  }

  void await_proof() {
    proof_.resize(kPeerProofBytes);
    asio::async_read(peer_, asio::buffer(proof_),
                     [self = shared_from_this()](error_code error, std::size_t) {
                       error ? self->hang_up() : self->on_proof();
                     });
  }

  void on_proof() {
    const bool proved = same_proof(proof_, make_peer_proof(server_->nonce, call_, answer_));
    if (proved && parsed_.purpose == PeerPurpose::kExchange && server_->on_exchange) {
      deadline_.cancel();
      server_->on_exchange(parsed_.caller, base::Fd(peer_.release()));
    } else {
      hang_up();
    }
  }

  void hang_up() {
    deadline_.cancel();
    error_code ignored;
    peer_.close(ignored);
  }

  stream_descriptor peer_;
  asio::steady_timer deadline_;
  std::shared_ptr<const PeerServerState> server_;
  BoundedListener::Slot slot_;
  PeerCall parsed_;
  std::string call_, answer_, proof_;
};

class PeerListenerImpl final : public PeerListener {
 public:
  PeerListenerImpl(std::shared_ptr<PeerServerState> server,
                   std::unique_ptr<BoundedListener> listener)
      : server_(std::move(server)), listener_(std::move(listener)) {}
  PeerListenerImpl(const PeerListenerImpl&) = delete;
  PeerListenerImpl& operator=(const PeerListenerImpl&) = delete;
  ~PeerListenerImpl() override { server_->on_exchange = nullptr; }

  [[nodiscard]] std::uint16_t port() const override { return listener_->port(); }

 private:
  std::shared_ptr<PeerServerState> server_;
  std::unique_ptr<BoundedListener> listener_;
};

}  // namespace

base::Result<std::unique_ptr<PeerListener>> PeerListener::open(
    asio::any_io_executor executor, const std::string& address, std::string nonce,
    base::NodeId self, OnExchange on_exchange, std::chrono::milliseconds pending_time_max) {
  auto server = std::make_shared<PeerServerState>(
      PeerServerState{std::move(nonce), self, std::move(on_exchange), pending_time_max});
  auto listener = RR_TRY(BoundedListener::open(
      executor, address, 0, kPeerPendingMax,
      {.on_connection =
           [executor, server](base::Fd fd, BoundedListener::Slot slot) {
             std::make_shared<PendingPeerConnection>(executor, server, std::move(slot))
                 ->begin(std::move(fd));
           },
       .on_other_user = note_other_user("tests of the network")}));
  return std::make_unique<PeerListenerImpl>(std::move(server), std::move(listener));
}

}  // namespace robustrun::wire
