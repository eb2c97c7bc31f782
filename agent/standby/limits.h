#pragma once
// Limits of templates and of lists of modules. Limits of standby workers are in
// agent/node/limits.h.

#include <chrono>
#include <cstddef>

namespace robustrun::agent {

inline constexpr std::chrono::seconds kStandbyForkMax{10};  // for one fork
// From the start of an attempt to the first fork of a standby for the next one. A fork copies large
// page tables and would disturb workers that have just started.
inline constexpr std::chrono::seconds kForkPause{1};
// For reading a small file in the cache, whose file system may hang.
inline constexpr std::chrono::seconds kImportsKnownMax{2};
inline constexpr std::size_t kScriptBytesMax = std::size_t{4} << 20;
inline constexpr std::size_t kNamedFileBytesMax = std::size_t{1} << 20;  // named by an argument
inline constexpr std::chrono::hours kImportsSpoiltFor{24 * 7};
// How long a run's first workers wait for their template. The wait costs little, because they would
// import for as long themselves. It ends because an import that hangs should hang in the workers,
// where a look finds it.
inline constexpr std::chrono::seconds kFirstStandbyWaitMax{60};

}  // namespace robustrun::agent
