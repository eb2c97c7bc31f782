#pragma once
// Whether this kernel has what Child (child.h) needs.

namespace robustrun::base {

// pidfd_open(2) and waitid(2) with P_PIDFD: Linux 5.4, or an older kernel whose distributor added
// them.
[[nodiscard]] bool has_pidfd();

}  // namespace robustrun::base
