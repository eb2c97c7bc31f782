#pragma once
// Files as trainers write them, byte by byte.

#include <cstddef>
#include <cstdint>
#include <string>

namespace robustrun::test {

inline std::string little_endian(std::uint64_t value, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xFF);
  return text;
}

// A zip archive with one stored member, as torch.save writes it.
inline std::string zip_file(const std::string& data, const std::string& comment = "") {
  const std::string name = "archive/data.pkl";
  const std::string sizes = little_endian(data.size(), 4) + little_endian(data.size(), 4);
  const std::string local = std::string("PK\3\4") + std::string(14, '\0') + sizes +
                            little_endian(name.size(), 2) + std::string(2, '\0') + name + data;
  const std::string central = std::string("PK\1\2") + std::string(16, '\0') + sizes +
                              little_endian(name.size(), 2) + std::string(16, '\0') + name;
  return local + central + std::string("PK\5\6") + std::string(4, '\0') + little_endian(1, 2) +
         little_endian(1, 2) + little_endian(central.size(), 4) + little_endian(local.size(), 4) +
         little_endian(comment.size(), 2) + comment;
}

// The same with a zip64 end record and locator, as archives above 4 GiB have them.
inline std::string zip64_file(const std::string& data) {
  const std::string plain = zip_file(data);
  const std::string rest = plain.substr(0, plain.size() - 22);
  const std::string end64 = std::string("PK\6\6") + little_endian(44, 8) + std::string(44, '\0');
  const std::string locator = std::string("PK\6\7") + little_endian(0, 4) +
                              little_endian(rest.size(), 8) + little_endian(1, 4);
  return rest + end64 + locator + std::string("PK\5\6") + std::string(8, '\xFF') +
         std::string(8, '\xFF') + little_endian(0, 2);
}

inline std::string safetensors_file(const std::string& header, std::size_t data) {
  return little_endian(header.size(), 8) + header + std::string(data, 'x');
}

inline std::string safetensors_file(std::size_t data) {
  return safetensors_file(R"({"__metadata__":{"format":"pt"},"w":{"dtype":"U8","shape":[)" +
                              std::to_string(data) + R"(],"data_offsets":[0,)" +
                              std::to_string(data) + "]}}",
                          data);
}

}  // namespace robustrun::test
