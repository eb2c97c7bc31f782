#pragma once
// Recovers lost bytes from the other members of their parity group. Pure; the caller's `read`
// function reads the files.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "checkpoint/format/manifest.h"

namespace robustrun::checkpoint {

class Rebuilder {
 public:
  // Reads bytes [begin, begin + bytes) of a file. Returns only bytes with a correct CRC.
  using VerifiedRead = std::function<base::Result<std::string>(
      std::uint32_t file, std::uint64_t begin, std::uint64_t bytes)>;

  // `manifest` must be consistent, and the same in all calls.
  explicit Rebuilder(const Manifest& manifest);
  // Computes bytes [begin, begin + bytes) of `file` from other members of their group. Members that
  // `read` cannot deliver count as lost. kCorrupt: the bytes have no parity, or too many members of
  // the group are lost. The caller must check the CRC of the result.
  [[nodiscard]] base::Result<std::string> rebuild(const Manifest& manifest, std::uint32_t file,
                                                  std::uint64_t begin, std::uint64_t bytes,
                                                  const VerifiedRead& read) const;

 private:
  struct Place {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint32_t group = 0;
    std::uint32_t member = 0;  // data members first, then parity
  };
  static base::Result<std::string> rebuild_within(const Manifest& manifest, const Place& place,
                                                  std::uint64_t from, std::uint64_t bytes,
                                                  const VerifiedRead& read);

  std::vector<std::vector<Place>> places_;  // by file, by offset
};

}  // namespace robustrun::checkpoint
