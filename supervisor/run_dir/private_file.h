#pragma once
// Small files of a run directory that hold secrets: one struct with a field list, 0600.

#include <string>
#include <string_view>

#include "base/core/result.h"
#include "wire/messages/field_codec.h"

namespace robustrun::supervisor {

// All or nothing. Not synced to the disk: it outlives us, not the machine.
[[nodiscard]] base::Status write_private_file(const std::string& path, std::string_view bytes);
// kNotFound; kPermission when it is not ours, or others may read or write it; kLimit.
[[nodiscard]] base::Result<std::string> read_private_file(const std::string& path);

template <class T>
[[nodiscard]] base::Status save_private(const std::string& path, T value) {
  return write_private_file(path, wire::encode(value));
}

// kCorrupt, too.
template <class T>
[[nodiscard]] base::Result<T> load_private(const std::string& path) {
  const std::string bytes = RR_TRY(read_private_file(path));
  auto value = wire::decode<T>(bytes);
  if (value) return value;
  return base::fail(base::Errc::kCorrupt, "cannot read " + path + ": " + value.error().what);
}

}  // namespace robustrun::supervisor
