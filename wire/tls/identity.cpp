#include "wire/tls/identity.h"

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <charconv>
#include <utility>

#include "base/core/text.h"
#include "wire/messages/limits.h"
#include "wire/messages/openssl_values.h"

namespace robustrun::wire {

// Immutable; OpenSSL counts the references itself.
struct Authority::Keys {
  KeyPtr key;
  CertificatePtr certificate;
};

namespace {

using base::Errc;
using base::fail;
using BigNumberPtr = std::unique_ptr<BIGNUM, OpensslFree<BN_free>>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, OpensslFree<X509_EXTENSION_free>>;
using NamesPtr = std::unique_ptr<GENERAL_NAMES, OpensslFree<GENERAL_NAMES_free>>;

constexpr std::string_view kScheme = "robustrun://";
constexpr char kHexDigits[] = "0123456789ABCDEF";
constexpr const char* kAuthorityName = "robustrun run authority";
constexpr const char* kHolderName = "robustrun";
// Clocks of hosts differ; a run ends long before its certificates expire.
constexpr long kValidBeforeS = 24L * 3600;
constexpr int kValidDays = 3650;
constexpr std::size_t kSerialBytes = 16;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_plain(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHexDigits[byte >> 4];
    out += kHexDigits[byte & 0xF];
  }
  return out;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const std::string_view digits = text.substr(i + 1, 2);
    unsigned byte = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (digits.size() != 2 || parsed.ptr != digits.data() + 2) return std::nullopt;
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

base::Result<KeyPtr> make_key() {
  start_openssl();
  KeyPtr key(EVP_EC_gen("P-256"));
  if (!key) return fail_openssl(Errc::kInternal, "cannot make a key");
  return key;
}

bool add_extension(X509& certificate, X509& issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, &issuer, &certificate, nullptr, nullptr, 0);
  const ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  return extension && X509_add_ext(&certificate, extension.get(), -1) == 1;
}

bool add_uri(X509& certificate, const std::string& uri) {
  NamesPtr names(GENERAL_NAMES_new());
  GENERAL_NAME* const name = GENERAL_NAME_new();
  ASN1_IA5STRING* const text = ASN1_IA5STRING_new();
  if (name != nullptr) GENERAL_NAME_set0_value(name, GEN_URI, text);
  if (!names || name == nullptr || text == nullptr ||
      ASN1_STRING_set(text, uri.data(), static_cast<int>(uri.size())) != 1 ||
      sk_GENERAL_NAME_push(names.get(), name) == 0) {
    GENERAL_NAME_free(name);
    return false;
  }
  return X509_add1_ext_i2d(&certificate, NID_subject_alt_name, names.get(), 0,
                           X509V3_ADD_DEFAULT) == 1;
}

bool set_serial(X509& certificate) {
  const std::string bytes = random_bytes(kSerialBytes);
  const BigNumberPtr number(BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()),
                                      static_cast<int>(bytes.size()), nullptr));
  return number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(&certificate)) != nullptr;
}

bool set_name(X509& certificate, const char* name) {
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(&certificate), "CN", MBSTRING_ASC,
                                    reinterpret_cast<const unsigned char*>(name), -1, -1, 0) == 1;
}

// A certificate without the extensions that identify its holder, and without its signature.
base::Result<CertificatePtr> draft(EVP_PKEY& key, const char* name, X509* issuer) {
  CertificatePtr certificate(X509_new());
  if (!certificate || X509_set_version(certificate.get(), X509_VERSION_3) != 1 ||
      !set_serial(*certificate) || !set_name(*certificate, name) ||
      X509_set_issuer_name(certificate.get(),
                           X509_get_subject_name(issuer ? issuer : certificate.get())) != 1 ||
      X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kValidBeforeS) == nullptr ||
      X509_time_adj_ex(X509_getm_notAfter(certificate.get()), kValidDays, 0, nullptr) == nullptr ||
      X509_set_pubkey(certificate.get(), &key) != 1 ||
      !add_extension(*certificate, *certificate, NID_subject_key_identifier, "hash")) {
    return fail_openssl(Errc::kInternal, "cannot make a certificate");
  }
  return certificate;
}

// Agents are both servers and clients of each other and, on resume, of the supervisor: the URI
// determines what a holder may do, not extended key usage.
base::Result<std::string> issue(EVP_PKEY& key, const std::string& uri, X509& issuer,
                                EVP_PKEY& issuer_key) {
  const CertificatePtr certificate = RR_TRY(draft(key, kHolderName, &issuer));
  if (!add_extension(*certificate, issuer, NID_basic_constraints, "critical,CA:FALSE") ||
      !add_extension(*certificate, issuer, NID_key_usage, "critical,digitalSignature") ||
      !add_extension(*certificate, issuer, NID_ext_key_usage, "serverAuth,clientAuth") ||
      !add_extension(*certificate, issuer, NID_authority_key_identifier, "keyid:always") ||
      !add_uri(*certificate, uri) || X509_sign(certificate.get(), &issuer_key, EVP_sha256()) == 0) {
    return fail_openssl(Errc::kInternal, "cannot make a certificate");
  }
  return to_pem(*certificate);
}

}  // namespace

std::string to_uri(const PeerName& name) {
  std::string uri = std::string(kScheme) + percent_encoded(name.run_id);
  if (name.supervisor) return uri + "/supervisor";
  return uri + "/node/" + std::to_string(name.node.value) + "/" +
         std::to_string(name.generation.value);
}

std::optional<PeerName> parse_uri(std::string_view uri) {
  if (!uri.starts_with(kScheme) || uri.size() > kScheme.size() + 3 * kRunIdBytesMax + 64) {
    return std::nullopt;
  }
  const auto parts = base::split(uri.substr(kScheme.size()), '/');
  auto run_id = percent_decoded(parts[0]);
  if (!run_id || run_id->empty() || run_id->size() > kRunIdBytesMax) return std::nullopt;
  PeerName name{.run_id = *std::move(run_id), .supervisor = false, .node = {}, .generation = {}};
  if (parts.size() == 2 && parts[1] == "supervisor") {
    name.supervisor = true;
  } else if (parts.size() == 4 && parts[1] == "node") {
    const auto node = base::parse_int<std::uint32_t>(parts[2]);
    const auto generation = base::parse_int<std::uint32_t>(parts[3]);
    if (!node || !generation) return std::nullopt;
    name.node.value = *node;
    name.generation.value = *generation;
  } else {
    return std::nullopt;
  }
  // Each name has exactly one spelling.
  if (to_uri(name) != uri) return std::nullopt;
  return name;
}

base::Result<KeyRequest> make_key_request() {
  const KeyPtr key = RR_TRY(make_key());
  const RequestPtr request(X509_REQ_new());
  if (!request || X509_REQ_set_version(request.get(), X509_REQ_VERSION_1) != 1 ||
      X509_REQ_set_pubkey(request.get(), key.get()) != 1 ||
      X509_REQ_sign(request.get(), key.get(), EVP_sha256()) == 0) {
    return fail_openssl(Errc::kInternal, "cannot make a certificate request");
  }
  KeyRequest made;
  made.private_key = RR_TRY(to_pem(*key));
  made.request = RR_TRY(to_pem(*request));
  return made;
}

base::Result<Authority> Authority::make(const std::string& run_id) {
  const KeyPtr key = RR_TRY(make_key());
  const CertificatePtr certificate = RR_TRY(draft(*key, kAuthorityName, nullptr));
  if (!add_extension(*certificate, *certificate, NID_basic_constraints,
                     "critical,CA:TRUE,pathlen:0") ||
      !add_extension(*certificate, *certificate, NID_key_usage, "critical,keyCertSign") ||
      X509_sign(certificate.get(), key.get(), EVP_sha256()) == 0) {
    return fail_openssl(Errc::kInternal, "cannot make the run's certificate authority");
  }
  std::string pem = RR_TRY(wire::to_pem(*key));
  pem += RR_TRY(wire::to_pem(*certificate));
  return from_pem(run_id, pem);
}

base::Result<Authority> Authority::from_pem(const std::string& run_id, const std::string& pem) {
  if (run_id.empty() || run_id.size() > kRunIdBytesMax) {
    return fail(Errc::kInvalidArgument, "cannot use the run id '" + base::printable(run_id) +
                                            "': 1 to " + std::to_string(kRunIdBytesMax) +
                                            " bytes are wanted");
  }
  auto keys = std::make_shared<Keys>();
  keys->key = RR_TRY(key_from_pem(pem));
  keys->certificate = RR_TRY(certificate_from_pem(pem));
  if (!is_p256(*keys->key) ||
      X509_check_private_key(keys->certificate.get(), keys->key.get()) != 1 ||
      X509_check_ca(keys->certificate.get()) != 1) {
    return fail_openssl(Errc::kCorrupt,
                        "cannot use the certificate authority: key and certificate do not match");
  }
  Authority authority;
  authority.run_id_ = run_id;
  authority.private_key_ = RR_TRY(wire::to_pem(*keys->key));
  authority.certificate_ = RR_TRY(wire::to_pem(*keys->certificate));
  authority.fingerprint_ = fingerprint_of(*keys->certificate);
  authority.keys_ = std::move(keys);
  return authority;
}

std::string Authority::to_pem() const { return private_key_ + certificate_; }

base::Result<Identity> Authority::issue_supervisor() const {
  const KeyPtr key = RR_TRY(make_key());
  const PeerName name{.run_id = run_id_, .supervisor = true, .node = {}, .generation = {}};
  Identity identity;
  identity.private_key = RR_TRY(wire::to_pem(*key));
  identity.certificate = RR_TRY(issue(*key, to_uri(name), *keys_->certificate, *keys_->key));
  identity.authority = certificate_;
  return identity;
}

base::Result<std::string> Authority::sign(const std::string& request,
                                          const PeerName& holder) const {
  RR_ASSERT(holder.run_id == run_id_);
  const RequestPtr parsed = RR_TRY(request_from_pem(request));
  EVP_PKEY* const key = X509_REQ_get0_pubkey(parsed.get());
  if (key == nullptr || !is_p256(*key)) {
    ERR_clear_error();
    return fail(Errc::kProtocol, "cannot sign a certificate request: its key is not P-256");
  }
  if (X509_REQ_verify(parsed.get(), key) != 1) {
    return fail_openssl(Errc::kProtocol, "cannot sign a certificate request: bad signature");
  }
  return issue(*key, to_uri(holder), *keys_->certificate, *keys_->key);
}

base::Result<std::string> authority_fingerprint(const std::string& certificate) {
  return fingerprint_of(*RR_TRY(certificate_from_pem(certificate)));
}

std::string make_token() {
  start_openssl();
  return random_bytes(kTokenBytes);
}

}  // namespace robustrun::wire
