#pragma once
// Small files of a run directory that hold secrets. Each holds one struct with a field list and has
// the mode 0600.

#include <string>
#include <string_view>

#include "base/core/result.h"
#include "wire/messages/field_codec.h"

namespace robustrun::supervisor {

// Writes the whole file or nothing. It is not synced to the disk, and may be lost with the machine.
[[nodiscard]] base::Status write_private_file(const std::string& path, std::string_view bytes);
// kNotFound. kPermission: the file is another user's, or other users may use it. kLimit: it is
// longer than kPrivateFileBytesMax.
[[nodiscard]] base::Result<std::string> read_private_file(const std::string& path);

template <class T>
[[nodiscard]] base::Status save_private(const std::string& path, T value) {
  return write_private_file(path, wire::encode(value));
}

// Errors as of read_private_file(), and kCorrupt.
template <class T>
[[nodiscard]] base::Result<T> load_private(const std::string& path) {
  const std::string bytes = RR_TRY(read_private_file(path));
  auto value = wire::decode<T>(bytes);
  if (value) return value;
  return base::fail(base::Errc::kCorrupt, "cannot read " + path + ": " + value.error().what);
}

}  // namespace robustrun::supervisor
