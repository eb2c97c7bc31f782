#include "wire/bulk/stream.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "wire/bulk/keys.h"
#include "wire/messages/limits.h"
#include "wire/net/tcp.h"

namespace robustrun::wire {

using base::Errc;
using base::fail;
using base::Nanos;
using base::Status;
using Waits = Stream::Waits;

base::Result<SharedBulkKeys> make_bulk_keys(const std::string& run_id, const Identity& identity) {
  TlsContext caller = RR_TRY(TlsContext::peer(identity));
  TlsContext callee = RR_TRY(TlsContext::server(identity));
  for (const TlsContext* context : {&caller, &callee}) {
    SSL_CTX_set_default_read_buffer_len(context->get(), kReadBytes);
  }
  return std::make_shared<const BulkKeys>(BulkKeys{run_id, std::move(caller), std::move(callee)});
}

std::optional<PeerName> bulk_peer(const BulkKeys& keys, const TlsStream& tls) {
  const auto uri = tls.peer_uri();
  auto name = uri ? parse_uri(*uri) : std::nullopt;
  if (!name || name->supervisor || name->run_id != keys.run_id) return std::nullopt;
  return name;
}

BulkStream::BulkStream() = default;
BulkStream::~BulkStream() = default;

void BulkStream::take(Connection connection) {
  RR_ASSERT(!connection_);
  connection_ = std::make_unique<Connection>(std::move(connection));
}

Status BulkStream::await(int fd, short events, Nanos until) {
  while (true) {
    if (is_hung_up()) return fail(Errc::kUnavailable, "the transfer was cancelled");
    const Nanos now = clock_.now();
    if (now >= until) return fail(Errc::kTimeout, "the peer is too slow");
    // In slices, because hang_up() does not wake a waiting thread.
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now);
    pollfd look{fd, events, 0};
    const int ready = ::poll(&look, events != 0 ? 1 : 0,
                             static_cast<int>(std::min(left, kBulkLookEvery).count()));
    if (ready < 0 && errno != EINTR) return base::fail_errno("cannot wait for a peer", errno);
    if (ready > 0) return {};
  }
}

Status BulkStream::await_peer(short events) {
  return await(connection_->fd.get(), events,
               std::min(until_, clock_.now() + Nanos(kBulkSilenceMax)));
}

Status BulkStream::connect(const BulkKeys& keys, const std::string& endpoint,
                           const PeerName& peer) {
  Connection made;
  const TcpAddress address = RR_TRY(parse_endpoint(endpoint));
  made.fd = RR_TRY(begin_connect(address));
  RR_TRY(await(made.fd.get(), POLLOUT, std::min(until_, clock_.now() + Nanos(kConnectMax))));
  RR_TRY(connect_result(made.fd.get()));
  auto tls = RR_TRY(TlsStream::make(keys.caller, made.fd.get(), TlsStream::Side::kClient));
  const Nanos until = std::min(until_, clock_.now() + Nanos(kHandshakeMax));
  while (true) {
    const Waits waits = RR_TRY(tls->handshake());
    if (waits == Waits::kNothing) break;
    RR_TRY(await(made.fd.get(), waits == Waits::kWritable ? POLLOUT : POLLIN, until));
  }
  const auto name = bulk_peer(keys, *tls);
  if (!name || *name != peer) {
    return fail(Errc::kPermission, fmt::format("something other than node {} answers at {}",
                                               peer.node.value, endpoint));
  }
  made.stream = std::move(tls);
  take(std::move(made));
  return {};
}

Status BulkStream::send(std::string_view bytes) {
  RR_ASSERT(connection_);
  while (!bytes.empty()) {
    if (is_hung_up() || clock_.now() >= until_) RR_TRY(await(-1, 0, until_));
    const Stream::Moved moved = RR_TRY(connection_->stream->write(bytes));
    bytes.remove_prefix(moved.bytes);
    if (moved.waits == Waits::kNothing) continue;
    RR_TRY(await_peer(moved.waits == Waits::kReadable ? POLLIN : POLLOUT));
  }
  return {};
}

Status BulkStream::receive(std::span<char> room) {
  RR_ASSERT(connection_);
  while (!room.empty()) {
    if (is_hung_up() || clock_.now() >= until_) RR_TRY(await(-1, 0, until_));
    const Stream::Moved moved =
        RR_TRY(connection_->stream->read(room.first(std::min(room.size(), kReadTurnBytes))));
    room = room.subspan(moved.bytes);
    if (moved.bytes > 0 || moved.waits == Waits::kNothing) continue;
    RR_TRY(await_peer(moved.waits == Waits::kWritable ? POLLOUT : POLLIN));
  }
  return {};
}

int BulkStream::descriptor() const { return connection_ ? connection_->fd.get() : -1; }

bool BulkStream::has_input() const { return connection_ && connection_->stream->has_input(); }

void BulkStream::finish() {
  RR_ASSERT(connection_);
  if (!connection_->stream->finish()) return;
  const Nanos until = std::min(until_, clock_.now() + Nanos(kCloseLinger));
  while (!discard_input(connection_->fd.get())) {
    if (!await(connection_->fd.get(), POLLIN, until)) return;
  }
}

Status BulkStream::rest(Nanos time) {
  if (time <= Nanos{}) return {};
  const Nanos until = clock_.now() + time;
  const Status waited = await(-1, 0, std::min(until, until_));
  if (!waited && waited.error().code == Errc::kTimeout && until < until_) return {};
  return waited;
}

}  // namespace robustrun::wire
