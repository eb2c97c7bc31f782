#pragma once
// Finds bytes again that a disk lost, from the other members of their parity group. Pure but for
// the reading, which is the caller's: it hands out bytes only if their CRC was right.

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
  // Bytes [begin, begin + bytes) of a file, verified.
  using VerifiedRead = std::function<base::Result<std::string>(
      std::uint32_t file, std::uint64_t begin, std::uint64_t bytes)>;

  // `manifest` is consistent, and the same in all calls.
  explicit Rebuilder(const Manifest& manifest);
  // The same bytes from those of others; what `read` cannot give counts as lost. kCorrupt: they
  // have no parity, or too much of their group is lost. The answer is not checked yet.
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
