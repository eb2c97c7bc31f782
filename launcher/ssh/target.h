#pragma once
// Everything about one host that must be read before connecting to it: the ssh configuration, keys,
// known host keys, addresses. Plain data, made on the blocking pool. With SshTransport::kOpenSsh
// only the configuration and the addresses are read; behind a jump host there are no addresses.

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
  std::vector<SshKeyFile> keys;  // identity files that exist, at least as .pub
  std::vector<std::string> certificates;  // files next to the keys, and those of CertificateFile
  std::string known_name;  // the host's name in known_hosts
  std::vector<KnownKey> host_keys;
  std::string agent_socket;  // empty: none
  std::chrono::milliseconds connect_timeout{};  // from the first TCP connection to the login
  // The algorithms that libssh2 may agree to, in our order (fast first); empty: it has none that
  // the configuration allows.
  std::string key_exchanges;
  std::string ciphers;
  std::string macs;
  std::string host_key_types;  // types of known keys come first
  std::string unsuited;  // why libssh2 cannot serve the host, part of a sentence; empty: it can
};

// Removes the brackets of "[::1]", which only lists need.
[[nodiscard]] Host without_brackets(Host host);

// Blocks: call it on the pool. `client`: the ssh command, absolute, to ask for the configuration;
// empty: none. `known`: its answer for some host, used if it holds for this one; may be null.
base::Result<SshTarget> make_ssh_target(const Host& host, const SshOptions& options,
                                        const std::vector<std::string>& client,
                                        const SshAnswer* known);

// The items of `ours` that the comma-separated list `allowed` contains; all if it is empty.
std::string allowed_algorithms(std::string_view ours, std::string_view allowed);

}  // namespace robustrun::launcher
