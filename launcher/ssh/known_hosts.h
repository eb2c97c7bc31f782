#pragma once
// Host keys that the user trusts: known_hosts files as described in sshd(8) (host patterns, hashed
// names, [host]:port, @revoked and @cert-authority lines).
//
// Pure, except for libssh2's HMAC, which hashed names need. A line that cannot be read grants no
// trust.

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

// The name under which known_hosts lists a host: "node1", or "[node1]:2222" for ports other than
// 22.
[[nodiscard]] std::string known_host_name(std::string_view host, std::uint16_t port);

// The lines of `text`, the content of `file`, that apply to `name` (known_host_name()).
[[nodiscard]] std::vector<KnownKey> find_known_keys(std::string_view text, const std::string& file,
                                                    std::string_view name);

enum class HostKeyVerdict : std::uint8_t {
  kTrusted,
  kUnknown,      // no line applies to the host, or only lines that revoke other keys
  kChanged,      // another key is trusted for the host
  kRevoked,
  kCertificate,  // a CA is trusted for the host, and no plain key matches
};
struct HostKeyJudgement {
  HostKeyVerdict verdict = HostKeyVerdict::kUnknown;
  const KnownKey* because = nullptr;  // the deciding line; null for kUnknown
};
// `keys`: all lines that apply to the host. `blob`: the raw public key that the host has shown.
[[nodiscard]] HostKeyJudgement judge_host_key(const std::vector<KnownKey>& keys,
                                              std::string_view blob);

}  // namespace robustrun::launcher
