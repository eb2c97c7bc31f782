#include "base/io/sha256.h"

#include <openssl/evp.h>

#include "base/core/result.h"

namespace robustrun::base {
namespace {

constexpr std::size_t kSha256Bytes = 32;

EVP_MD_CTX* context_of(void* context) { return static_cast<EVP_MD_CTX*>(context); }
unsigned char* hash_bytes(std::string& hash) {
  return reinterpret_cast<unsigned char*>(hash.data());
}

}  // namespace

// The assertions here fail only for lack of memory.
std::string sha256(std::string_view bytes) {
  std::string hash(kSha256Bytes, '\0');
  const bool done =
      EVP_Digest(bytes.data(), bytes.size(), hash_bytes(hash), nullptr, EVP_sha256(), nullptr) == 1;
  RR_ASSERT(done);
  return hash;
}

void Sha256::End::operator()(void* context) const { EVP_MD_CTX_free(context_of(context)); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  RR_ASSERT(context_ && EVP_DigestInit_ex(context_of(context_.get()), EVP_sha256(), nullptr) == 1);
}

void Sha256::add(std::string_view bytes) {
  const bool done = EVP_DigestUpdate(context_of(context_.get()), bytes.data(), bytes.size()) == 1;
  RR_ASSERT(done);
}

std::string Sha256::finish() {
  std::string hash(kSha256Bytes, '\0');
  const bool done = EVP_DigestFinal_ex(context_of(context_.get()), hash_bytes(hash), nullptr) == 1;
  RR_ASSERT(done);
  return hash;
}

}  // namespace robustrun::base
