#pragma once
// MUNGE credentials prove that two processes on different hosts belong to the same user, on sites
// that run munged (munge(7)). libmunge is loaded when it is used; no binary links to it.
//
// Asking the local munged, over its socket, may take milliseconds.

#include <string>

#include "base/core/result.h"

namespace robustrun::base {

// Whether munged's socket exists (at MUNGE's default path).
[[nodiscard]] bool munge_is_here();
// Makes a credential that carries `payload`. kUnavailable: libmunge is missing, or munged does not
// answer.
[[nodiscard]] Result<std::string> munge_encode(const std::string& payload);
// kPermission unless `credential` was made by this user, recently, for this payload, and is used
// for the first time; kUnavailable: libmunge is missing.
[[nodiscard]] Status munge_check(const std::string& credential, const std::string& payload);

}  // namespace robustrun::base
