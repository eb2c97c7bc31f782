#include "wire/bulk/peer_call.h"

#include <fmt/core.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "wire/net/tcp.h"

namespace robustrun::wire {
namespace {

namespace asio = boost::asio;
using asio::posix::stream_descriptor;
using base::ReachFault;
using boost::system::error_code;

ReachFault fault_of(int os_errno) {
  switch (os_errno) {
    case ECONNREFUSED: return ReachFault::kRefused;
    case ETIMEDOUT: return ReachFault::kTimeout;
    case EHOSTUNREACH:
    case ENETUNREACH: return ReachFault::kNoRoute;
    default: return ReachFault::kOther;
  }
}

std::string words_of(ReachFault fault, const base::Error& error) {
  if (fault == ReachFault::kRefused) return "connection refused";
  if (fault == ReachFault::kNoRoute) return "no route";
  return error.what;
}

class Caller final : public OutgoingCall, public std::enable_shared_from_this<Caller> {
 public:
  Caller(const asio::any_io_executor& executor, const Peer& peer, std::string nonce,
         PeerPurpose purpose, std::chrono::milliseconds within, Done done)
      : socket_(executor),
        deadline_(executor),
        peer_(peer),
        nonce_(std::move(nonce)),
        purpose_(purpose),
        within_(within),
        done_(std::move(done)) {}

  void begin(base::NodeId self) {
    call_ = make_peer_call({purpose_, self, peer_.node});
    deadline_.expires_after(within_);
    deadline_.async_wait([caller = shared_from_this()](error_code error) {
      if (!error) caller->on_timeout();
    });
    if (auto begun = connect(); !begun) {
      asio::post(
          deadline_.get_executor(),
          [caller = shared_from_this(), error = std::move(begun).error()] { caller->fail(error); });
      return;
    }
    socket_.async_wait(stream_descriptor::wait_write,
                       [caller = shared_from_this()](error_code error) {
                         if (!error) caller->on_connected();
                       });
  }

  void drop() override {
    done_ = nullptr;
    deadline_.cancel();
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  base::Status connect() {
    if (peer_.port == 0 || peer_.port > std::numeric_limits<std::uint16_t>::max()) {
      return base::fail(base::Errc::kInvalidArgument, "it has no port");
    }
    const auto address =
        RR_TRY(parse_address(peer_.address, static_cast<std::uint16_t>(peer_.port)));
    base::Fd fd = RR_TRY(begin_connect(address));
    error_code error;
    socket_.assign(fd.get(), error);
    if (error) return base::fail_errno("cannot connect", error.value());
    static_cast<void>(fd.release());
    return {};
  }

  void on_connected() {
    if (!done_) return;
    if (auto connected = connect_result(socket_.native_handle()); !connected) {
      return fail(connected.error());
    }
    asio::async_write(socket_, asio::buffer(call_),
                      [caller = shared_from_this()](error_code error, std::size_t) {
                        error ? caller->on_silence(error) : caller->await_answer();
                      });
  }

  void await_answer() {
    answer_.resize(kPeerAnswerBytes);
    asio::async_read(socket_, asio::buffer(answer_),
                     [caller = shared_from_this()](error_code error, std::size_t) {
                       error ? caller->on_silence(error) : caller->on_answer();
                     });
  }

  void on_answer() {
    if (!done_) return;
    if (!is_peer_answer(nonce_, call_, answer_)) return finish_as_stranger();
    proof_ = make_peer_proof(nonce_, call_, answer_);
    asio::async_write(socket_, asio::buffer(proof_),
                      [caller = shared_from_this()](error_code error, std::size_t) {
                        error ? caller->on_silence(error) : caller->on_reached();
                      });
  }

  void on_reached() {
    if (!done_) return;
    Outcome outcome;
    outcome.reached = true;
    if (purpose_ == PeerPurpose::kExchange) outcome.connection = base::Fd(socket_.release());
    finish(std::move(outcome));
  }

  // The peer accepted the connection and closed it without an answer.
  void on_silence(error_code error) {
    if (!done_) return;
    const ReachFault fault = fault_of(error.value());
    if (fault == ReachFault::kOther) return finish_as_stranger();
    finish(unreached(fault, error.message()));
  }

  void finish_as_stranger() {
    finish(unreached(ReachFault::kStranger,
                     fmt::format("something else answers at {}", peer_.address)));
  }

  void on_timeout() {
    finish(unreached(
        ReachFault::kTimeout,
        fmt::format("timeout after {:.3g} s", std::chrono::duration<double>(within_).count())));
  }

  void fail(const base::Error& error) {
    const ReachFault fault = fault_of(error.os_errno);
    finish(unreached(fault, words_of(fault, error)));
  }

  [[nodiscard]] Outcome unreached(ReachFault fault, std::string how) const {
    Outcome outcome;
    outcome.why = {peer_.node, fault, std::move(how)};
    return outcome;
  }

  void finish(Outcome outcome) {
    const Done done = std::exchange(done_, nullptr);
    drop();
    if (done) done(std::move(outcome));
  }

  stream_descriptor socket_;
  asio::steady_timer deadline_;
  Peer peer_;
  std::string nonce_;
  PeerPurpose purpose_;
  std::chrono::milliseconds within_;
  Done done_;
  std::string call_, answer_, proof_;
};

}  // namespace

std::shared_ptr<OutgoingCall> OutgoingCall::start(asio::any_io_executor executor, const Peer& peer,
                                                  const std::string& nonce, base::NodeId self,
                                                  PeerPurpose purpose,
                                                  std::chrono::milliseconds within, Done done) {
  auto caller = std::make_shared<Caller>(executor, peer, nonce, purpose, within, std::move(done));
  caller->begin(self);
  return caller;
}

}  // namespace robustrun::wire
