#include "tests/wire/channel_ends.h"

#include <netinet/in.h>

#include "wire/tls/context.h"
#include "wire/tls/identity.h"
#include "wire/tls/stream.h"

namespace robustrun::test {

using base::Fd;
using base::FdPair;
using namespace wire;

FdPair tcp_pair() {
  const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  REQUIRE(::bind(listener.get(), generic, size) == 0);
  REQUIRE(::listen(listener.get(), 1) == 0);
  REQUIRE(::getsockname(listener.get(), generic, &size) == 0);
  FdPair pair{Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), Fd()};
  REQUIRE(::connect(pair.first.get(), generic, size) == 0);
  pair.second = Fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  REQUIRE(pair.second);
  return pair;
}

void OverTls::connect(boost::asio::io_context& loop, End& left, End& right) {
  const Authority authority = Authority::make("run-1").value();
  const KeyRequest key = make_key_request().value();
  const PeerName name{.run_id = "run-1", .supervisor = false, .node = {1}, .generation = {1}};
  const Identity agent{.private_key = key.private_key,
                       .certificate = authority.sign(key.request, name).value(),
                       .authority = authority.certificate()};
  const auto server = TlsContext::server(authority.issue_supervisor().value()).value();
  const auto client = TlsContext::client(agent, {.run_id = "run-1",
                                                 .authority_fingerprint = authority.fingerprint()})
                          .value();
  FdPair sockets = tcp_pair();
  auto first = TlsStream::make(client, sockets.first.get(), TlsStream::Side::kClient).value();
  auto second = TlsStream::make(server, sockets.second.get(), TlsStream::Side::kServer).value();
  REQUIRE(base::set_nonblocking(sockets.first.get(), true));
  REQUIRE(base::set_nonblocking(sockets.second.get(), true));
  REQUIRE(wait_until([&] {
    const bool first_done = first->handshake().value() == Stream::Waits::kNothing;
    return second->handshake().value() == Stream::Waits::kNothing && first_done;
  }));
  left.open(loop, {std::move(sockets.first), std::move(first)});
  right.open(loop, {std::move(sockets.second), std::move(second)});
}

}  // namespace robustrun::test
