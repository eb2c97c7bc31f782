#pragma once
// Which host keys the user trusts: known_hosts files as sshd(8) describes them (host patterns,
// hashed names, [host]:port, @revoked and @cert-authority lines).
//
// Pure but for libssh2's HMAC, which hashed names need. A line that cannot be read trusts nobody.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace robustrun::launcher {

struct KnownKey {
  enum class Mark : std::uint8_t { kTrusted, kRevoked, kCertAuthority };
  Mark mark = Mark::kTrusted;
  std::string type;  // "ssh-ed25519"
  std::string blob;  // raw public key
  std::string file;
  std::size_t line = 0;  // from 1
};

// The name under which a host's key is kept: "node1", or "[node1]:2222" for another port than 22.
[[nodiscard]] std::string known_host_name(std::string_view host, std::uint16_t port);

// The lines of one file's `text` that speak of `name`.
[[nodiscard]] std::vector<KnownKey> find_known_keys(std::string_view text, const std::string& file,
                                                    std::string_view name);

enum class HostKeyVerdict : std::uint8_t {
  kTrusted,
  kUnknown,      // no line speaks of the host
  kChanged,      // another key is trusted for it
  kRevoked,
  kCertificate,  // certificates are trusted for it; this is a plain key
};
struct HostKeyJudgement {
  HostKeyVerdict verdict = HostKeyVerdict::kUnknown;
  const KnownKey* because = nullptr;  // the line that decided, if one did
};
[[nodiscard]] HostKeyJudgement judge_host_key(const std::vector<KnownKey>& keys,
                                              std::string_view blob);

}  // namespace robustrun::launcher
