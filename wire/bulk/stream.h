#pragma once
// Bulk data between agents: a connection of its own, TLS 1.3, both sides with a certificate of the
// run (docs/formats/bulk.md).
//
// Every call blocks, so streams are used on threads of a pool, one thread at a time. A wait ends
// after kBulkSilenceMax without a byte sent or received, at the deadline, or by hang_up() from
// another thread. connect() waits at most kConnectMax for TCP and kHandshakeMax for TLS.

#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "wire/tls/identity.h"

namespace robustrun::wire {

// Our identity, prepared once for many connections; usable from any thread.
struct BulkKeys;
using SharedBulkKeys = std::shared_ptr<const BulkKeys>;
[[nodiscard]] base::Result<SharedBulkKeys> make_bulk_keys(const std::string& run_id,
                                                          const Identity& identity);

struct Connection;

class BulkStream {
 public:
  BulkStream();
  ~BulkStream();
  BulkStream(const BulkStream&) = delete;
  BulkStream& operator=(const BulkStream&) = delete;

  // Connects as a caller. kPermission: something other than `peer` answers at `endpoint`.
  base::Status connect(const BulkKeys& keys, const std::string& endpoint, const PeerName& peer);
  // Becomes the callee's side of a connection whose handshake is done (bulk_listener.h).
  void take(Connection connection);

  // Both move all the bytes, or return kUnavailable (the peer is gone, or hang_up()), kOs (the
  // connection broke), kPermission (the peer rejects our certificate), kTimeout (silence or the
  // deadline) or kProtocol (not TLS).
  base::Status send(std::string_view bytes);
  base::Status receive(std::span<char> room);
  // Tells the peer that no more bytes follow and waits, at most kCloseLinger, until the peer has
  // closed its side too.
  void finish();
  // Sleeps for `time`. kUnavailable: hang_up() ended the sleep; kTimeout: the deadline did.
  base::Status rest(base::Nanos time);
  // Sets the deadline of all later calls, by base::SystemClock. Initially there is no deadline.
  void set_deadline(base::Nanos until) { until_ = until; }

  // For a caller that polls between calls; -1: not connected. Check has_input() first: bytes that
  // TLS has already read do not make the descriptor readable.
  [[nodiscard]] int descriptor() const;
  [[nodiscard]] bool has_input() const;

  // From any thread: a call that waits on this stream soon returns kUnavailable.
  void hang_up() { hung_up_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool is_hung_up() const { return hung_up_.load(std::memory_order_relaxed); }

 private:
  // `events`: as for poll(); 0: only waits for the time.
  base::Status await(int fd, short events, base::Nanos until);
  base::Status await_peer(short events);

  base::SystemClock clock_;
  std::unique_ptr<Connection> connection_;
  base::Nanos until_ = base::Nanos::max();
  std::atomic<bool> hung_up_ = false;
};

}  // namespace robustrun::wire
