#pragma once
// The user's ssh configuration for one host: from the output of `ssh -G HOST` (ssh_config(5);
// keyword and value on each line), or OpenSSH's defaults if there is no ssh client.
//
// Pure: opens no file, looks up no name. Unknown keywords are skipped, so a newer ssh does no harm.
// In paths "~" and the tokens %d %h %n %p %r %u %% are replaced.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "launcher/hosts/host.h"

namespace robustrun::launcher {

struct SshSettings {
  // "ask" counts as kYes: there is no user to ask.
  enum class StrictHostKeys : std::uint8_t { kYes, kAcceptNew, kNo };
  enum class Family : std::uint8_t { kAny, kIpv4, kIpv6 };

  std::string hostname;  // what to connect to: a name or a numeric address, without brackets
  std::uint16_t port = 22;
  std::string user;
  Family family = Family::kAny;
  std::vector<std::string> identity_files;  // in the order to try; they need not exist
  // named by CertificateFile; there may be more next to the keys
  std::vector<std::string> certificate_files;
  std::vector<std::string> user_known_hosts_files;
  std::vector<std::string> global_known_hosts_files;
  StrictHostKeys strict_host_keys = StrictHostKeys::kYes;
  bool hash_known_hosts = false;  // hash the names of keys that kAcceptNew adds
  std::string host_key_alias;  // empty: known_hosts lists the host by `hostname` and port
  std::string identity_agent;  // path; empty: SSH_AUTH_SOCK's; "none": no agent
  bool identities_only = false;  // of an ssh-agent's keys, use only those of identity_files
  // Comma-separated, in order of preference, possibly with unknown names; empty: not given.
  std::string ciphers;
  std::string macs;
  std::string key_exchanges;
  std::string host_key_algorithms;
  // The first ProxyJump host, or the whole ProxyCommand, through which connections to this host
  // pass; empty: neither. Equal texts mean the same jump host.
  std::string jump_host;
  // Why libssh2 cannot serve this host, as part of a sentence: "its ssh configuration has a
  // ProxyJump". Empty: nothing in the configuration prevents it.
  std::string needs_openssh;

  bool operator==(const SshSettings&) const = default;
};

// `output`: the whole standard output of `ssh -G`. `home` and `user`: the caller's, for tokens.
base::Result<SshSettings> parse_ssh_settings(std::string_view output, const std::string& home,
                                             const std::string& user);

// OpenSSH's own defaults, with the host's user and port if given.
SshSettings default_settings(const Host& host, const std::string& home, const std::string& user);

}  // namespace robustrun::launcher
