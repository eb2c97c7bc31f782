#pragma once
// Everything about one host that must be read before connecting to it: the ssh configuration, keys,
// known host keys, addresses. Plain data, made on the blocking pool. With SshTransport::kOpenSsh,
// only the configuration and the addresses are read. Behind a jump host, there are no addresses.

#include <chrono>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "launcher/hosts/host.h"
#include "launcher/ssh/answer.h"
#include "launcher/ssh/config.h"
#include "launcher/ssh/key_file.h"
#include "launcher/ssh/known_hosts.h"
#include "launcher/ssh/launcher.h"

namespace robustrun::launcher {

struct SshTarget {
  std::string name;  // as the user wrote it
  SshSettings settings;
  std::vector<std::string> addresses;  // numeric, at most kAddressesMax
  std::string lookup_trouble;  // why there are no addresses
  // identity files of which the private or the public half (.pub) exists
  std::vector<SshKeyFile> keys;
  std::vector<std::string> certificates;  // files next to the keys, and those of CertificateFile
  std::string known_name;  // the host's name in known_hosts
  std::vector<KnownKey> host_keys;
  std::string agent_socket;  // of the ssh-agent; empty: no ssh-agent
  // from the beginning of the TCP connection to the end of the login
  std::chrono::milliseconds connect_timeout{};
  // The algorithms that libssh2 may agree to, in our order (fast first). Empty: libssh2 has no
  // algorithm that the configuration allows.
  std::string key_exchanges;
  std::string ciphers;
  std::string macs;
  std::string host_key_types;  // types of known keys come first
  std::string unsuited;  // why libssh2 cannot serve the host, part of a sentence; empty: it can
};

// Removes the brackets of "[::1]", which only lists need.
[[nodiscard]] Host without_brackets(Host host);

// Reads the target; blocks. `client`: the ssh command, absolute, to ask for the configuration;
// empty: OpenSSH's defaults are used. `known`: the client's answer for some host, used if it is
// valid for `host`; may be null.
base::Result<SshTarget> make_ssh_target(const Host& host, const SshOptions& options,
                                        const std::vector<std::string>& client,
                                        const SshAnswer* known);

// The items of `ours` that `allowed` contains, or all if `allowed` is empty. Both lists are
// comma-separated.
std::string allowed_algorithms(std::string_view ours, std::string_view allowed);

}  // namespace robustrun::launcher
