#include "launcher/push/commands.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"
#include "launcher/push/sftp.h"

namespace robustrun::launcher {
namespace {

// Whether `path` may stand between double quotes within single quotes.
bool fits_quotes(std::string_view path) {
  return path.starts_with('/') && std::ranges::all_of(path, [](char c) {
           return c >= ' ' && c != 127 &&
                  std::string_view("'\"`$\\!").find(c) == std::string_view::npos;
         });
}

std::string in_shell(const std::string& text) { return "exec /bin/sh -c '" + text + "'"; }

std::string check_hashes(const PushBundle& bundle) {
  const std::string manifest(kManifestName);
  return "echo \"" + bundle.manifest_hash + "  " + manifest +
         "\" | sha256sum -c >/dev/null && sha256sum -c " + manifest + " >/dev/null";
}

// `program` fits_quotes(), `arguments` are fixed words. The warnings of Grid Engine are ignored by
// the agent, too.
std::string become(std::string_view program, std::string_view arguments, ShellEnd end) {
  if (end == ShellEnd::kStays) {
    return fmt::format(
        "trap \"\" USR1 USR2; /bin/sh -c \"echo {} \\$\\$; exec \\\"{}\\\" {}\"; exit $?",
        kStartMark, program, arguments);
  }
  return fmt::format("echo {} $$; exec \"{}\" {}", kStartMark, program, arguments);
}

}  // namespace

std::optional<std::string> installed_command(std::string_view executable,
                                             std::string_view arguments, ShellEnd end) {
  if (!fits_quotes(executable)) return std::nullopt;
  return in_shell(fmt::format("test -x \"{}\" || exit {}; {}", executable, kExitNotFound,
                              become(executable, arguments, end)));
}

std::string cached_command(const PushBundle& bundle, std::string_view arguments, ShellEnd end) {
  const std::string folder = std::string(kCacheFolder) + "/" + bundle.name;
  return in_shell("test \"$(uname -m)\" = " + std::string(kProcessor) +
                  " || { uname -m >&2; exit " + std::to_string(kExitOtherProcessor) +
                  "; }; test -e " + std::string(kLoader) + " || exit " +
                  std::to_string(kExitNoGlibc) + "; test -d " + folder + " || exit " +
                  std::to_string(kExitNotCached) + "; cd " + folder + " && " +
                  check_hashes(bundle) + " && cd ../../.. || exit 1; " +
                  become(folder + "/" + bundle.files.front().name, arguments, end));
}

std::string publish_command(const PushBundle& bundle, std::string_view folder, bool replace) {
  const std::string from(folder);
  const std::string old = from + ".old";
  std::string text = "cd " + std::string(kCacheFolder) + "/" + from + " && " +
                     check_hashes(bundle) + " && cd .. || exit 1; ";
  if (replace) text += "mv -T " + bundle.name + " " + old + "; ";
  // If another push was faster the folder exists, and the agent's start checks it.
  text += "mv -T " + from + " " + bundle.name + " || test -d " + bundle.name +
          "; code=$?; rm -rf " + from + " " + old + "; exit $code";
  return in_shell(text);
}

std::string remove_command(std::string_view folder) {
  return in_shell("rm -rf " + std::string(kCacheFolder) + "/" + std::string(folder));
}

std::string kill_command(std::uint64_t pid) {
  return in_shell("kill -KILL " + std::to_string(pid));
}

std::optional<std::uint64_t> find_start_mark(std::string_view output) {
  const std::size_t at = output.find(kStartMark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = output.substr(at + kStartMark.size());
  const std::size_t end = rest.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const auto pid = base::parse_int<std::uint32_t>(base::trim(rest.substr(0, end)));
  return pid ? std::optional<std::uint64_t>(*pid) : std::nullopt;
}

}  // namespace robustrun::launcher
