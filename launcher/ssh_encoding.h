#pragma once
// SSH's encodings: RFC 4251 integers and strings, base64 (RFC 4648). Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace robustrun::launcher {

// `padded`: false omits the padding, as in fingerprints.
[[nodiscard]] std::string encode_base64(std::string_view bytes, bool padded = true);
// nullopt: `text` is not base64. White space is not allowed; padding may be missing.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

// "SHA256:..." of a public key's blob, as ssh-keygen -l prints it; `hash`: its raw SHA-256.
[[nodiscard]] std::string fingerprint_text(std::string_view hash);

void put_u32(std::string& out, std::uint32_t value);
void put_u64(std::string& out, std::uint64_t value);
void put_text(std::string& out, std::string_view text);  // a u32 length, then the bytes

// Reads values one after another from `bytes`, which it does not own. After a failed read, all
// further reads fail.
class SshReader {
 public:
  explicit SshReader(std::string_view bytes) : rest_(bytes) {}
  std::optional<std::uint8_t> u8();
  std::optional<std::uint32_t> u32();
  std::optional<std::string_view> text();
  [[nodiscard]] std::string_view rest() const { return rest_; }

 private:
  std::optional<std::string_view> take(std::size_t size);
  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace robustrun::launcher
