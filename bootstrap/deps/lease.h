#pragma once
// A lease for building a snapshot: of all jobs on all machines that share a cache, one builds at a
// time. Blocks as long as the cache's file system does.
//
// A lease is a file that its holder creates exclusively (O_EXCL) and to which it gives a new
// modification time every kLeaseRenewal. Kernel locks are not used, because on network file systems
// they may not reach other machines. A lease is stale if its time has not changed for
// kLeaseStaleAfter by the observer's own clock, or at once if its holder ran on the observer's
// machine and is dead. If two jobs take over at the same moment, both build, and the result of the
// last one is used; this only costs time.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/core/result.h"

namespace robustrun::bootstrap {

struct LeaseHolder {
  std::string host;
  std::int64_t pid = 0;
  std::uint64_t started = 0;  // start of the process, in clock ticks since boot; 0: unknown
  std::string run;  // only for display
  std::string token;  // unique to this lease, hex
  bool operator==(const LeaseHolder&) const = default;
};

[[nodiscard]] std::string encode_lease(const LeaseHolder& holder);
// kCorrupt, kInvalidArgument: `text` is not what encode_lease() writes.
[[nodiscard]] base::Result<LeaseHolder> decode_lease(std::string_view text);

// Describes this process as a holder.
[[nodiscard]] LeaseHolder this_holder(std::string run, std::string token);

// A lease as a process sees it.
struct LeaseView {
  LeaseHolder holder;
  std::int64_t renewed_ns = 0;  // by the file system's clock
};

// Creates the lease. Returns false if another process has it.
[[nodiscard]] base::Result<bool> take_lease(const std::string& path, const LeaseHolder& holder);
base::Status renew_lease(const std::string& path);
// Removes the lease if `holder` has it.
void release_lease(const std::string& path, const LeaseHolder& holder);
// nullopt: there is no lease. An unreadable lease has an empty holder.
[[nodiscard]] std::optional<LeaseView> look_at_lease(const std::string& path);
// Removes a stale lease, unless its holder has changed since `seen`.
void break_lease(const std::string& path, const LeaseView& seen);

// Whether the holder was a process of this machine, `own_host`, and is dead.
[[nodiscard]] bool is_holder_dead(const LeaseHolder& holder, const std::string& own_host);

// Detects stale leases from repeated observations. Pure.
class LeaseWatch {
 public:
  // Returns true once the lease is stale. `now`: from any monotonic clock.
  bool look(const LeaseView& view, base::Nanos now);

 private:
  std::string token_;
  std::int64_t renewed_ns_ = 0;
  base::Nanos since_{};
  bool seen_ = false;
};

}  // namespace robustrun::bootstrap
