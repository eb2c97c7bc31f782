#pragma once
// Owners for OpenSSL's objects, conversions from and to PEM, and OpenSSL's errors as base::Error.
// Private to wire/.
//
// PEM may come from anyone: its size is checked first (kPemBytesMax), and no passphrase is ever
// asked for.

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace robustrun::wire {

template <auto kFree>
struct OpensslFree {
  template <class T>
  void operator()(T* object) const {
    kFree(object);
  }
};

using KeyPtr = std::unique_ptr<EVP_PKEY, OpensslFree<EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, OpensslFree<X509_free>>;
using RequestPtr = std::unique_ptr<X509_REQ, OpensslFree<X509_REQ_free>>;
using BioPtr = std::unique_ptr<BIO, OpensslFree<BIO_free_all>>;
using ContextPtr = std::unique_ptr<SSL_CTX, OpensslFree<SSL_CTX_free>>;
using SslPtr = std::unique_ptr<SSL, OpensslFree<SSL_free>>;

// Initialises OpenSSL without the machine's configuration files, which could change its behaviour.
// Must be called before any other use of OpenSSL; further calls have no effect.
void start_openssl();

// The newest entry of OpenSSL's error queue, in words; empties the queue.
[[nodiscard]] std::string openssl_reason();
// `what` + ": " + openssl_reason().
[[nodiscard]] std::unexpected<base::Error> fail_openssl(base::Errc code, std::string what);

[[nodiscard]] base::Result<KeyPtr> key_from_pem(std::string_view pem);
[[nodiscard]] base::Result<CertificatePtr> certificate_from_pem(std::string_view pem);
[[nodiscard]] base::Result<RequestPtr> request_from_pem(std::string_view pem);
[[nodiscard]] base::Result<std::string> to_pem(EVP_PKEY& key);
[[nodiscard]] base::Result<std::string> to_pem(X509& certificate);
[[nodiscard]] base::Result<std::string> to_pem(X509_REQ& request);

// SHA-256 of the DER form, 32 raw bytes; empty if OpenSSL fails.
[[nodiscard]] std::string fingerprint_of(const X509& certificate);
// The URI in the certificate's subject alternative name (SAN). nullopt: the SAN is not exactly one
// URI.
[[nodiscard]] std::optional<std::string> uri_of(const X509& certificate);
[[nodiscard]] bool is_p256(const EVP_PKEY& key);

// 32 raw bytes.
[[nodiscard]] std::string sha256(std::string_view bytes);
// HMAC-SHA256, 32 raw bytes.
[[nodiscard]] std::string hmac(const std::string& secret, const std::string& bytes);
[[nodiscard]] std::string random_bytes(std::size_t size);

}  // namespace robustrun::wire
