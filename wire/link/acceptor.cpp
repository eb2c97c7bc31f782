#include "wire/link/acceptor.h"

#include "wire/net/tcp.h"

namespace robustrun::wire {

base::Result<std::unique_ptr<Acceptor>> Acceptor::open(boost::asio::any_io_executor executor,
                                                       OnConnection on_connection) {
  base::Fd fd = RR_TRY(listen_tcp("", 0));
  const std::uint16_t port = local_port(fd.get());
  auto loop = RR_TRY(base::AcceptLoop::start(executor, std::move(fd), std::move(on_connection)));
  return std::unique_ptr<Acceptor>(new Acceptor(std::move(loop), port));
}

std::string endpoint_text(const std::string& address, std::uint16_t port) {
  const bool is_v6 = address.find(':') != std::string::npos;
  return (is_v6 ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

}  // namespace robustrun::wire
