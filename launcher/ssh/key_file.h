#pragma once
// What kind of private key a file holds, without decrypting it. Pure.
// Formats: PROTOCOL.key of OpenSSH ("openssh-key-v1"), PEM.

#include <cstdint>
#include <string>
#include <string_view>

namespace robustrun::launcher {

enum class SshKeyKind : std::uint8_t {
  kUsable,      // ed25519, ecdsa
  kRsa,         // libssh2 1.10 signs with SHA-1 alone, which servers refuse
  kEncrypted,   // wants a passphrase: an ssh-agent is needed
  kHardware,    // FIDO ("sk-"): OpenSSH alone can use it
  kUnknown,     // no private key that we know
};

struct SshKeyFile {
  std::string path;
  SshKeyKind kind = SshKeyKind::kUnknown;
  std::string text;         // the file, for kUsable alone
  std::string public_blob;  // raw; empty where the format does not show it
};

[[nodiscard]] SshKeyFile read_key(std::string path, std::string text);
// Of a public key's type: "ssh-ed25519", "ecdsa-sha2-nistp256", "sk-...", "...-cert-v01@...".
[[nodiscard]] SshKeyKind kind_of_type(std::string_view type);
// "~/.ssh/id_rsa (RSA)" for messages.
[[nodiscard]] std::string describe(const SshKeyFile& key);

}  // namespace robustrun::launcher
