// The client's messages are not translated and have hardly changed in twenty years; unrecognised
// ones are passed on unchanged.

#include "launcher/openssh/words.h"

#include <algorithm>

#include "base/core/text.h"
#include "launcher/limits.h"

namespace robustrun::launcher {
namespace {

constexpr std::size_t kWordsBytesMax = 400;
constexpr std::size_t kWordsLinesMax = 3;

struct Row {
  std::string_view piece;
  SshTrouble trouble;
  std::string_view advice;  // appended to the client's own line
};

// The first matching row counts, so rarer and more telling messages come first.
constexpr Row kRows[] = {
    {"REMOTE HOST IDENTIFICATION HAS CHANGED", SshTrouble::kHostKey,
     "its host key has changed; if you know that the host was installed anew, remove the old key "
     "with 'ssh-keygen -R'"},
    {"Host key verification failed", SshTrouble::kHostKey,
     "its host key is not known; compare its fingerprint with the host's own, then take it into "
     "known_hosts with one 'ssh' to that host by hand"},
    {"no matching host key type found", SshTrouble::kHostKey,
     "it has no host key of a type that 'ssh' accepts; see HostKeyAlgorithms in ssh_config(5)"},
    {"Too many authentication failures", SshTrouble::kLogin,
     "too many keys were tried; name the right one as IdentityFile with IdentitiesOnly"},
    {"Permission denied (", SshTrouble::kLogin,
     "the server accepts no key of ours; 'ssh' to that host must work without a question"},
    {"Could not resolve hostname", SshTrouble::kLookUp, ""},
    {"kex_exchange_identification", SshTrouble::kDropped, ""},
    {"Exceeded MaxStartups", SshTrouble::kDropped, ""},
    {"Connection reset by", SshTrouble::kDropped, ""},
    {"Connection closed by", SshTrouble::kDropped, ""},
    {"Connection refused", SshTrouble::kUnreachable, ""},
    {"No route to host", SshTrouble::kUnreachable, ""},
    {"Network is unreachable", SshTrouble::kUnreachable, ""},
    {"Connection timed out", SshTrouble::kUnreachable, ""},
    {"Operation timed out", SshTrouble::kUnreachable, ""},
    {"timed out", SshTrouble::kUnreachable, ""},
    {"Broken pipe", SshTrouble::kLost, ""},
    {"Timeout, server", SshTrouble::kLost, ""},
    {"Unable to negotiate", SshTrouble::kOther, ""},
    {"Bad configuration option", SshTrouble::kOther, ""},
};

std::string line_with(std::string_view errors, std::string_view piece) {
  for (const std::string_view line : base::split(errors, '\n')) {
    if (line.find(piece) != std::string_view::npos) {
      return base::printable(base::trim(line).substr(0, kWordsBytesMax));
    }
  }
  return {};
}

}  // namespace

void OpenSshErrors::add(std::string_view bytes) {
  while (!bytes.empty() && head_.size() < kErrorHeadBytes) {
    const std::size_t end = bytes.find('\n');
    line_ += bytes.substr(0, std::min(end, kErrorHeadBytes));
    if (end == std::string_view::npos) {
      if (line_.size() >= kErrorHeadBytes) finish();
      return;
    }
    finish();
    bytes.remove_prefix(end + 1);
  }
}

void OpenSshErrors::finish() {
  add_line(line_);
  line_.clear();
}

void OpenSshErrors::add_line(std::string_view line) {
  constexpr std::string_view kKept = "debug1: Server host key: ";
  constexpr std::string_view kChatter[] = {"debug1: ", "OpenSSH_", "Authenticated to ",
                                           "Transferred: sent ", "Bytes per second: sent "};
  if (line.empty()) return;
  if (line.starts_with(kKept)) {
    server_key_ = base::printable(line.substr(kKept.size(), kWordsBytesMax));
    return;
  }
  if (std::ranges::any_of(kChatter, [&](auto one) { return line.starts_with(one); })) return;
  head_ += line.substr(0, kErrorHeadBytes - std::min(head_.size(), kErrorHeadBytes));
  head_ += '\n';
}

std::string first_words(std::string_view errors) {
  std::string words;
  std::size_t lines = 0;
  for (const std::string_view line : base::split(errors.substr(0, kWordsBytesMax), '\n')) {
    const std::string_view text = base::trim(line);
    if (text.empty()) continue;
    if (++lines > kWordsLinesMax) break;
    if (!words.empty()) words += " | ";
    words += base::printable(text);
  }
  return words;
}

OpenSshWords read_openssh_words(std::string_view errors, std::string_view server_key) {
  for (const Row& row : kRows) {
    const std::string line = line_with(errors, row.piece);
    if (line.empty()) continue;
    std::string what(row.advice);
    if (row.trouble == SshTrouble::kHostKey && !server_key.empty()) {
      what += (what.empty() ? "it shows " : "; it shows ") + std::string(server_key);
    }
    if (what.empty()) return {row.trouble, "ssh says: " + line};
    return {row.trouble, what.append(" (ssh says: ").append(line).append(")")};
  }
  const std::string words = first_words(errors);
  return {SshTrouble::kOther,
          words.empty() ? "ssh failed and gives no reason" : "ssh says: " + words};
}

}  // namespace robustrun::launcher
