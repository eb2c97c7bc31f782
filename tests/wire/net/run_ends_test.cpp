#include "tests/wire/run_ends.h"

#include "wire/net/tcp.h"

namespace robustrun::test {

base::Fd tcp_to(std::uint16_t port, const std::string& source) {
  const auto address = wire::parse_address("127.0.0.1", port).value();
  const auto from = wire::parse_address(source, 0).value();
  base::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&from.storage), from.size) == 0);
  REQUIRE(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.size) ==
          0);
  return fd;
}

wire::Identity identity_of(const wire::Authority& authority, const wire::PeerName& name) {
  const wire::KeyRequest key = wire::make_key_request().value();
  return {.private_key = key.private_key,
          .certificate = authority.sign(key.request, name).value(),
          .authority = authority.certificate()};
}

wire::TlsContext Stranger::context(const std::optional<wire::Identity>& identity) {
  return wire::TlsContext::client(identity, {.run_id = {}, .authority_fingerprint = {}}).value();
}

Stranger::Stranger(boost::asio::io_context& loop, std::uint16_t port,
                   const wire::TlsContext& context) {
  base::Fd fd = tcp_to(port);
  REQUIRE(base::set_nonblocking(fd.get(), true));
  auto stream = wire::TlsStream::make(context, fd.get(), wire::TlsStream::Side::kClient).value();
  tls = stream.get();
  end.open(loop, {std::move(fd), std::move(stream)});
}

bool refused(Server& server, std::uint64_t count) {
  return run_until(server.loop, [&] { return server.listener->counters().refused == count; });
}

void check_still_admits(Server& server) {
  Caller caller(server.loop, server.credential());
  CHECK(caller.call());
}

bool is_closed(const base::Fd& fd) {
  char byte = 0;
  const auto size = ::recv(fd.get(), &byte, 1, MSG_DONTWAIT);
  return size == 0 || (size < 0 && errno != EAGAIN);
}

}  // namespace robustrun::test
