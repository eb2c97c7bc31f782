#include "wire/tls/credential.h"

#include <openssl/evp.h>

#include <algorithm>
#include <optional>

#include "base/core/text.h"
#include "wire/messages/field_codec.h"
#include "wire/messages/limits.h"

namespace robustrun::wire {
namespace {

using base::Errc;
using base::fail;

constexpr std::string_view kPrefix = "robustrun-credential-1 ";
constexpr std::size_t kFingerprintBytes = 32;

std::string base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');  // including the NUL that it writes
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

// Accepts only what base64() writes.
std::optional<std::string> from_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  std::string out(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  // EVP_DecodeBlock counts padding as bytes.
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  out.resize(static_cast<std::size_t>(size) - padding);
  if (base64(out) != text) return std::nullopt;
  return out;
}

std::unexpected<base::Error> corrupt(const std::string& why) {
  return fail(Errc::kCorrupt, "cannot read the credential: " + why);
}

}  // namespace

std::string to_line(const Credential& credential) {
  return std::string(kPrefix) + base64(encode(credential)) + "\n";
}

base::Result<Credential> parse_credential(std::string_view line) {
  if (line.size() > kCredentialBytesMax) {
    return fail(Errc::kLimit, "cannot read the credential: it has more than " +
                                  std::to_string(kCredentialBytesMax) + " bytes");
  }
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (!line.starts_with(kPrefix)) return corrupt("it is not one line that robustrun wrote");
  const auto bytes = from_base64(line.substr(kPrefix.size()));
  if (!bytes) return corrupt("it is not base64");
  auto credential = decode<Credential>(*bytes);
  if (!credential) return corrupt("it is damaged");
  if (credential->run_id.empty() || credential->run_id.size() > kRunIdBytesMax) {
    return corrupt("it names no run");
  }
  if (credential->endpoints.empty() || credential->endpoints.size() > kEndpointsMax) {
    return corrupt("it must name 1 to " + std::to_string(kEndpointsMax) + " endpoints");
  }
  if (!credential->ca_fingerprint.empty() &&
      credential->ca_fingerprint.size() != kFingerprintBytes) {
    return corrupt("its fingerprint has the wrong length");
  }
  if (credential->places.size() > kPlacesMax) {
    return corrupt("it has more than " + std::to_string(kPlacesMax) + " places");
  }
  return credential;
}

base::Status take_place(Credential& credential, const std::string& name) {
  const auto place = std::ranges::find(credential.places, name, &AgentPlace::name);
  if (place == credential.places.end()) {
    return fail(Errc::kNotFound, "cannot use the credential: it is not for an agent on node '" +
                                     base::printable(name) + "'");
  }
  credential.node = place->node;
  credential.generation = place->generation;
  credential.places.clear();
  return {};
}

}  // namespace robustrun::wire
