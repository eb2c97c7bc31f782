#include "launcher/ssh/answer.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "base/io/tool.h"
#include "launcher/hosts/host_pattern.h"
#include "launcher/hosts/limits.h"
#include "launcher/limits.h"
#include "launcher/openssh/words.h"

namespace robustrun::launcher {
namespace {

using base::Errc;
using base::fail;

// What a verbose client prints first, and for each file it reads.
constexpr std::string_view kBanner = "OpenSSH_";
constexpr std::string_view kReads = "debug1: Reading configuration data ";
constexpr std::size_t kPathShownMax = 200;  // the client cuts longer ones
constexpr std::size_t kErrorShownMax = 300;

bool has(std::string_view text, std::string_view piece) {
  return text.find(piece) != std::string_view::npos;
}

bool is_binary(const std::string& program) {
  std::ifstream file(program, std::ios::binary);
  char head[4] = {};
  return file.read(head, sizeof head) && std::string_view(head, sizeof head) ==
                                             "\x7f"
                                             "ELF";
}

bool leaves_names_alone(const std::vector<std::string>& client) {
  return is_binary(client.front()) &&
         std::none_of(client.begin() + 1, client.end(), [](const std::string& word) {
           return has(word, "%") || has(lower(word), "hostname");
         });
}

// The files that the client has read; nullopt if it does not list them completely.
std::optional<std::vector<std::string>> files_read(std::string_view verbose) {
  std::vector<std::string> files;
  bool complete = false;
  if (verbose.size() >= base::kToolErrorBytesMax) return std::nullopt;
  for (std::string_view line : base::split(verbose, '\n')) {
    line = base::trim(line);
    complete |= line.starts_with(kBanner);
    if (!line.starts_with(kReads)) continue;
    const std::string path(line.substr(kReads.size()));
    if (path.size() >= kPathShownMax) return std::nullopt;
    if (path != "/dev/null" && std::ranges::find(files, path) == files.end()) {
      files.push_back(path);
    }
  }
  if (!complete || files.size() > kSshConfigFilesMax) return std::nullopt;
  return files;
}

std::optional<SshConfigScope> read_scope(std::string_view verbose) {
  const auto files = files_read(verbose);
  if (!files) return std::nullopt;
  std::vector<std::string> texts;
  for (const std::string& path : *files) {
    std::error_code ignored;
    // Reading any other kind of file may have consumed its content.
    if (!std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
    auto text = base::read_file(path, kSshConfigBytesMax);
    if (!text) return std::nullopt;
    texts.push_back(*std::move(text));
  }
  return SshConfigScope::of(texts);
}

}  // namespace

std::optional<std::string> SshAnswer::text_for(const Host& host) const {
  if (host.user != asked.user || host.port != asked.port) return std::nullopt;
  if (host.name == asked.name) return text;
  if (!scope || !scope->alike(asked.name, host.name)) return std::nullopt;
  std::string out;
  bool is_named = false;
  bool is_canonical = false;  // names are not looked up
  for (const std::string_view line : base::split(text, '\n')) {
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string keyword = lower(line.substr(0, space));
    const std::string_view value = base::trim(line.substr(space));
    if (keyword == "host" || keyword == "hostname") {
      if (value != asked.name) return std::nullopt;
      is_named |= keyword == "hostname";
      out += keyword + ' ' + host.name + '\n';
      continue;
    }
    if (keyword == "canonicalizehostname") is_canonical = value == "false" || value == "no";
    if (keyword == "canonicalizepermittedcnames" && value != "none") return std::nullopt;
    // ControlPath is not used here, and often contains the name.
    if (keyword != "controlpath" && (has(line, asked.name) || has(line, host.name))) {
      return std::nullopt;
    }
    out += line;
    out += '\n';
  }
  if (!is_named || !is_canonical) return std::nullopt;
  return out;
}

base::Result<SshAnswer> ask_ssh(const std::vector<std::string>& client, const Host& host) {
  RR_ASSERT(!client.empty());
  std::vector<std::string> argv = client;
  argv.insert(argv.end(), {"-v", "-G"});
  if (!host.user.empty()) argv.insert(argv.end(), {"-l", host.user});
  if (host.port != 0) argv.insert(argv.end(), {"-p", std::to_string(host.port)});
  argv.insert(argv.end(), {"--", host.name});
  auto result = base::run_tool(argv, kSshClientWait);
  if (!result) return std::unexpected(std::move(result).error());
  if (!result->status.success()) {
    OpenSshErrors errors;
    errors.add(result->err);
    errors.finish();
    return fail(Errc::kInvalidArgument,
                "cannot read the ssh configuration for " + host.name + ": " + argv.front() + ": " +
                    base::printable(base::trim(errors.head()).substr(0, kErrorShownMax)));
  }
  SshAnswer answer{host, std::move(result->out), std::nullopt};
  if (is_plain_host_name(host.name) && leaves_names_alone(client)) {
    answer.scope = read_scope(result->err);
  }
  return answer;
}

}  // namespace robustrun::launcher
