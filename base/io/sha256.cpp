#include "base/io/sha256.h"

#include <openssl/evp.h>

#include "base/core/result.h"

namespace robustrun::base {
namespace {

constexpr std::size_t kHashBytes = 32;

EVP_MD_CTX* of(void* context) { return static_cast<EVP_MD_CTX*>(context); }
unsigned char* bytes_of(std::string& hash) { return reinterpret_cast<unsigned char*>(hash.data()); }

}  // namespace

// What is asserted here fails for lack of memory alone.
std::string sha256(std::string_view bytes) {
  std::string hash(kHashBytes, '\0');
  const bool done =
      EVP_Digest(bytes.data(), bytes.size(), bytes_of(hash), nullptr, EVP_sha256(), nullptr) == 1;
  RR_ASSERT(done);
  return hash;
}

void Sha256::End::operator()(void* context) const { EVP_MD_CTX_free(of(context)); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  RR_ASSERT(context_ && EVP_DigestInit_ex(of(context_.get()), EVP_sha256(), nullptr) == 1);
}

void Sha256::add(std::string_view bytes) {
  const bool done = EVP_DigestUpdate(of(context_.get()), bytes.data(), bytes.size()) == 1;
  RR_ASSERT(done);
}

std::string Sha256::finish() {
  std::string hash(kHashBytes, '\0');
  const bool done = EVP_DigestFinal_ex(of(context_.get()), bytes_of(hash), nullptr) == 1;
  RR_ASSERT(done);
  return hash;
}

}  // namespace robustrun::base
