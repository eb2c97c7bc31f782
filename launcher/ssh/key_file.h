#pragma once
// What kind of private key a file holds, without decrypting it. Pure.
// Formats: PROTOCOL.key of OpenSSH ("openssh-key-v1"), PEM.

#include <cstdint>
#include <string>
#include <string_view>

namespace robustrun::launcher {

enum class SshKeyKind : std::uint8_t {
  kUsable,      // ed25519, ecdsa
  kRsa,         // libssh2 1.10 signs only with SHA-1, which servers refuse
  kEncrypted,   // has a passphrase: needs an ssh-agent
  kHardware,    // FIDO ("sk-"): only OpenSSH can use it
  kUnknown,     // not a private key in a known format
};

struct SshKeyFile {
  std::string path;
  SshKeyKind kind = SshKeyKind::kUnknown;
  std::string text;         // content of the file; kUsable only
  std::string public_blob;  // raw; empty if the format does not contain it unencrypted
};

[[nodiscard]] SshKeyFile read_key(std::string path, std::string text);
// The kind of a key whose public key has this type: "ssh-ed25519", "ecdsa-sha2-nistp256", "sk-...".
[[nodiscard]] SshKeyKind kind_of_type(std::string_view type);
// "/home/ada/.ssh/id_rsa (RSA)" for messages.
[[nodiscard]] std::string describe(const SshKeyFile& key);

}  // namespace robustrun::launcher
