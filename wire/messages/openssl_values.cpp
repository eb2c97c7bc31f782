#include "wire/messages/openssl_values.h"

#include <openssl/err.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <utility>

#include "wire/messages/limits.h"

namespace robustrun::wire {
namespace {

using base::Errc;
using base::fail;
using NamesPtr = std::unique_ptr<GENERAL_NAMES, OpensslFree<GENERAL_NAMES_free>>;

// Without this callback OpenSSL would ask on the terminal.
int no_passphrase(char*, int, int, void*) { return -1; }

// `read`: one of the PEM_read_bio_… functions.
template <class Ptr, class Read>
base::Result<Ptr> from_pem(std::string_view pem, const char* what, Read read) {
  start_openssl();
  if (pem.size() > kPemBytesMax) {
    return fail(Errc::kLimit, std::string("cannot read a ") + what + ": it is too long");
  }
  const BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  Ptr object(bio ? read(bio.get(), nullptr, no_passphrase, nullptr) : nullptr);
  if (!object) return fail_openssl(Errc::kCorrupt, std::string("cannot read a ") + what);
  ERR_clear_error();
  return object;
}

// `write(bio)`: one of the PEM_write_bio_… functions.
template <class Write>
base::Result<std::string> pem_of(const char* what, Write write) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (!bio || write(bio.get()) != 1) {
    return fail_openssl(Errc::kInternal, std::string("cannot write a ") + what);
  }
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

}  // namespace

void start_openssl() {
  static const bool started = OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr) == 1;
  RR_ASSERT(started);
}

std::string openssl_reason() {
  const unsigned long code = ERR_peek_last_error();
  const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  std::string text = reason != nullptr ? reason : "no reason given";
  ERR_clear_error();
  return text;
}

std::unexpected<base::Error> fail_openssl(Errc code, std::string what) {
  return fail(code, std::move(what) + ": " + openssl_reason());
}

base::Result<KeyPtr> key_from_pem(std::string_view pem) {
  return from_pem<KeyPtr>(pem, "private key", PEM_read_bio_PrivateKey);
}

base::Result<CertificatePtr> certificate_from_pem(std::string_view pem) {
  return from_pem<CertificatePtr>(pem, "certificate", PEM_read_bio_X509);
}

base::Result<RequestPtr> request_from_pem(std::string_view pem) {
  return from_pem<RequestPtr>(pem, "certificate request", PEM_read_bio_X509_REQ);
}

base::Result<std::string> to_pem(EVP_PKEY& key) {
  return pem_of("private key", [&key](BIO* bio) {
    return PEM_write_bio_PrivateKey(bio, &key, nullptr, nullptr, 0, nullptr, nullptr);
  });
}

base::Result<std::string> to_pem(X509& certificate) {
  return pem_of("certificate",
                [&certificate](BIO* bio) { return PEM_write_bio_X509(bio, &certificate); });
}

base::Result<std::string> to_pem(X509_REQ& request) {
  return pem_of("certificate request",
                [&request](BIO* bio) { return PEM_write_bio_X509_REQ(bio, &request); });
}

std::string fingerprint_of(const X509& certificate) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (X509_digest(&certificate, EVP_sha256(), digest, &size) != 1) return {};
  return {reinterpret_cast<const char*>(digest), size};
}

std::optional<std::string> uri_of(const X509& certificate) {
  const NamesPtr names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
  if (!names || sk_GENERAL_NAME_num(names.get()) != 1) return std::nullopt;
  const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), 0);
  if (name->type != GEN_URI) return std::nullopt;
  const ASN1_IA5STRING* const uri = name->d.uniformResourceIdentifier;
  return std::string(reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)),
                     static_cast<std::size_t>(ASN1_STRING_length(uri)));
}

bool is_p256(const EVP_PKEY& key) {
  char group[32];
  std::size_t size = 0;
  return EVP_PKEY_is_a(&key, "EC") == 1 &&
         EVP_PKEY_get_group_name(&key, group, sizeof group, &size) == 1 &&
         std::string_view(group, size) == "prime256v1";
}

std::string sha256(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  const int done = EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr);
  RR_ASSERT(done == 1);
  return {reinterpret_cast<const char*>(digest), size};
}

std::string hmac(const std::string& secret, const std::string& bytes) {
  start_openssl();
  unsigned char code[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  const auto* const made =
      HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
           reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), code, &size);
  RR_ASSERT(made != nullptr);
  return {reinterpret_cast<const char*>(code), size};
}

std::string random_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  const int done =
      RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(size));
  RR_ASSERT(done == 1);
  return bytes;
}

}  // namespace robustrun::wire
