#pragma once
// Where a blob comes from: a path on (slow, shared) storage, or an HTTP server that supports
// ranges.
//
// Calls are thread-safe. They block as long as the file system does, or until the server times out.
// kUnavailable, kTimeout and most kOs errors are worth retrying (is_worth_retrying()). Other errors
// are permanent, such as kNotFound, kPermission, kConflict (the source has changed) and kProtocol
// (the server does not support ranges).

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "bootstrap/store/blob.h"

namespace robustrun::bootstrap {

class Origin {
 public:
  virtual ~Origin() = default;
  [[nodiscard]] virtual const Blob& blob() const = 0;
  // Fills `bytes`, a range within the blob. Returns the time to the first byte.
  virtual base::Result<base::Nanos> read(std::uint64_t offset, std::span<char> bytes) = 0;
};

[[nodiscard]] bool is_worth_retrying(const base::Error& error);

// Opens the source and reads its length, validator and both ends. `clock` must outlive the origin.
[[nodiscard]] base::Result<std::unique_ptr<Origin>> open_origin(const std::string& source,
                                                                const base::Clock& clock);
[[nodiscard]] base::Result<std::unique_ptr<Origin>> open_path_origin(const std::string& path,
                                                                     const base::Clock& clock);
[[nodiscard]] base::Result<std::unique_ptr<Origin>> open_http_origin(const std::string& url);

}  // namespace robustrun::bootstrap
