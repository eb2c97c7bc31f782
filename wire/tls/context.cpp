#include "wire/tls/context.h"

#include <openssl/err.h>

#include <memory>
#include <utility>

namespace robustrun::wire {
namespace {

using base::Errc;
struct StackFree {
  void operator()(STACK_OF(X509) * stack) const { sk_X509_free(stack); }  // not its elements
};
using StackPtr = std::unique_ptr<STACK_OF(X509), StackFree>;

base::Result<ContextPtr> make_context(const SSL_METHOD* method) {
  start_openssl();
  ContextPtr context(SSL_CTX_new(method));
  if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) != 1 ||
      SSL_CTX_set1_groups_list(context.get(), "X25519:P-256") != 1 ||
      SSL_CTX_set_num_tickets(context.get(), 0) != 1) {
    return fail_openssl(Errc::kInternal, "cannot prepare TLS");
  }
  // A peer that closes without TLS's close_notify has simply hung up: our own messages show what is
  // complete.
  SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET | SSL_OP_IGNORE_UNEXPECTED_EOF |
                                         SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_NO_AUTO_CHAIN);
  SSL_CTX_set_read_ahead(context.get(), 1);  // header and body of a record in one system call
  return context;
}

base::Status use_identity(SSL_CTX* context, const Identity& identity) {
  const KeyPtr key = RR_TRY(key_from_pem(identity.private_key));
  const CertificatePtr certificate = RR_TRY(certificate_from_pem(identity.certificate));
  if (SSL_CTX_use_certificate(context, certificate.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    return fail_openssl(Errc::kCorrupt, "cannot use a certificate");
  }
  return {};
}

// Replaces OpenSSL's verification: trusts the authority with the expected fingerprint, which the
// peer sends along, then verifies as usual; the name must be the supervisor's.
int verify_supervisor(X509_STORE_CTX* verification, void* argument) {
  const auto& expected = *static_cast<const TlsContext::Expected*>(argument);
  if (expected.authority_fingerprint.empty()) return 1;
  STACK_OF(X509)* const sent = X509_STORE_CTX_get0_untrusted(verification);
  X509* authority = nullptr;
  for (int i = 0; i < sk_X509_num(sent); ++i) {
    X509* const certificate = sk_X509_value(sent, i);
    if (fingerprint_of(*certificate) == expected.authority_fingerprint) authority = certificate;
  }
  const StackPtr trusted(sk_X509_new_null());
  if (authority == nullptr || !trusted || sk_X509_push(trusted.get(), authority) == 0) {
    X509_STORE_CTX_set_error(verification, X509_V_ERR_CERT_UNTRUSTED);
    return 0;
  }
  X509_STORE_CTX_set0_trusted_stack(verification, trusted.get());
  if (X509_verify_cert(verification) != 1) return 0;
  const auto uri = uri_of(*X509_STORE_CTX_get0_cert(verification));
  const PeerName supervisor{
      .run_id = expected.run_id, .supervisor = true, .node = {}, .generation = {}};
  if (uri != to_uri(supervisor)) {
    X509_STORE_CTX_set_error(verification, X509_V_ERR_APPLICATION_VERIFICATION);
    return 0;
  }
  return 1;
}

void free_expected(void*, void* expected, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<TlsContext::Expected*>(expected);
}

}  // namespace

base::Result<TlsContext> TlsContext::peer(const Identity& identity) {
  TlsContext made;
  made.context_ = RR_TRY(make_context(TLS_client_method()));
  if (auto used = use_identity(made.get(), identity); !used) {
    return std::unexpected(std::move(used).error());
  }
  const CertificatePtr authority = RR_TRY(certificate_from_pem(identity.authority));
  if (X509_STORE_add_cert(SSL_CTX_get_cert_store(made.get()), authority.get()) != 1) {
    return fail_openssl(Errc::kCorrupt, "cannot use the run's authority");
  }
  SSL_CTX_set_verify(made.get(), SSL_VERIFY_PEER, nullptr);
  return made;
}

base::Result<TlsContext> TlsContext::server(const Identity& identity) {
  TlsContext made;
  made.context_ = RR_TRY(make_context(TLS_server_method()));
  if (auto used = use_identity(made.get(), identity); !used) {
    return std::unexpected(std::move(used).error());
  }
  // The authority's certificate is sent along, for peers that know only its fingerprint.
  const CertificatePtr authority = RR_TRY(certificate_from_pem(identity.authority));
  if (SSL_CTX_add1_chain_cert(made.get(), authority.get()) != 1 ||
      X509_STORE_add_cert(SSL_CTX_get_cert_store(made.get()), authority.get()) != 1) {
    return fail_openssl(Errc::kCorrupt, "cannot use the run's authority");
  }
  SSL_CTX_set_verify(made.get(), SSL_VERIFY_PEER, nullptr);
  return made;
}

base::Result<TlsContext> TlsContext::client(const std::optional<Identity>& identity,
                                            Expected expected) {
  TlsContext made;
  made.context_ = RR_TRY(make_context(TLS_client_method()));
  if (identity) {
    if (auto used = use_identity(made.get(), *identity); !used) {
      return std::unexpected(std::move(used).error());
    }
  }
  SSL_CTX_set_verify(made.get(), SSL_VERIFY_PEER, nullptr);
  auto owned = std::make_unique<Expected>(std::move(expected));
  // OpenSSL frees it with the context, which lives until its last connection ends.
  static const int slot = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, free_expected);
  if (SSL_CTX_set_ex_data(made.get(), slot, owned.get()) != 1) {
    return fail_openssl(Errc::kInternal, "cannot prepare TLS");
  }
  SSL_CTX_set_cert_verify_callback(made.get(), verify_supervisor, owned.release());
  return made;
}

}  // namespace robustrun::wire
