#pragma once
// Bulk data between agents: a connection of its own, TLS 1.3, both sides with a certificate of the
// run (docs/formats/bulk.md).
//
// Everything here blocks, for a thread of a pool, and has an end: a peer that moves no byte for
// kBulkSilenceMax, a deadline, or hang_up() from another thread. One thread uses a stream at a
// time. Back-pressure is TCP's.

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

// Our identity, prepared for many connections, by any thread.
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

  // As a caller, who has to be answered by exactly `peer`: kPermission when somebody else is there.
  base::Status connect(const BulkKeys& keys, const std::string& endpoint, const PeerName& peer);
  // As a callee, with a connection that has shaken hands (bulk_listener.h).
  void take(Connection connection);

  // All of it, or an error: kUnavailable (the peer is gone, or hang_up()), kOs (the connection
  // broke), kTimeout, kProtocol.
  base::Status send(std::string_view bytes);
  base::Status receive(std::span<char> room);
  // Says that nothing follows and waits, for kCloseLinger at most, until the peer has it all.
  void finish();
  // Does nothing for so long.
  base::Status rest(base::Nanos time);
  // For all that follows; none before.
  void set_deadline(base::Nanos until) { until_ = until; }

  // To be told by somebody else when there is something to receive; -1: not connected. Look at
  // has_input() first: what TLS has read already shows nowhere else. Between other calls alone.
  [[nodiscard]] int descriptor() const;
  [[nodiscard]] bool has_input() const;

  // From any thread: whoever waits for this stream stops soon.
  void hang_up() { hung_up_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool is_hung_up() const { return hung_up_.load(std::memory_order_relaxed); }

 private:
  // `events`: of poll(); 0: the time alone.
  base::Status await(int fd, short events, base::Nanos until);
  base::Status await_peer(short events);

  base::SystemClock clock_;
  std::unique_ptr<Connection> connection_;
  base::Nanos until_ = base::Nanos::max();
  std::atomic<bool> hung_up_ = false;
};

}  // namespace robustrun::wire
