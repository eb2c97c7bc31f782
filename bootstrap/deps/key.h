#pragma once
// The key of a snapshot of dependencies: a hash of everything that decides the result of an
// installation. Pure; docs/formats/snapshot-key.md defines it.

#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "bootstrap/deps/inputs.h"

namespace robustrun::bootstrap {

struct SnapshotFacts {
  DepsKind kind = DepsKind::kRequirements;
  std::string digest{};                // SnapshotInputs::digest
  std::vector<std::string> command{};  // --setup-cmd
  std::string directory{};  // the command's working directory; empty: it does not count
  std::string interpreter{};  // absolute path, which installed programs contain
  std::string abi{};  // from parse_abi()
  std::string image{};  // key of the workers' image; empty: no image
  bool is_container = false;  // the image is the workers' root, with its own libraries
  std::string driver{};  // major version of NVIDIA's driver; empty: no driver
  std::vector<std::string> index{};  // index_variables()
};

// The text that is hashed; its first line has the format version.
[[nodiscard]] std::string encode_facts(const SnapshotFacts& facts);
// 32 lower-case hex digits: the truncated SHA-256 of encode_facts().
[[nodiscard]] std::string snapshot_key(const SnapshotFacts& facts);

// A program for `interpreter -I -S -c` that prints the interpreter's ABI.
[[nodiscard]] std::string_view abi_question();
// Checks the program's output and returns the ABI: one line each for implementation, version,
// extension ABI, platform and libc. kCorrupt: it is not such an output.
[[nodiscard]] base::Result<std::string> parse_abi(std::string_view answer);
// The version in an ABI, such as "3.11".
[[nodiscard]] std::string minor_version(std::string_view abi);

// Variables of pip and uv that say where to look for packages and which to take, without the user
// names and passwords in their URLs: those change while the packages stay the same.
[[nodiscard]] std::vector<std::string> index_variables(const std::vector<std::string>& environment);

// The driver's major version, such as "550". `text`: the content of /proc/driver/nvidia/version;
// empty for other texts.
[[nodiscard]] std::string driver_major(std::string_view text);

}  // namespace robustrun::bootstrap
