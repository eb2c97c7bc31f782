#pragma once
// Commands for remote shells: fixed words around checked names; the only user-given part is the
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
// Printed by the shell right before it becomes robustrun: this word and the process id, on a line.
inline constexpr std::string_view kStartMark = "robustrun-agent-starts";
inline constexpr int kExitNotCached = 3;  // before the mark: the folder does not exist
// Before the mark: the host has another processor, whose name is on standard error.
inline constexpr int kExitOtherProcessor = 4;
inline constexpr int kExitNoGlibc = 5;  // before the mark: the host has no kLoader
inline constexpr int kExitNotFound = 127;
inline constexpr int kExitNotExecutable = 126;

// What this build runs on, as `uname -m` prints it, and what loads it: a file of glibc.
#if defined(__aarch64__)
inline constexpr std::string_view kProcessor = "aarch64";
inline constexpr std::string_view kLoader = "/lib/ld-linux-aarch64.so.1";
#else
inline constexpr std::string_view kProcessor = "x86_64";
inline constexpr std::string_view kLoader = "/lib64/ld-linux-x86-64.so.2";
#endif

inline constexpr std::string_view kAgentArguments = "agent --stdin-credential";

// What the remote shell does after the start. Grid Engine ends the whole job when a task of it dies
// by a signal: there the shell stays, and ends by itself with the agent's exit code.
enum class ShellEnd : std::uint8_t { kBecomesAgent, kStays };

// Runs the executable at the same path as here; nullopt if that path cannot stand in a command.
// `arguments`: fixed words, which the shell splits.
std::optional<std::string> installed_command(std::string_view executable,
                                             std::string_view arguments, ShellEnd end);
// Runs the executable in the cache after checking the host's processor, its C library and
// the hashes.
std::string cached_command(const PushBundle& bundle, std::string_view arguments, ShellEnd end);
// Checks the files uploaded to `folder` (a name in the cache) and puts them in place. `replace`:
// the existing folder is damaged.
std::string publish_command(const PushBundle& bundle, std::string_view folder, bool replace);
std::string remove_command(std::string_view folder);
std::string kill_command(std::uint64_t pid);

// The process id from the mark's line in `output`; nullopt until that line is complete.
std::optional<std::uint64_t> find_start_mark(std::string_view output);

}  // namespace robustrun::launcher
