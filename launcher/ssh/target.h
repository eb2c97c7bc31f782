#pragma once
// Everything about one host that has to be read before it is connected to: the ssh configuration,
// keys, known host keys, addresses. Plain data, made on the blocking pool.

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
  std::string lookup_trouble;          // why there are none
  std::vector<SshKeyFile> keys;        // those identity files that are there
  std::vector<std::string> certificates;  // files beside the keys
  std::string known_name;              // under which its key is kept
  std::vector<KnownKey> host_keys;
  std::string agent_socket;            // empty: none
  std::chrono::milliseconds connect_timeout{};
  // What libssh2 is told to agree to, in our order (fast first); empty: it has nothing of it.
  std::string key_exchanges;
  std::string ciphers;
  std::string macs;
  std::string host_key_types;  // those by which the host is known come first
  std::string unsuited;  // why libssh2 cannot serve the host, part of a sentence; empty: it can
};

// "[::1]" is for lists alone.
[[nodiscard]] Host without_brackets(Host host);

// Blocks: for the pool. `client`: the ssh command, absolute, to ask for the configuration; empty:
// there is none. `known`: its answer for some host, used where it holds for this one; may be null.
base::Result<SshTarget> make_ssh_target(const Host& host, const SshOptions& options,
                                        const std::vector<std::string>& client,
                                        const SshAnswer* known);

// The items of `ours` that the comma-separated list `allowed` has, too; all where it is empty.
std::string allowed_algorithms(std::string_view ours, std::string_view allowed);

}  // namespace robustrun::launcher
