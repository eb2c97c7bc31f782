#include "wire/bulk/peer_door.h"

#include <sys/socket.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <utility>

#include "wire/messages/enrolment.h"
#include "wire/messages/limits.h"
#include "wire/net/tcp.h"
#include "wire/tls/peer_proof.h"

namespace robustrun::wire {
namespace {

namespace asio = boost::asio;
using asio::posix::stream_descriptor;
using boost::system::error_code;

struct PeerHouse {
  std::string nonce;
  base::NodeId self;
  PeerDoor::OnExchange on_exchange;
  std::chrono::milliseconds visit_max{};
};

// One who calls: call, answer, proof. Lives as long as one of its waits.
class PeerVisit : public std::enable_shared_from_this<PeerVisit> {
 public:
  using OnEnd = std::function<void()>;

  PeerVisit(const asio::any_io_executor& executor, std::shared_ptr<const PeerHouse> house,
            OnEnd on_end)
      : peer_(executor),
        deadline_(executor),
        house_(std::move(house)),
        on_end_(std::move(on_end)) {}
  ~PeerVisit() { on_end_(); }
  PeerVisit(const PeerVisit&) = delete;
  PeerVisit& operator=(const PeerVisit&) = delete;

  void begin(base::Fd fd) {
    error_code error;
    peer_.assign(fd.get(), error);
    if (error) return;
    static_cast<void>(fd.release());
    deadline_.expires_after(house_->visit_max);
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
    if (!call || call->callee != house_->self) return hang_up();
    who_ = *call;
    answer_ = make_peer_answer(house_->nonce, call_);
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
    const bool proved = same_proof(proof_, make_peer_proof(house_->nonce, call_, answer_));
    if (proved && who_.purpose == PeerPurpose::kExchange && house_->on_exchange) {
      deadline_.cancel();
      house_->on_exchange(who_.caller, base::Fd(peer_.release()));
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
  std::shared_ptr<const PeerHouse> house_;
  OnEnd on_end_;
  PeerCall who_;
  std::string call_, answer_, proof_;
};

class PeerDoorImpl final : public PeerDoor {
 public:
  PeerDoorImpl(const asio::any_io_executor& executor, std::shared_ptr<PeerHouse> house)
      : state_(std::make_shared<State>(executor, std::move(house))) {}
  ~PeerDoorImpl() override {
    state_->house->on_exchange = nullptr;
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
    State(const asio::any_io_executor& executor, std::shared_ptr<PeerHouse> of)
        : listening(executor), retry(executor), house(std::move(of)) {}

    void await() {
      listening.async_wait(stream_descriptor::wait_read,
                           [self = shared_from_this()](error_code error) {
                             if (!error) self->accept_some();
                           });
    }

    void accept_some() {
      for (int i = 0; i < kAcceptsPerTurn && visitors < kPeerVisitorsMax; ++i) {
        base::Fd fd(
            ::accept4(listening.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!fd) return errno == EAGAIN || errno == EINTR ? await() : rest();
        ++visitors;
        std::make_shared<PeerVisit>(listening.get_executor(), house, [self = shared_from_this()] {
          if (self->visitors-- == kPeerVisitorsMax && self->listening.is_open()) self->await();
        })->begin(std::move(fd));
      }
      if (visitors < kPeerVisitorsMax) await();
    }

    // Out of descriptors or memory: others may give some back.
    void rest() {
      retry.expires_after(kAcceptRetry);
      retry.async_wait([self = shared_from_this()](error_code error) {
        if (!error && self->listening.is_open()) self->await();
      });
    }

    stream_descriptor listening;
    asio::steady_timer retry;
    std::shared_ptr<PeerHouse> house;
    std::size_t visitors = 0;
  };

  std::shared_ptr<State> state_;
  std::uint16_t port_ = 0;
};

}  // namespace

base::Result<std::unique_ptr<PeerDoor>> PeerDoor::open(asio::any_io_executor executor,
                                                       const std::string& address,
                                                       std::string nonce, base::NodeId self,
                                                       OnExchange on_exchange,
                                                       std::chrono::milliseconds visit_max) {
  base::Fd fd = RR_TRY(listen_tcp(address, 0));
  auto house = std::make_shared<PeerHouse>(
      PeerHouse{std::move(nonce), self, std::move(on_exchange), visit_max});
  auto door = std::make_unique<PeerDoorImpl>(executor, std::move(house));
  if (auto started = door->start(std::move(fd)); !started) {
    return std::unexpected(std::move(started).error());
  }
  return door;
}

}  // namespace robustrun::wire
