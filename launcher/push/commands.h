#pragma once
// Commands for remote shells: fixed words around checked names. Only the path of our own executable
// comes from the user. Pure.
//
// Login shells differ (csh, fish), so each command is one `exec /bin/sh -c '...'`, which all of
// them understand in the same way.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "launcher/push/bundle.h"

namespace robustrun::launcher {

inline constexpr std::string_view kCacheFolder = ".cache/robustrun";
// The shell prints this word and its process id, on one line, right before it becomes robustrun.
inline constexpr std::string_view kStartMark = "robustrun-agent-starts";
inline constexpr int kExitNotCached = 3;  // before the mark: the bundle's folder does not exist
// Before the mark: the host has another processor, whose name is on standard error.
inline constexpr int kExitOtherProcessor = 4;
inline constexpr int kExitNoGlibc = 5;  // before the mark: the host has no kLoader
inline constexpr int kExitNotFound = 127;
inline constexpr int kExitNotExecutable = 126;

// The processor that this build runs on, as `uname -m` prints it, and the dynamic loader that it
// needs, a file of glibc.
#if defined(__aarch64__)
inline constexpr std::string_view kProcessor = "aarch64";
inline constexpr std::string_view kLoader = "/lib/ld-linux-aarch64.so.1";
#else
inline constexpr std::string_view kProcessor = "x86_64";
inline constexpr std::string_view kLoader = "/lib64/ld-linux-x86-64.so.2";
#endif

inline constexpr std::string_view kAgentArguments = "agent --stdin-credential";

// What the remote shell does after the start. kStays is for Grid Engine, which ends the whole job
// when one of its tasks dies by a signal: the shell stays above the agent and exits with the
// agent's exit code.
enum class ShellEnd : std::uint8_t { kBecomesAgent, kStays };

// Runs the executable at the same path as here. nullopt: the path has characters that cannot be
// quoted. `arguments`: fixed words, which the shell splits.
std::optional<std::string> installed_command(std::string_view executable,
                                             std::string_view arguments, ShellEnd end);
// Runs the executable in the cache, after checks of the host's processor, its C library and the
// files' hashes.
std::string cached_command(const PushBundle& bundle, std::string_view arguments, ShellEnd end);
// Checks the files uploaded to `folder` (a name in the cache) and puts them in place. `replace`: an
// existing folder of this bundle is damaged.
std::string publish_command(const PushBundle& bundle, std::string_view folder, bool replace);
std::string remove_command(std::string_view folder);
std::string kill_command(std::uint64_t pid);

// The process id from the mark's line in `output`; nullopt until that line is complete.
std::optional<std::uint64_t> find_start_mark(std::string_view output);

}  // namespace robustrun::launcher
