#pragma once
// SHA-256 for names and trust: pushed bundles, images requested by digest, whether all nodes were
// started with the same command.
// libcrypto stays behind this header. For fast integrity checks see base/core/hash.h.

#include <memory>
#include <string>
#include <string_view>

#include "base/core/text.h"

namespace robustrun::base {

// 32 raw bytes; to_hex() of base/core/text.h makes them readable.
[[nodiscard]] std::string sha256(std::string_view bytes);

// SHA-256 of bytes that come in pieces.
class Sha256 {
 public:
  Sha256();
  void add(std::string_view bytes);
  // 32 raw bytes; must be the last call.
  [[nodiscard]] std::string finish();

 private:
  struct End {
    void operator()(void* context) const;
  };
  std::unique_ptr<void, End> context_;
};

}  // namespace robustrun::base
