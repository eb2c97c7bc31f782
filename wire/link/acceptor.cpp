#include "wire/link/acceptor.h"

#include <utility>

#include "base/io/accept_loop.h"
#include "wire/net/tcp.h"

namespace robustrun::wire {
namespace {

class TcpAcceptor final : public Acceptor {
 public:
  TcpAcceptor(std::unique_ptr<base::AcceptLoop> loop, std::uint16_t port)
      : loop_(std::move(loop)), port_(port) {}
  [[nodiscard]] std::uint16_t port() const override { return port_; }

 private:
  std::unique_ptr<base::AcceptLoop> loop_;
  std::uint16_t port_;
};

}  // namespace

base::Result<std::unique_ptr<Acceptor>> Acceptor::open(boost::asio::any_io_executor executor,
                                                       OnConnection on_connection) {
  base::Fd fd = RR_TRY(listen_tcp("", 0));
  const std::uint16_t port = local_port(fd.get());
  auto loop = RR_TRY(base::AcceptLoop::start(executor, std::move(fd), std::move(on_connection)));
  return std::make_unique<TcpAcceptor>(std::move(loop), port);
}

std::string endpoint_text(const std::string& address, std::uint16_t port) {
  const bool is_v6 = address.find(':') != std::string::npos;
  return (is_v6 ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

}  // namespace robustrun::wire
