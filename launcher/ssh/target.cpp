#include "launcher/ssh/target.h"

#include <netdb.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <set>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "launcher/limits.h"
#include "launcher/ssh_encoding.h"

namespace robustrun::launcher {
namespace {

// Algorithms of libssh2 1.10 without those that are broken today (SHA-1 signatures, CBC, MD5).
constexpr std::string_view kKeyExchanges =
    "curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256,ecdh-sha2-nistp384,"
    "ecdh-sha2-nistp521,diffie-hellman-group-exchange-sha256,diffie-hellman-group16-sha512,"
    "diffie-hellman-group18-sha512,diffie-hellman-group14-sha256";
constexpr std::string_view kCiphers = "aes128-ctr,aes256-ctr,aes192-ctr";
constexpr std::string_view kMacs = "hmac-sha2-256,hmac-sha2-512";
constexpr std::string_view kHostKeyTypes =
    "ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521";
constexpr std::size_t kPasswdBytes = 16384;

std::string own_user() {
  passwd entry{};
  passwd* found = nullptr;
  std::string buffer(kPasswdBytes, '\0');
  if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 &&
      found != nullptr) {
    return found->pw_name;
  }
  return std::to_string(::geteuid());
}

bool lists(std::string_view list, std::string_view item) {
  const auto items = base::split(list, ',');
  return std::ranges::find(items, item) != items.end();
}

base::Result<SshSettings> read_settings(const Host& host, const SshOptions& options,
                                        const std::vector<std::string>& client,
                                        const SshAnswer* known) {
  if (client.empty()) return default_settings(host, options.home, own_user());
  auto text = known == nullptr ? std::nullopt : known->text_for(host);
  if (!text) text = RR_TRY(ask_ssh(client, host)).text;
  return parse_ssh_settings(*text, options.home, own_user());
}

void look_up(SshTarget& target) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_family = target.settings.family == SshSettings::Family::kIpv4   ? AF_INET
                    : target.settings.family == SshSettings::Family::kIpv6 ? AF_INET6
                                                                           : AF_UNSPEC;
  addrinfo* found = nullptr;
  const int rc = ::getaddrinfo(target.settings.hostname.c_str(), nullptr, &hints, &found);
  if (rc != 0) {
    target.lookup_trouble = ::gai_strerror(rc);
    return;
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  for (; found != nullptr && target.addresses.size() < kAddressesMax; found = found->ai_next) {
    char text[NI_MAXHOST];
    if (::getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof text, nullptr, 0,
                      NI_NUMERICHOST) != 0) {
      continue;
    }
    if (std::ranges::find(target.addresses, text) == target.addresses.end()) {
      target.addresses.emplace_back(text);
    }
  }
  if (target.addresses.empty()) target.lookup_trouble = "it has no address";
}

// Reads the public half of a key that is encrypted, or is only in an ssh-agent.
std::string read_public_blob(const std::string& path) {
  const auto text =
      base::read_file(path.ends_with(".pub") ? path : path + ".pub", kKeyFileBytesMax);
  if (!text) return {};
  const auto words = base::split(*text, ' ');
  return words.size() < 2 ? std::string() : decode_base64(base::trim(words[1])).value_or("");
}

void read_keys(SshTarget& target) {
  for (const std::string& path : target.settings.identity_files) {
    auto text = base::read_file(path, kKeyFileBytesMax);
    SshKeyFile key = read_key(path, text.value_or(""));
    if (key.public_blob.empty()) key.public_blob = read_public_blob(path);
    if (!text && key.public_blob.empty()) continue;  // most of the default files do not exist
    target.keys.push_back(std::move(key));
    const std::string certificate = path + "-cert.pub";
    if (::access(certificate.c_str(), R_OK) == 0) target.certificates.push_back(certificate);
  }
  for (const std::string& file : target.settings.certificate_files) {
    if (::access(file.c_str(), R_OK) == 0) target.certificates.push_back(file);
  }
}

void read_known_hosts(SshTarget& target) {
  const SshSettings& settings = target.settings;
  target.known_name = settings.host_key_alias.empty()
                          ? known_host_name(settings.hostname, settings.port)
                          : settings.host_key_alias;
  for (const auto* files : {&settings.user_known_hosts_files, &settings.global_known_hosts_files}) {
    for (const std::string& file : *files) {
      const auto text = base::read_file(file, kKnownHostsBytesMax);
      if (!text) continue;
      auto keys = find_known_keys(*text, file, target.known_name);
      std::ranges::move(keys, std::back_inserter(target.host_keys));
    }
  }
}

// Puts the types of known keys first, so that a host with several keys shows a known one.
void choose_algorithms(SshTarget& target) {
  const SshSettings& settings = target.settings;
  target.key_exchanges = allowed_algorithms(kKeyExchanges, settings.key_exchanges);
  target.ciphers = allowed_algorithms(kCiphers, settings.ciphers);
  target.macs = allowed_algorithms(kMacs, settings.macs);
  const std::string allowed = allowed_algorithms(kHostKeyTypes, settings.host_key_algorithms);
  std::vector<std::string> types;
  for (const bool known : {true, false}) {
    for (const std::string_view one : base::split(allowed, ',')) {
      const bool is_known = std::ranges::any_of(target.host_keys, [&](const KnownKey& key) {
        return key.mark == KnownKey::Mark::kTrusted && key.type == one;
      });
      if (is_known == known && !one.empty()) types.emplace_back(one);
    }
  }
  target.host_key_types = base::join(types, ",");
}

std::string why_unsuited(const SshTarget& target) {
  const SshSettings& settings = target.settings;
  if (!settings.needs_openssh.empty()) return settings.needs_openssh;
  for (const auto& [what, list] :
       {std::pair<std::string, const std::string&>{"key exchange", target.key_exchanges},
        {"cipher", target.ciphers},
        {"MAC", target.macs},
        {"host key type", target.host_key_types}}) {
    if (list.empty()) return "its ssh configuration allows no " + what + " that libssh2 has";
  }
  bool trusted = false;
  bool usable = false;
  for (const KnownKey& key : target.host_keys) {
    if (key.mark == KnownKey::Mark::kRevoked) continue;
    trusted = true;
    usable |= key.mark == KnownKey::Mark::kTrusted && lists(target.host_key_types, key.type);
  }
  if (trusted && !usable) {
    return "it is known by a host key of type " + target.host_keys.front().type +
           (target.host_keys.front().mark == KnownKey::Mark::kCertAuthority ? " (a CA's)" : "") +
           " alone, which libssh2 cannot use";
  }
  const auto is = [](SshKeyKind kind) {
    return [kind](const SshKeyFile& key) { return key.kind == kind; };
  };
  if (!target.agent_socket.empty() || std::ranges::any_of(target.keys, is(SshKeyKind::kUsable))) {
    return {};
  }
  for (const SshKeyKind kind : {SshKeyKind::kRsa, SshKeyKind::kHardware}) {
    const auto found = std::ranges::find_if(target.keys, is(kind));
    if (found != target.keys.end()) return "libssh2 cannot use the key " + describe(*found);
  }
  return {};
}

}  // namespace

std::string allowed_algorithms(std::string_view ours, std::string_view allowed) {
  std::string out;
  for (const std::string_view one : base::split(ours, ',')) {
    if (!allowed.empty() && !lists(allowed, one)) continue;
    if (!out.empty()) out += ',';
    out += one;
  }
  return out;
}

Host without_brackets(Host host) {
  if (host.name.starts_with('[') && host.name.ends_with(']')) {
    host.name = host.name.substr(1, host.name.size() - 2);
  }
  return host;
}

base::Result<SshTarget> make_ssh_target(const Host& host, const SshOptions& options,
                                        const std::vector<std::string>& client,
                                        const SshAnswer* known) {
  SshTarget target;
  target.name = host.name;
  target.connect_timeout = options.login_timeout();
  target.settings = RR_TRY(read_settings(without_brackets(host), options, client, known));
  target.agent_socket = target.settings.identity_agent.empty()     ? options.agent_socket
                        : target.settings.identity_agent == "none" ? std::string()
                                                                   : target.settings.identity_agent;
  if (target.settings.jump_host.empty()) look_up(target);
  if (options.transport == SshTransport::kOpenSsh) return target;
  read_keys(target);
  read_known_hosts(target);
  choose_algorithms(target);
  target.unsuited = why_unsuited(target);
  return target;
}

}  // namespace robustrun::launcher
