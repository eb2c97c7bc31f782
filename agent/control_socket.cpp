#include "agent/control_socket.h"

#include <fmt/core.h>

#include <utility>

#include "agent/limits.h"
#include "base/io/request_socket.h"

namespace robustrun::agent {
namespace {

class ControlSocketImpl final : public ControlSocket {
 public:
  explicit ControlSocketImpl(ControlState state) : state_(std::move(state)) {}

  base::Status serve(const boost::asio::any_io_executor& executor, const std::string& path) {
    base::RequestSocket::Handlers handlers;
    handlers.on_message = [this](std::string_view message,
                                 const base::RequestSocket::Reply& reply) {
      reply(answer_control_message(message, state_), nullptr);
    };
    handlers.too_long =
        control_error(fmt::format("a message has at most {} bytes", kControlMessageBytesMax));
    socket_ = RR_TRY(base::RequestSocket::open(
        executor, path, {kControlMessageBytesMax, kControlConnectionsMax, kControlMessageTime},
        std::move(handlers)));
    return {};
  }

  void set_stop(wire::StopReason reason, base::Nanos deadline) override {
    state_.stop_reason = reason;
    state_.stop_deadline = deadline;
  }

 private:
  ControlState state_;
  std::unique_ptr<base::RequestSocket> socket_;
};

}  // namespace

base::Result<std::unique_ptr<ControlSocket>> ControlSocket::open(
    boost::asio::any_io_executor executor, const std::string& path, ControlState state) {
  auto socket = std::make_unique<ControlSocketImpl>(std::move(state));
  RR_TRY(socket->serve(executor, path));
  return socket;
}

}  // namespace robustrun::agent
