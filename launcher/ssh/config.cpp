#include "launcher/ssh/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "base/core/text.h"
#include "launcher/hosts/limits.h"

namespace robustrun::launcher {
namespace {

using base::Errc;
using base::fail;

// Algorithms of libssh2 1.10 that current servers offer; its older ones are left out.
constexpr std::array<std::string_view, 3> kOurCiphers = {"aes256-ctr", "aes192-ctr", "aes128-ctr"};
constexpr std::array<std::string_view, 3> kOurMacs = {"hmac-sha2-256", "hmac-sha2-512",
                                                      "hmac-sha1"};
constexpr std::array<std::string_view, 9> kOurKeyExchanges = {
    "curve25519-sha256",
    "curve25519-sha256@libssh.org",
    "ecdh-sha2-nistp256",
    "ecdh-sha2-nistp384",
    "ecdh-sha2-nistp521",
    "diffie-hellman-group-exchange-sha256",
    "diffie-hellman-group18-sha512",
    "diffie-hellman-group16-sha512",
    "diffie-hellman-group14-sha256"};
constexpr std::array<std::string_view, 4> kOurHostKeys = {
    "ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521"};

// Keywords without a counterpart in libssh2, and the value that means "not used".
struct Foreign {
  std::string_view keyword;  // as ssh -G writes it
  std::string_view unused;
  std::string_view name;  // as ssh_config(5) writes it
};
constexpr std::array<Foreign, 8> kForeign = {{
    {"proxyjump", "none", "ProxyJump"},
    {"proxycommand", "none", "ProxyCommand"},
    {"certificatefile", "none", "CertificateFile"},
    {"pkcs11provider", "none", "PKCS11Provider"},
    {"knownhostscommand", "none", "KnownHostsCommand"},
    {"revokedhostkeys", "none", "RevokedHostKeys"},
    {"bindaddress", "none", "BindAddress"},
    {"bindinterface", "none", "BindInterface"},
}};

struct Word {
  std::string_view keyword;
  std::string_view value;
};

Word split_line(std::string_view line) {
  line = base::trim(line);
  const auto space = line.find(' ');
  if (space == std::string_view::npos) return {line, {}};
  return {line.substr(0, space), base::trim(line.substr(space + 1))};
}

bool is_yes(std::string_view value) { return value == "yes" || value == "true"; }

// Values for the tokens of ssh_config(5).
struct Tokens {
  std::string_view home;
  std::string_view local_user;
  std::string_view original;  // the host's name as the user gave it
};

std::optional<std::string> expanded(std::string_view text, const Tokens& tokens,
                                    const SshSettings& settings) {
  std::string out;
  if (text.starts_with("~/") || text == "~") {
    out = tokens.home;
    text.remove_prefix(1);
  } else if (text.starts_with('~')) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '$') return std::nullopt;  // ${NAME}: only ssh knows its environment
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) return std::nullopt;
    switch (text[i]) {
      case '%': out += '%'; break;
      case 'd': out += tokens.home; break;
      case 'h': out += settings.hostname; break;
      case 'n': out += tokens.original; break;
      case 'p': out += std::to_string(settings.port); break;
      case 'r': out += settings.user; break;
      case 'u': out += tokens.local_user; break;
      default: return std::nullopt;
    }
  }
  return out;
}

class Reader {
 public:
  Reader(const std::string& home, const std::string& user) : tokens_{home, user, {}} {
    settings_.user = user;
  }

  base::Result<SshSettings> read(std::string_view output) {
    // Tokens in paths need the names first.
    for (const std::string_view line : base::split(output, '\n'))
      RR_TRY(take_name(split_line(line)));
    if (settings_.hostname.empty()) {
      return fail(Errc::kProtocol,
                  "cannot read what ssh -G printed: it names no host to connect to");
    }
    if (tokens_.original.empty()) tokens_.original = settings_.hostname;
    for (const std::string_view line : base::split(output, '\n')) {
      const Word word = split_line(line);
      if (word.value.empty()) continue;
      take_files(word);
      take_policy(word);
      take_foreign(word);
    }
    judge_algorithms();
    return settings_;
  }

 private:
  base::Status take_name(const Word& word) {
    if (word.keyword == "host") tokens_.original = word.value;
    if (word.keyword == "hostname") settings_.hostname = word.value;
    if (word.keyword == "user" && !word.value.empty()) settings_.user = word.value;
    if (word.keyword != "port") return {};
    const auto port = base::parse_int<std::uint16_t>(word.value);
    if (!port || *port == 0) {
      return fail(Errc::kProtocol,
                  fmt::format("cannot read what ssh -G printed: '{}' is not a port",
                              base::printable(word.value)));
    }
    settings_.port = *port;
    return {};
  }

  void take_files(const Word& word) {
    if (word.keyword == "identityfile") add(settings_.identity_files, word.value, "IdentityFile");
    if (word.keyword == "certificatefile") {
      add(settings_.certificate_files, word.value, "CertificateFile");
    }
    const auto several = [&](std::vector<std::string>& files, const char* name) {
      for (const std::string_view file : base::split(word.value, ' ')) add(files, file, name);
    };
    if (word.keyword == "userknownhostsfile") {
      several(settings_.user_known_hosts_files, "UserKnownHostsFile");
    }
    if (word.keyword == "globalknownhostsfile") {
      several(settings_.global_known_hosts_files, "GlobalKnownHostsFile");
    }
    if (word.keyword != "identityagent" || word.value == "SSH_AUTH_SOCK") return;
    std::vector<std::string> agent;
    add(agent, word.value, "IdentityAgent");
    settings_.identity_agent = agent.empty() ? "none" : agent.front();
  }

  void take_policy(const Word& word) {
    using enum SshSettings::StrictHostKeys;
    using enum SshSettings::Family;
    const auto& [keyword, value] = word;
    if (keyword == "stricthostkeychecking") {
      const bool off = value == "no" || value == "false" || value == "off";
      settings_.strict_host_keys = off ? kNo : value == "accept-new" ? kAcceptNew : kYes;
    }
    if (keyword == "addressfamily") {
      settings_.family = value == "inet" ? kIpv4 : value == "inet6" ? kIpv6 : kAny;
    }
    if (keyword == "hashknownhosts") settings_.hash_known_hosts = is_yes(value);
    if (keyword == "identitiesonly") settings_.identities_only = is_yes(value);
    if (keyword == "hostkeyalias") settings_.host_key_alias = value;
    if (keyword == "ciphers") settings_.ciphers = value;
    if (keyword == "macs") settings_.macs = value;
    if (keyword == "kexalgorithms") settings_.key_exchanges = value;
    if (keyword == "hostkeyalgorithms") settings_.host_key_algorithms = value;
  }

  void take_foreign(const Word& word) {
    const auto& [keyword, value] = word;
    if (keyword == "pubkeyauthentication" && (value == "no" || value == "false")) {
      need_openssh("its ssh configuration forbids public keys (PubkeyAuthentication no)");
    }
    if (keyword == "verifyhostkeydns" && is_yes(value)) {
      need_openssh("its ssh configuration looks host keys up in DNS (VerifyHostKeyDNS)");
    }
    const auto row = std::ranges::find(kForeign, keyword, &Foreign::keyword);
    if (row == kForeign.end() || value == row->unused) return;
    need_openssh(fmt::format("its ssh configuration has a {}", row->name));
    if (keyword == "proxyjump") settings_.jump_host = value.substr(0, value.find(','));
    if (keyword == "proxycommand") settings_.jump_host = value;
  }

  void judge_algorithms() {
    judge(settings_.ciphers, kOurCiphers, "Ciphers");
    judge(settings_.macs, kOurMacs, "MACs");
    judge(settings_.key_exchanges, kOurKeyExchanges, "KexAlgorithms");
    judge(settings_.host_key_algorithms, kOurHostKeys, "HostKeyAlgorithms");
  }

  void judge(std::string_view allowed, std::span<const std::string_view> ours, const char* name) {
    if (allowed.empty()) return;
    const auto pieces = base::split(allowed, ',');
    const bool common = std::ranges::any_of(pieces, [&](std::string_view piece) {
      return std::ranges::find(ours, piece) != ours.end();
    });
    if (!common) {
      need_openssh(fmt::format("its ssh configuration allows none of libssh2's {}", name));
    }
  }

  void add(std::vector<std::string>& files, std::string_view text, const char* name) {
    if (text.empty() || text == "none") return;
    auto path = expanded(text, tokens_, settings_);
    if (!path) {
      need_openssh(
          fmt::format("only ssh knows what its {} '{}' stands for", name, base::printable(text)));
    } else if (files.size() < kSshConfigFilesMax) {
      files.push_back(*std::move(path));
    } else {
      need_openssh(
          fmt::format("its ssh configuration has more than {} {}s", kSshConfigFilesMax, name));
    }
  }

  void need_openssh(std::string why) {
    if (settings_.needs_openssh.empty()) settings_.needs_openssh = std::move(why);
  }

  Tokens tokens_;
  SshSettings settings_;
};

}  // namespace

base::Result<SshSettings> parse_ssh_settings(std::string_view output, const std::string& home,
                                             const std::string& user) {
  if (output.size() > kSshConfigBytesMax) {
    return fail(Errc::kLimit, fmt::format("cannot read what ssh -G printed: it is longer than {} "
                                          "bytes",
                                          kSshConfigBytesMax));
  }
  return Reader(home, user).read(output);
}

SshSettings default_settings(const Host& host, const std::string& home, const std::string& user) {
  SshSettings settings;
  settings.hostname = host.name;
  if (host.name.starts_with('[') && host.name.ends_with(']')) {
    settings.hostname = host.name.substr(1, host.name.size() - 2);
  }
  if (host.port != 0) settings.port = host.port;
  settings.user = host.user.empty() ? user : host.user;
  for (const char* name : {"id_rsa", "id_ecdsa", "id_ed25519"}) {
    settings.identity_files.push_back(fmt::format("{}/.ssh/{}", home, name));
  }
  for (const char* name : {"known_hosts", "known_hosts2"}) {
    settings.user_known_hosts_files.push_back(fmt::format("{}/.ssh/{}", home, name));
    settings.global_known_hosts_files.push_back(fmt::format("/etc/ssh/ssh_{}", name));
  }
  return settings;
}

}  // namespace robustrun::launcher
