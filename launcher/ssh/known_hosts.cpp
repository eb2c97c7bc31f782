#include "launcher/ssh/known_hosts.h"

#include <libssh2.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/core/text.h"
#include "launcher/hosts/host_pattern.h"
#include "launcher/ssh_encoding.h"

namespace robustrun::launcher {
namespace {

constexpr std::size_t kShortestKey = 24;  // that libssh2 accepts

// HMAC-SHA1 through libssh2, which does not export its own: one entry, one look-up.
class HashedName {
 public:
  [[nodiscard]] bool matches(std::string_view hashed, const std::string& name) {
    if (session_ == nullptr)
      session_.reset(libssh2_session_init_ex(nullptr, nullptr, nullptr, nullptr));
    if (session_ == nullptr) return false;
    LIBSSH2_KNOWNHOSTS* const hosts = libssh2_knownhost_init(session_.get());
    if (hosts == nullptr) return false;
    const std::string key(kShortestKey,
                          'A');  // any key will do: a mismatch still means that the name matched
    const std::string line = std::string(hashed) + " ssh-ed25519 " + key;
    bool same = false;
    if (libssh2_knownhost_readline(hosts, line.c_str(), line.size(),
                                   LIBSSH2_KNOWNHOST_FILE_OPENSSH) == 0) {
      const int check = libssh2_knownhost_check(
          hosts, name.c_str(), key.c_str(), key.size(),
          LIBSSH2_KNOWNHOST_TYPE_PLAIN | LIBSSH2_KNOWNHOST_KEYENC_BASE64, nullptr);
      same = check == LIBSSH2_KNOWNHOST_CHECK_MATCH || check == LIBSSH2_KNOWNHOST_CHECK_MISMATCH;
    }
    libssh2_knownhost_free(hosts);
    return same;
  }

 private:
  struct Free {
    void operator()(LIBSSH2_SESSION* session) const { libssh2_session_free(session); }
  };
  std::unique_ptr<LIBSSH2_SESSION, Free> session_;
};

bool names_match(std::string_view names, const std::string& name, HashedName& hashed) {
  if (names.starts_with('|')) return names.starts_with("|1|") && hashed.matches(names, name);
  bool matched = false;
  for (const std::string_view one : base::split(names, ',')) {
    const bool negated = one.starts_with('!');
    if (!glob_matches(lower(one.substr(negated ? 1 : 0)), name)) continue;
    if (negated) return false;
    matched = true;
  }
  return matched;
}

std::string_view next_word(std::string_view& line) {
  const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  const std::size_t end = std::min(line.find_first_of(" \t", begin), line.size());
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

std::optional<KnownKey> read_line(std::string_view line, const std::string& name,
                                  HashedName& hashed) {
  KnownKey key;
  std::string_view names = next_word(line);
  if (names.empty() || names.starts_with('#')) return std::nullopt;
  if (names.starts_with('@')) {
    if (names != "@revoked" && names != "@cert-authority") return std::nullopt;
    key.mark = names == "@revoked" ? KnownKey::Mark::kRevoked : KnownKey::Mark::kCertAuthority;
    names = next_word(line);
  }
  key.type = next_word(line);
  auto blob = decode_base64(next_word(line));
  if (!blob || blob->empty() || !names_match(names, name, hashed)) return std::nullopt;
  key.blob = *std::move(blob);
  return key;
}

}  // namespace

std::string known_host_name(std::string_view host, std::uint16_t port) {
  if (port == 22) return lower(host);
  return "[" + lower(host) + "]:" + std::to_string(port);
}

std::vector<KnownKey> find_known_keys(std::string_view text, const std::string& file,
                                      std::string_view name) {
  std::vector<KnownKey> keys;
  HashedName hashed;
  const std::string wanted = lower(name);
  std::size_t number = 0;
  for (const std::string_view line : base::split(text, '\n')) {
    ++number;
    auto key = read_line(base::trim(line), wanted, hashed);
    if (!key) continue;
    key->file = file;
    key->line = number;
    keys.push_back(*std::move(key));
  }
  return keys;
}

HostKeyJudgement judge_host_key(const std::vector<KnownKey>& keys, std::string_view blob) {
  const auto first = [&](KnownKey::Mark mark, bool same) -> const KnownKey* {
    const auto found = std::ranges::find_if(
        keys, [&](const KnownKey& key) { return key.mark == mark && (!same || key.blob == blob); });
    return found == keys.end() ? nullptr : &*found;
  };
  if (const auto* key = first(KnownKey::Mark::kRevoked, true)) {
    return {HostKeyVerdict::kRevoked, key};
  }
  if (const auto* key = first(KnownKey::Mark::kTrusted, true)) {
    return {HostKeyVerdict::kTrusted, key};
  }
  if (const auto* key = first(KnownKey::Mark::kCertAuthority, false)) {
    return {HostKeyVerdict::kCertificate, key};
  }
  if (const auto* key = first(KnownKey::Mark::kTrusted, false)) {
    return {HostKeyVerdict::kChanged, key};
  }
  return {};
}

}  // namespace robustrun::launcher
