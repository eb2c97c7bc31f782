#pragma once
// Limits of templates and of lists of imports; those of standby workers are in agent/node/limits.h.

#include <chrono>
#include <cstddef>

namespace robustrun::agent {

inline constexpr std::chrono::seconds kStandbyForkMax{10};  // for one of them
// After the start of an attempt. A fork copies the page tables of all that standbys have prepared:
// meanwhile the workers that have just started should load and do their first step.
inline constexpr std::chrono::seconds kForkPause{1};
// For a small file in the user's cache, which may lie on a file system that hangs.
inline constexpr std::chrono::seconds kImportsKnownMax{2};
inline constexpr std::size_t kScriptBytesMax = std::size_t{4} << 20;
inline constexpr std::size_t kNamedFileBytesMax = std::size_t{1} << 20;  // named by an argument
inline constexpr std::chrono::hours kImportsSpoiltFor{24 * 7};
// A run's first workers wait for imports that an earlier run needed, too. Interpreters of their own
// would not be faster; but if an import hangs, the workers themselves should show it.
inline constexpr std::chrono::seconds kFirstStandbyWaitMax{60};

}  // namespace robustrun::agent
