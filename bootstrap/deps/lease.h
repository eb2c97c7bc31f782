#pragma once
// Who builds a snapshot: one job at a time of all that share a cache, on whatever machine. Blocks
// as long as the cache's file system does.
//
// A lease is a file that its holder alone makes (O_EXCL) and gives a new time every kLeaseRenewal.
// No lock of the kernel: on network file systems they may reach no other machine. A lease whose
// time stands still for kLeaseStaleAfter by the observer's own clock is stale, at once if its
// holder ran on the observer's machine and is gone. Two who take over at the same moment both
// build, and the one who is done last wins: that costs time alone.

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
  std::uint64_t started = 0;  // of the process, in ticks since the machine's start
  std::string run;            // for people
  std::string token;          // of this lease alone, hex
  bool operator==(const LeaseHolder&) const = default;
};

[[nodiscard]] std::string encode_lease(const LeaseHolder& holder);
[[nodiscard]] base::Result<LeaseHolder> decode_lease(std::string_view text);  // kCorrupt

// This process, on this machine.
[[nodiscard]] LeaseHolder this_holder(std::string run, std::string token);

struct LeaseView {
  LeaseHolder holder;
  std::int64_t renewed_ns = 0;  // by the file system's clock
};

// False: somebody else has it.
[[nodiscard]] base::Result<bool> take_lease(const std::string& path, const LeaseHolder& holder);
base::Status renew_lease(const std::string& path);
// Of this holder alone.
void release_lease(const std::string& path, const LeaseHolder& holder);
// Nothing: there is none. What cannot be read has an empty holder.
[[nodiscard]] std::optional<LeaseView> look_at_lease(const std::string& path);
// Takes away the lease that was seen, and no other; the next take_lease() may succeed.
void break_lease(const std::string& path, const LeaseView& seen);

// Whether its holder was a process of this machine that is gone.
[[nodiscard]] bool is_holder_dead(const LeaseHolder& holder, const std::string& own_host);

// What one observer makes of what it sees, time after time. Pure.
class LeaseWatch {
 public:
  // True once it is stale. `now`: of any monotonic clock.
  bool look(const LeaseView& view, base::Nanos now);

 private:
  std::string token_;
  std::int64_t renewed_ns_ = 0;
  base::Nanos since_{};
  bool seen_ = false;
};

}  // namespace robustrun::bootstrap
