#include "launcher/ssh/key_file.h"

#include <optional>
#include <utility>

#include "launcher/ssh_encoding.h"

namespace robustrun::launcher {
namespace {

constexpr std::string_view kOpenSshBegin = "-----BEGIN OPENSSH PRIVATE KEY-----";
constexpr std::string_view kOpenSshEnd = "-----END OPENSSH PRIVATE KEY-----";
constexpr std::string_view kMagic{"openssh-key-v1\0", 15};

bool contains(std::string_view text, std::string_view piece) {
  return text.find(piece) != std::string_view::npos;
}

std::optional<std::string> openssh_body(std::string_view text) {
  const std::size_t begin = text.find(kOpenSshBegin);
  const std::size_t end = text.find(kOpenSshEnd);
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) {
    return std::nullopt;
  }
  std::string body;
  for (const char c :
       text.substr(begin + kOpenSshBegin.size(), end - begin - kOpenSshBegin.size())) {
    if (c != '\n' && c != '\r' && c != ' ' && c != '\t') body += c;
  }
  return decode_base64(body);
}

void read_openssh(std::string_view body, SshKeyFile& key) {
  if (!body.starts_with(kMagic)) return;
  SshReader reader(body.substr(kMagic.size()));
  const auto cipher = reader.text();
  reader.text();  // kdf
  reader.text();  // the kdf's options
  const auto count = reader.u32();
  const auto blob = reader.text();
  if (!blob || count != 1U) return;
  key.public_blob = *blob;
  const auto type = SshReader(*blob).text();
  if (!type) return;
  key.kind = kind_of_type(*type);
  if (key.kind == SshKeyKind::kUsable && *cipher != "none") key.kind = SshKeyKind::kEncrypted;
}

SshKeyKind pem_kind(std::string_view text) {
  if (contains(text, "BEGIN ENCRYPTED PRIVATE KEY") || contains(text, "Proc-Type: 4,ENCRYPTED")) {
    return SshKeyKind::kEncrypted;
  }
  if (contains(text, "BEGIN RSA PRIVATE KEY")) return SshKeyKind::kRsa;
  if (contains(text, "BEGIN EC PRIVATE KEY")) return SshKeyKind::kUsable;
  if (!contains(text, "BEGIN PRIVATE KEY")) return SshKeyKind::kUnknown;
  // PKCS #8: the algorithm's object id is in the first bytes; this is rsaEncryption's in base64.
  return contains(text, "DANBgkqhkiG9w0BAQEFAASC") ? SshKeyKind::kRsa : SshKeyKind::kUsable;
}

}  // namespace

SshKeyKind kind_of_type(std::string_view type) {
  if (type.starts_with("sk-")) return SshKeyKind::kHardware;
  if (type == "ssh-ed25519" || type == "ecdsa-sha2-nistp256" || type == "ecdsa-sha2-nistp384" ||
      type == "ecdsa-sha2-nistp521") {
    return SshKeyKind::kUsable;
  }
  return type == "ssh-rsa" ? SshKeyKind::kRsa : SshKeyKind::kUnknown;
}

SshKeyFile read_key(std::string path, std::string text) {
  SshKeyFile key;
  key.path = std::move(path);
  if (const auto body = openssh_body(text)) {
    read_openssh(*body, key);
  } else {
    key.kind = pem_kind(text);
  }
  if (key.kind == SshKeyKind::kUsable) key.text = std::move(text);
  return key;
}

std::string describe(const SshKeyFile& key) {
  switch (key.kind) {
    case SshKeyKind::kUsable: return key.path;
    case SshKeyKind::kRsa: return key.path + " (RSA)";
    case SshKeyKind::kEncrypted: return key.path + " (has a passphrase)";
    case SshKeyKind::kHardware: return key.path + " (a security key)";
    case SshKeyKind::kUnknown: break;
  }
  return key.path + " (no key that is understood)";
}

}  // namespace robustrun::launcher
