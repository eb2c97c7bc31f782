#pragma once
// MUNGE credentials: that two processes on different hosts belong to the same user, where the site
// runs munged (munge(7)). libmunge is loaded when it is first needed, so that nothing depends on
// it.
//
// Each call talks to the local munged over its socket and may take milliseconds.

#include <string>

#include "base/core/result.h"

namespace robustrun::base {

// Whether munged's socket is there (MUNGE's default path).
[[nodiscard]] bool munge_is_here();
// A credential that carries `payload`. kUnavailable: no libmunge or no munged, in words.
[[nodiscard]] Result<std::string> munge_encode(const std::string& payload);
// kPermission unless `credential` was made by our own user, lately, once, with this payload.
[[nodiscard]] Status munge_check(const std::string& credential, const std::string& payload);

}  // namespace robustrun::base
