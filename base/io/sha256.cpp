#include "base/io/sha256.h"

#include <openssl/evp.h>

#include "base/core/result.h"

namespace robustrun::base {

std::string sha256(std::string_view bytes) {
  constexpr std::size_t kHashBytes = 32;
  std::string hash(kHashBytes, '\0');
  const bool done =
      EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(hash.data()), nullptr,
                 EVP_sha256(), nullptr) == 1;
  RR_ASSERT(done);  // fails for lack of memory alone
  return hash;
}

}  // namespace robustrun::base
