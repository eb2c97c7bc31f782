#pragma once
// What remote shells are told. Fixed words around checked names; nothing of the user's but the
// path of our own executable. Pure.
//
// Login shells differ (csh, fish), so each command is one `exec /bin/sh -c '...'`, which all of
// them read alike.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "launcher/push/bundle.h"

namespace robustrun::launcher {

inline constexpr std::string_view kCacheFolder = ".cache/robustrun";
// The shell is there and becomes the agent next: this word and its process id, on a line.
inline constexpr std::string_view kStartMark = "robustrun-agent-starts";
inline constexpr int kExitNotCached = 3;  // before the mark: there is no such folder
inline constexpr int kExitNotFound = 127;
inline constexpr int kExitNotExecutable = 126;

// The executable at the same path as here; nullopt where that path cannot stand in a command.
std::optional<std::string> installed_agent_command(std::string_view executable);
// The one in the cache, its hashes checked first.
std::string cached_agent_command(const PushBundle& bundle);
// Checks what has been uploaded into `folder` (a name in the cache) and puts it in place.
// `replace`: what is in place is damaged.
std::string publish_command(const PushBundle& bundle, std::string_view folder, bool replace);
std::string remove_command(std::string_view folder);
std::string kill_command(std::uint64_t pid);

// The process id from a mark's line in `output`; nullopt while there is none.
std::optional<std::uint64_t> find_start_mark(std::string_view output);

}  // namespace robustrun::launcher
