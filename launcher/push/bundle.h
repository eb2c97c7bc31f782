#pragma once
// The files that are pushed to a host without this build: our executable and its companions, in the
// same layout as here, with a list of their hashes.

#include <string>
#include <vector>

#include "base/core/result.h"

namespace robustrun::launcher {

struct PushFile {
  std::string name;  // relative to the prefix: "bin/robustrun"
  std::string bytes;
  bool executable = false;
};

struct PushBundle {
  std::vector<PushFile> files;  // the executable first
  std::string manifest;  // as input of sha256sum -c
  std::string manifest_hash;  // hex SHA-256
  std::string name;  // first 32 digits of manifest_hash: the folder's name in the cache
};

// Blocks: call it on the pool. `executable` is in a folder of the prefix (PREFIX/bin/robustrun);
// `companions` are anywhere below the prefix. kInvalidArgument: a file is not below the prefix, has
// unusual characters in its name, or there are too many files; other errors are those of
// base::read_file().
base::Result<PushBundle> read_push_bundle(const std::string& executable,
                                          const std::vector<std::string>& companions);

}  // namespace robustrun::launcher
